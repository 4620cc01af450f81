#include "scenarios/machine/scratch_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <thread>

#include "reports/format.hpp"
#include "sim/error.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kProbes = 16;  ///< places where the cache is looked at
constexpr std::size_t kProbeBytes = 512;
constexpr int kDropAttempts = 5;
constexpr std::chrono::milliseconds kDropPause{20};

/// A file in `folder` under a name that nobody else has; `path` is that name.
int make_file(const std::string& folder, std::string& path) {
  path = folder + "/spillway-scratch-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    throw InputError(Fault::kIo, {folder, 0, ""},
                     fmt::format("cannot write a scratch file: {}", std::strerror(errno)));
  }
  return fd;
}

}  // namespace

void check_scratch(const std::string& folder, bool trial) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw InputError(Fault::kIo, {folder, 0, ""}, "expected a folder for scratch files");
  }
  if (trial) {
    std::string path;
    close(make_file(folder, path));
    unlink(path.c_str());
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw InputError(Fault::kIo, {folder, 0, ""},
                     fmt::format("cannot write a scratch file: {}", std::strerror(errno)));
  }
}

ScratchFile::ScratchFile(const std::string& folder, std::int64_t bytes) {
  std::string path;
  buffered_ = make_file(folder, path);
  direct_ = open_uncached(path.c_str(), O_RDWR | O_CLOEXEC);
  unlink(path.c_str());
  // Some file systems cannot reserve; those take the blocks as they are written.
  int error = reserve_file(buffered_, bytes);
  if (error == EOPNOTSUPP) error = ftruncate(buffered_, bytes) == 0 ? 0 : errno;
  if (error == 0) return;
  if (direct_ >= 0) close(direct_);
  close(buffered_);
  throw InputError(Fault::kIo, {folder, 0, ""},
                   fmt::format("cannot reserve the {} of a scratch file: {}",
                               format_bytes(static_cast<double>(bytes)), std::strerror(error)));
}

ScratchFile::~ScratchFile() {
  if (direct_ >= 0) close(direct_);
  close(buffered_);
}

bool ScratchFile::sync() const {
  return sync_data(buffered_);
}

bool ScratchFile::drop_cache(std::int64_t bytes) const {
  sync();
  // The kernel skips pages that another processor holds at this moment.
  for (int attempt = 0; attempt < kDropAttempts; ++attempt) {
    if (!drop_cached(buffered_)) return false;
    if (!any_cached(bytes)) return true;
    std::this_thread::sleep_for(kDropPause);
  }
  return false;
}

/// Whether some block comes without waiting.
bool ScratchFile::any_cached(std::int64_t bytes) const {
  std::array<std::byte, kProbeBytes> buffer;
  for (std::int64_t i = 0; i < kProbes; ++i) {
    const std::int64_t at = (bytes - static_cast<std::int64_t>(kProbeBytes)) * i / kProbes;
    if (comes_at_once(buffered_, buffer.data(), buffer.size(), at)) return true;
  }
  return false;
}

}  // namespace spillway

#include "sim/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sim/error.hpp"
#include "sim/system.hpp"

namespace spillway {

std::string temporary_name(const std::string& target) {
  // Of the system, not of the process: two containers may have the same process numbers.
  return fmt::format("{}.tmp-{:016x}", target, unique_number());
}

TemporaryFile::TemporaryFile(std::string target)
    : target_(std::move(target)), path_(temporary_name(target_)), unfinished_(path_) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  const int error = errno;
  unfinished_.reset();  // what has that name is not ours
  errno = error;
  fail("cannot open for writing");
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!renamed_ && unfinished_) (void)unlink(path_.c_str());
}

void TemporaryFile::fail(const char* what) const {
  throw InputError(Fault::kIo, {target_, 0, ""}, fmt::format("{}: {}", what, std::strerror(errno)));
}

void TemporaryFile::rename_into_place() {
  if (fsync(descriptor_) != 0) fail("cannot write");
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("cannot write");
  if (std::rename(path_.c_str(), target_.c_str()) != 0) fail("cannot rename into place");
  renamed_ = true;
  unfinished_.reset();
  const auto parent = std::filesystem::path(target_).parent_path();
  const int directory =
      open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {  // makes the rename durable; some file systems refuse, which is harmless
    (void)fsync(directory);
    close(directory);
  }
}

}  // namespace spillway

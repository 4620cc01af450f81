#include "sim/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/error.hpp"

namespace spillway {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    file_ = stdout;
    return;
  }
  struct stat info {};
  const bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    throw InputError(Fault::kIo, {path_, 0, ""}, "is a directory; expected a file to write");
  }
  if (exists && !S_ISREG(info.st_mode)) {  // a pipe or /dev/null cannot be renamed over
    file_ = std::fopen(path_.c_str(), "wb");
  } else {
    const int descriptor = fcntl(temporary_.emplace(path_).descriptor(), F_DUPFD_CLOEXEC, 3);
    if (descriptor >= 0) file_ = fdopen(descriptor, "wb");
  }
  if (file_ == nullptr) fail("cannot open for writing");
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void OutputFile::fail(const std::string& what) {
  throw InputError(Fault::kIo, {path_, 0, ""}, fmt::format("{}: {}", what, std::strerror(errno)));
}

void OutputFile::write(std::string_view data) {
  if (data.empty()) return;  // it may stand at no address, which fwrite forbids
  if (std::fwrite(data.data(), 1, data.size(), file_) != data.size()) fail("cannot write");
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0) fail("cannot write");
  if (!temporary_) return;
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail("cannot write");
  temporary_->rename_into_place();
}

void write_file(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace spillway

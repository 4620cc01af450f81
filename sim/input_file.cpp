#include "sim/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace spillway {

namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

class Input {
 public:
  Input(const std::string& path, std::uint64_t begin) : path_(path) {
    descriptor_ = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open");
    struct stat info {};
    const bool known = fstat(descriptor_, &info) == 0;
    if (known && S_ISDIR(info.st_mode)) {
      close_now();
      throw InputError(Fault::kIo, {path_, 0, ""}, "is a directory; expected a file");
    }
    if (!known || (begin > 0 && lseek(descriptor_, static_cast<off_t>(begin), SEEK_SET) < 0)) {
      fail("cannot read");
    }
  }
  ~Input() { close_now(); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Adds up to `size` bytes that come next; false at the end.
  bool read(std::string& out, std::size_t size = kChunk) {
    const std::size_t had = out.size();
    out.resize(had + size);
    ssize_t got = 0;
    do {
      got = ::read(descriptor_, out.data() + had, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail("cannot read");
    out.resize(had + static_cast<std::size_t>(got));
    return got > 0;
  }

 private:
  /// A constructor that throws has no destructor.
  void close_now() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  [[noreturn]] void fail(const char* what) {
    const std::string why = std::strerror(errno);
    close_now();
    throw InputError(Fault::kIo, {path_, 0, ""}, fmt::format("{}: {}", what, why));
  }

  const std::string& path_;
  int descriptor_ = -1;
};

void refuse_nul(const std::string& path, std::string_view text, std::size_t from, Fault fault) {
  const std::size_t nul = text.find('\0', from);
  if (nul == std::string_view::npos) return;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
  throw InputError(fault, {path, line, ""}, "contains a NUL byte; expected text in UTF-8");
}

template <class Check>
std::string read_checked(const std::string& path, std::uint64_t begin, std::uint64_t most,
                         Fault fault, const Check& check) {
  Input input(path, begin);
  std::string out;
  for (std::size_t had = 0; input.read(out); had = out.size()) {
    check(out, had);
    if (out.size() > most) {
      throw InputError(fault, {path, 0, ""},
                       fmt::format("is longer than {} MiB; expected a document", most >> 20));
    }
  }
  return out;
}

}  // namespace

std::string read_file(const std::string& path, std::uint64_t begin, std::uint64_t most,
                      Fault fault) {
  return read_checked(path, begin, most, fault, [](const std::string&, std::size_t) {});
}

std::string read_head(const std::string& path, std::size_t size) {
  Input input(path, 0);
  std::string out;
  while (out.size() < size && input.read(out, size - out.size())) {
  }
  return out;
}

std::string read_text_file(const std::string& path, Fault fault) {
  return read_checked(
      path, 0, kMostFileBytes, fault,
      [&](const std::string& text, std::size_t from) { refuse_nul(path, text, from, fault); });
}

}  // namespace spillway

// The system where it is not Linux: what POSIX has, and macOS.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/system.hpp"
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <malloc/malloc.h>
#endif

namespace spillway {

const char* this_program() {
  static const std::string file = this_program_file();
  return file.c_str();
}

std::string this_program_file() {
#ifdef __APPLE__
  std::string path(4096, '\0');
  auto size = static_cast<std::uint32_t>(path.size());
  if (_NSGetExecutablePath(path.data(), &size) != 0) return "";
  path.resize(std::strlen(path.c_str()));
#else
  const std::string path = "/proc/self/exe";  // where there is a /proc
#endif
  std::error_code none;
  return std::filesystem::canonical(path, none).string();
}

std::uint64_t unique_number() {
  std::uint64_t number = 0;
  const int kernel = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (kernel >= 0) {
    (void)!read(kernel, &number, sizeof number);
    close(kernel);
  }
  return number;
}

bool open_pipe(int* ends) {
  if (pipe(ends) != 0) return false;
  for (int i = 0; i < 2; ++i) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  return true;
}

void end_with_parent() noexcept {}

void each_name(int folder, void (*visit)(void* context, const char* name), void* context) noexcept {
  DIR* const names = fdopendir(dup(folder));  // closedir() closes what it was given
  if (names == nullptr) return;
  rewinddir(names);
  while (const dirent* entry = readdir(names)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    visit(context, entry->d_name);
  }
  closedir(names);
}

std::vector<int> allowed_cpus() {
  return {};
}

bool bind_to(const std::vector<int>&) {
  return false;
}

int open_uncached(const char* path, int flags) {
#ifdef __APPLE__
  const int file = open(path, flags);
  if (file >= 0) fcntl(file, F_NOCACHE, 1);
  return file;
#else
  (void)path, (void)flags;
  errno = EINVAL;
  return -1;
#endif
}

int reserve_file(int, std::int64_t) {
  return EOPNOTSUPP;
}

bool sync_data(int file) {
  return fsync(file) == 0;
}

bool drop_cached(int) {
  return false;
}

bool comes_at_once(int, void*, std::size_t, std::int64_t) {
  return false;
}

std::size_t heap_bytes(void* piece) noexcept {
#ifdef __APPLE__
  return malloc_size(piece);
#else
  (void)piece;
  return 0;  // nothing is large then, and nothing is counted
#endif
}

void wish_pages(void*, std::size_t, bool) {}

}  // namespace spillway

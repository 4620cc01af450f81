// The system as Linux has it.
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "sim/system.hpp"

namespace spillway {

const char* this_program() {
  return "/proc/self/exe";
}

std::string this_program_file() {
  std::error_code none;
  return std::filesystem::read_symlink(this_program(), none).string();
}

std::uint64_t unique_number() {
  std::uint64_t number = 0;
  (void)!getrandom(&number, sizeof number, 0);
  return number;
}

bool open_pipe(int* ends) {
  return pipe2(ends, O_CLOEXEC) == 0;
}

void end_with_parent() noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

namespace {

/// What getdents64(2) gives: readdir() may allocate.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

}  // namespace

void each_name(int folder, void (*visit)(void* context, const char* name), void* context) noexcept {
  alignas(DirectoryEntry) char buffer[1024];
  for (long got = 0; (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;) {
    for (long i = 0; i < got;) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry*>(buffer + i);
      i += entry->size;
      if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0) continue;
      visit(context, entry->name);
    }
  }
}

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;  // more CPUs than the set holds
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

bool bind_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

int open_uncached(const char* path, int flags) {
  return open(path, flags | O_DIRECT);
}

int reserve_file(int file, std::int64_t bytes) {
  return fallocate(file, 0, 0, bytes) == 0 ? 0 : errno;
}

bool sync_data(int file) {
  return fdatasync(file) == 0;
}

bool drop_cached(int file) {
  if (posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) return false;
  posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  return true;
}

bool comes_at_once(int file, void* buffer, std::size_t bytes, std::int64_t at) {
  const iovec part{buffer, bytes};
  return preadv2(file, &part, 1, at, RWF_NOWAIT) > 0;
}

std::size_t heap_bytes(void* piece) noexcept {
  return malloc_usable_size(piece);
}

void wish_pages(void* memory, std::size_t bytes, bool huge) {
  madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace spillway

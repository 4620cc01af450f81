#include "sim/at_end.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace spillway {

namespace {

constexpr std::size_t kLongest = 4096;  // PATH_MAX of Linux, with the NUL

enum RowState : int { kFree, kTaken, kKnown };

struct EndRow {
  std::atomic<int> state{kFree};
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::array<char, kLongest> path{};
};

using EndTable = std::array<EndRow, 64>;
EndTable unfinished;  // static, so that a handler finds them
EndTable mapped;

/// Its place, or -1 where there is none left.
int enter(EndTable& table, const std::string& path, std::uintptr_t begin, std::uintptr_t end) {
  if (path.size() >= kLongest) return -1;
  for (std::size_t i = 0; i < table.size(); ++i) {
    EndRow& row = table[i];
    int expected = kFree;
    if (!row.state.compare_exchange_strong(expected, kTaken)) continue;
    std::memcpy(row.path.data(), path.c_str(), path.size() + 1);
    row.begin = begin;
    row.end = end;
    row.state = kKnown;
    return static_cast<int>(i);
  }
  return -1;
}

/// What getdents64(2) gives: readdir() may allocate.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

constexpr int kDeepest = 4;  // ours have two levels

void remove_folder(int at, const char* name, int levels) noexcept {
  const int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) char buffer[1024];
  for (bool removed = true; removed;) {
    removed = false;
    (void)lseek(folder, 0, SEEK_SET);  // what is removed shifts the rest
    for (long got = 0; (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;) {
      for (long i = 0; i < got;) {
        const auto* const entry = reinterpret_cast<const Entry*>(buffer + i);
        i += entry->size;
        if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0) continue;
        if (unlinkat(folder, entry->name, 0) == 0) {
          removed = true;
        } else if (errno == EISDIR && levels > 1) {
          remove_folder(folder, entry->name, levels - 1);
          removed = removed || faccessat(folder, entry->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
        }
      }
    }
  }
  (void)close(folder);
  (void)unlinkat(at, name, AT_REMOVEDIR);
}

void leave(EndTable& table, int slot) {
  if (slot >= 0) table[static_cast<std::size_t>(slot)].state = kFree;
}

}  // namespace

Unfinished::Unfinished(const std::string& path) : slot_(enter(unfinished, path, 0, 0)) {}
Unfinished::~Unfinished() {
  leave(unfinished, slot_);
}

void remove_unfinished() noexcept {
  for (EndRow& row : unfinished) {
    if (row.state != kKnown || unlink(row.path.data()) == 0) continue;
    if (errno == EISDIR) remove_folder(AT_FDCWD, row.path.data(), kDeepest);
  }
}

MappedRange::MappedRange(const void* begin, std::size_t size, const std::string& path)
    : slot_(enter(mapped, path, reinterpret_cast<std::uintptr_t>(begin),
                  reinterpret_cast<std::uintptr_t>(begin) + size)) {}
MappedRange::~MappedRange() {
  leave(mapped, slot_);
}

const char* mapped_file_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const EndRow& row : mapped) {
    if (row.state == kKnown && row.begin <= at && at < row.end) return row.path.data();
  }
  return nullptr;
}

}  // namespace spillway

#include "sim/at_end.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "sim/system.hpp"

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

constexpr int kDeepest = 4;  // ours have two levels

void remove_folder(int at, const char* name, int levels) noexcept {
  struct Pass {
    int folder;
    int levels;
    bool removed;
  } pass{openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), levels, true};
  if (pass.folder < 0) return;
  const auto remove = [](void* context, const char* entry) {
    auto& p = *static_cast<Pass*>(context);
    if (unlinkat(p.folder, entry, 0) == 0) {
      p.removed = true;
    } else if ((errno == EISDIR || errno == EPERM) && p.levels > 1) {  // EPERM: POSIX, of a folder
      remove_folder(p.folder, entry, p.levels - 1);
      p.removed = p.removed || faccessat(p.folder, entry, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    }
  };
  while (pass.removed) {  // what is removed shifts the rest
    pass.removed = false;
    (void)lseek(pass.folder, 0, SEEK_SET);
    each_name(pass.folder, remove, &pass);
  }
  (void)close(pass.folder);
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

// What Linux has and other POSIX systems have otherwise or not at all: system_linux.cpp is built on
// Linux, system_posix.cpp elsewhere (and with SPILLWAY_PORTABLE). What a system lacks is left out:
// measurements are then less exact, and planning is the same. io_uring:
// scenarios/machine/io_ring.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spillway {

/// What execv() starts this program again by, even where its file was replaced meanwhile.
const char* this_program();
/// The file of this program; empty where the system does not tell.
std::string this_program_file();

/// Drawn by the kernel: no other process has it.
std::uint64_t unique_number();

/// Two ends, for reading and for writing, that close themselves in children. False with errno set.
bool open_pipe(int* ends);
/// In a child, between fork and exec: it is to end when its parent does, where the system can.
void end_with_parent() noexcept;

/// Calls visit(context, name) for each name in the open folder but "." and "..". On Linux safe in a
/// handler of signals; elsewhere it allocates.
void each_name(int folder, void (*visit)(void* context, const char* name), void* context) noexcept;

/// CPUs that this thread may run on; empty where the system does not tell.
std::vector<int> allowed_cpus();
/// Binds this thread to them. False where the system does not do that.
bool bind_to(const std::vector<int>& cpus);

/// Opens past the page cache; -1 with errno where the file system does not take that.
int open_uncached(const char* path, int flags);
/// Reserves the first `bytes` of a file; the errno of a failure, EOPNOTSUPP where it cannot.
int reserve_file(int file, std::int64_t bytes);
bool sync_data(int file);
/// Asks for a file's pages to leave the cache and for no reading ahead. False where it cannot.
bool drop_cached(int file);
/// Whether `bytes` at `at` come without waiting for the drive.
bool comes_at_once(int file, void* buffer, std::size_t bytes, std::int64_t at);

/// Bytes that the heap holds for this piece: at least what was asked for.
std::size_t heap_bytes(void* piece) noexcept;
/// Huge pages for this memory, or small ones; a wish.
void wish_pages(void* memory, std::size_t bytes, bool huge);

}  // namespace spillway

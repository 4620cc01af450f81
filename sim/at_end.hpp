// What a signal handler has to know when it ends the process: which files are unfinished, and which
// addresses are a mapped file's. Handlers may neither allocate nor lock, so all of it lies in
// tables of fixed size; what does not fit is not known there.
#pragma once

#include <cstddef>
#include <string>

namespace spillway {

/// A file or folder under a name of its own that means nothing until it is complete.
class Unfinished {
 public:
  /// Before the file is made, so that no signal comes between.
  explicit Unfinished(const std::string& path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  int slot_;
};

/// Removes every unfinished file, and every folder with what is in it. Safe in a signal handler.
void remove_unfinished() noexcept;

/// Addresses behind which `path` lies.
class MappedRange {
 public:
  MappedRange(const void* begin, std::size_t size, const std::string& path);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

 private:
  int slot_;
};

/// The file behind `address`; null: none that is known. Safe in a signal handler.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace spillway

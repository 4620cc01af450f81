// Files that are complete or absent, never half: written beside the target, then renamed.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "sim/temporary_file.hpp"

namespace spillway {

/// Writes to a temporary file in the target's directory; commit() flushes it to disk and renames it
/// over the target. Without commit() the destructor removes it. Throws InputError (exit 7) when the
/// directory cannot be written or the disk is full. "-" is standard output, written as it comes.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view data);
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what);

  std::string path_;
  std::optional<TemporaryFile> temporary_;  ///< not of pipes and devices
  std::FILE* file_ = nullptr;
};

void write_file(const std::string& path, std::string_view content);

}  // namespace spillway

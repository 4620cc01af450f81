// A file that is being written, beside its target under a name that nobody else has.
#pragma once

#include <optional>
#include <string>

#include "sim/at_end.hpp"

namespace spillway {

/// `target`.tmp-<random>: a name beside it that nobody else has, in another container neither.
std::string temporary_name(const std::string& target);

/// A file of such a name: made anew, never through a link, and removed unless it is renamed: by the
/// destructor, and by the handlers of the signals that end the program.
class TemporaryFile {
 public:
  /// Throws InputError (exit 7) where it cannot be made.
  explicit TemporaryFile(std::string target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// Flushes what was written to the disk and renames it over the target. Throws InputError (exit
  /// 7).
  void rename_into_place();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string target_;
  std::string path_;
  std::optional<Unfinished> unfinished_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace spillway

// A file that storage is measured with. It has no name: whatever ends the process, nothing is left.
#pragma once

#include <cstdint>
#include <string>

namespace spillway {

class ScratchFile {
 public:
  /// In `folder`, with room for `bytes`. Throws InputError (exit 7) where the folder cannot be
  /// written or has no room.
  ScratchFile(const std::string& folder, std::int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int direct() const { return direct_ < 0 ? buffered_ : direct_; }
  int buffered() const { return buffered_; }
  /// Whether the file system bypasses its cache for us.
  bool has_direct() const { return direct_ >= 0; }
  /// Makes what was written durable; false where the system could not.
  bool sync() const;
  /// Drops the file from the page cache; false where a part of it is still there.
  bool drop_cache(std::int64_t bytes) const;

 private:
  bool any_cached(std::int64_t bytes) const;

  int buffered_ = -1;
  int direct_ = -1;
};

/// Throws InputError (exit 7) where files cannot be written in `folder`. `trial`: by writing one,
/// which is gone again; else by what the system says of its permissions.
void check_scratch(const std::string& folder, bool trial);

}  // namespace spillway

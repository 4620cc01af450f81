// Whatever of an engine has columns over its block ids, and is told when there are more of these.
#pragma once

#include <cstdint>

namespace spillway {

class BlockColumns {
 public:
  /// From now on block ids are below `blocks`, which is at least what it was.
  virtual void grow_blocks(std::uint32_t blocks) = 0;

 protected:
  ~BlockColumns() = default;
};

}  // namespace spillway

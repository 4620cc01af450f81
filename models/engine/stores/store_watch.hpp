// Told what a store gains and loses, by the store's block ids. A store that nobody watches pays a
// look at a null pointer.
#pragma once

#include "sim/ids.hpp"

namespace spillway {

class StoreWatch {
 public:
  /// The block can be found there from now on.
  virtual void on_stored(BlockId block) = 0;
  virtual void on_dropped(BlockId block) = 0;

 protected:
  ~StoreWatch() = default;
};

}  // namespace spillway

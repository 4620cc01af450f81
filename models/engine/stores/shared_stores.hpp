// The stores that several engines of a simulation share: what one wrote, the others find. A store
// is known by the number of its drive or server (models/tier/network.hpp), and named by global ids.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/stores/block_store.hpp"

namespace spillway {

class SharedStores {
 public:
  /// Made by whoever asks first.
  template <class Make>
  BlockStore& at(std::uint32_t server, Make make) {
    if (stores_.size() <= server) stores_.resize(server + 1);
    if (stores_[server] == nullptr) stores_[server] = make();
    return *stores_[server];
  }
  /// When nothing is under way any more.
  void check_drained() const {
    for (const auto& store : stores_) {
      if (store != nullptr) store->check_drained();
    }
  }

 private:
  std::vector<std::unique_ptr<BlockStore>> stores_;
};

}  // namespace spillway

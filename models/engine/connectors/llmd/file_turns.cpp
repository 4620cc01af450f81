#include "models/engine/connectors/llmd/file_turns.hpp"

#include <algorithm>

#include "models/engine/connectors/llmd/file_store.hpp"
#include "models/engine/connectors/llmd/file_threads.hpp"

namespace spillway {

void FileTurns::join(std::uint32_t engine, FileThreads& threads) {
  if (threads_.size() <= engine) threads_.resize(std::size_t{engine} + 1, nullptr);
  threads_[engine] = &threads;
}

void FileTurns::freed(std::uint32_t engine) {
  settlement_.tell_after(*this);
  freed_.push_back(engine);
}

void FileTurns::settled() {
  std::sort(freed_.begin(), freed_.end());
  freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
  for (const std::uint32_t engine : freed_) threads_[engine]->take();
  freed_.clear();
}

void FileTurns::request_ended() {
  if (requests_ == 0 || --requests_ > 0) return;
  for (FileStore* store : stores_) {
    store->tick_until(queue_.now());
    store->stop_ticks();
  }
}

}  // namespace spillway

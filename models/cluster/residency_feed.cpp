#include "models/cluster/residency_feed.hpp"

#include "models/engine/stores/residency.hpp"
#include "sim/error.hpp"

namespace spillway {

/// One store of one engine. Model: a block of several KV groups is there with the page of the last
/// group; a chunk is told by its last block.
class ResidencyFeed::Store final : public StoreWatch {
 public:
  Store(ResidencyFeed& feed, const Engine& engine, InstanceId instance, std::uint32_t store)
      : feed_(feed), engine_(engine), instance_(instance), store_(store) {}

  void on_stored(BlockId block) override { tell(block, true); }
  void on_dropped(BlockId block) override { tell(block, false); }

 private:
  void tell(BlockId page, bool stored) {
    const std::uint32_t groups = engine_.pages_per_block();
    if (raw(page) % groups != groups - 1) return;
    const BlockId block = engine_.chains().global_of(BlockId{raw(page) / groups});
    feed_.tell({feed_.queue_.now(), instance_, store_, stored, block, 1});
  }

  ResidencyFeed& feed_;
  const Engine& engine_;
  InstanceId instance_;
  std::uint32_t store_;
};

ResidencyFeed::ResidencyFeed(EventQueue& queue, Router& router, Duration lag)
    : queue_(queue), router_(router), lag_(lag) {
  KV_ASSERT(lag > Duration(0), "news that take no time");
}

ResidencyFeed::~ResidencyFeed() = default;

void ResidencyFeed::watch(Engine& engine, InstanceId instance) {
  engine.chains().keep_origins();
  stores_.push_back(std::make_unique<Store>(*this, engine, instance, 0));
  engine.watch_pool(*stores_.back());
  stores_.push_back(std::make_unique<Store>(*this, engine, instance, 1));
  engine.watch_lower(*stores_.back());
}

void ResidencyFeed::tell(const ResidencyEvent& event) {
  if (!under_way_.empty()) {
    ResidencyEvent& last = under_way_[under_way_.size() - 1];
    const bool goes_on = last.at == event.at && last.instance == event.instance &&
                         last.store == event.store && last.stored == event.stored &&
                         raw(last.first) + last.count == raw(event.first);
    if (goes_on) {
      ++last.count;
      return;
    }
  }
  under_way_.push_back(event);
  if (woken_ == event.at + lag_) return;
  woken_ = event.at + lag_;
  queue_.schedule(woken_, Phase::kTransferDone, *this, {});
}

void ResidencyFeed::on_event(EventPayload) {
  for (; !under_way_.empty() && under_way_.front().at + lag_ <= queue_.now();
       under_way_.pop_front()) {
    router_.on_residency(under_way_.front());
  }
}

}  // namespace spillway

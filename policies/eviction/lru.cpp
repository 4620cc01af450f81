// Least recently used, as vLLM keeps both its free queue (vllm/v1/core/block_pool.py) and its CPU
// tier (vllm/v1/kv_offload/cpu/policies/lru.py): released and used slots go to the back of one
// list.
#include <memory>

#include "policies/catalogue.hpp"
#include "policies/containers/index_list.hpp"

namespace spillway {

namespace {

class Lru final : public EvictionPolicy {
 public:
  explicit Lru(const EvictionContext& context) : order_(context.slots) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.push_back(raw(slot));
  }
  void touch(SlotSpan slots, const Access&) override { order_.move_to_back(slots); }
  void remove(SlotSpan slots, RemoveCause) override {
    for (const SlotId slot : slots) order_.erase(raw(slot));
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    order_.pop_front(out);
  }
  void grow(std::uint32_t slots, std::uint32_t) override { order_.grow(slots); }
  bool pops_ahead() const override { return true; }
  bool tells_order() const override { return true; }
  SlotId after(SlotId slot) const override { return SlotId{order_.after(raw(slot))}; }

 private:
  IndexList order_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lru(const EvictionContext& context, const Params&,
                                         const SourceRef&) {
  return std::make_unique<Lru>(context);
}

}  // namespace spillway

// The blocks that prompts under way will be the first to compute, as a schedule meets them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chains/prompt_tokens.hpp"
#include "models/engine/stores/reuse_tree.hpp"

namespace spillway {

class NextBlocks {
 public:
  NextBlocks(const Workload& workload, std::uint32_t block_tokens)
      : tokens_(workload), block_tokens_(block_tokens), buckets_(kFewest, kNone) {}

  void clear() {
    for (const Entry& e : entries_) buckets_[e.bucket] = kNone;
    entries_.clear();
  }
  /// The request's `number`-th block, which is full, and comes behind `parent` in the tree; false
  /// where it is here already.
  bool add(ReuseTree::Block parent, RequestId r, std::uint32_t number) {
    if (entries_.size() == buckets_.size()) grow();
    if (has(parent, r, number)) return false;
    const std::uint32_t bucket = bucket_of(parent, r, number);
    entries_.push_back({parent, r, number, bucket, buckets_[bucket]});
    buckets_[bucket] = static_cast<std::uint32_t>(entries_.size() - 1);
    return true;
  }
  bool has(ReuseTree::Block parent, RequestId r, std::uint32_t number) const {
    const std::uint32_t from = number * block_tokens_;
    for (std::uint32_t i = buckets_[bucket_of(parent, r, number)]; i != kNone;
         i = entries_[i].next) {
      const Entry& e = entries_[i];
      if (e.parent == parent && e.number == number &&
          tokens_.common(e.request, r, from, block_tokens_) == block_tokens_) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kFewest = 64;
  struct Entry {
    ReuseTree::Block parent;
    RequestId request;
    std::uint32_t number;
    std::uint32_t bucket;
    std::uint32_t next;
  };

  std::uint32_t bucket_of(ReuseTree::Block parent, RequestId r, std::uint32_t number) const {
    const std::uint64_t name = tokens_.name(r, (number + 1) * block_tokens_ - 1);
    const std::uint64_t x = (std::uint64_t{parent} << 33 | name) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint32_t>(x >> 32) & static_cast<std::uint32_t>(buckets_.size() - 1);
  }
  void grow() {
    std::vector<Entry> entries;
    entries.swap(entries_);
    buckets_.assign(2 * buckets_.size(), kNone);
    for (const Entry& e : entries) add(e.parent, e.request, e.number);
  }

  PromptTokens tokens_;
  std::uint32_t block_tokens_;
  std::vector<std::uint32_t> buckets_;  ///< a power of two
  std::vector<Entry> entries_;
};

}  // namespace spillway

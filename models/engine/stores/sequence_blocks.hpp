// The blocks of TensorRT-LLM's sequences: what a look-up finds in the reuse tree, how a sequence
// comes by its blocks, what it leaves there (cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp
// @ 05a919198; the order of claims and onboarding is that of main after it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/engine/stores/reuse_tree.hpp"
#include "models/releases/trtllm_config.hpp"

namespace spillway {

/// What one request has here.
struct Sequence {
  static constexpr std::uint64_t kNoVersion = ~std::uint64_t{0};
  struct Known {
    ReuseTree::Block block;
    std::uint64_t stamp;
  };
  RequestId id{};
  std::vector<ReuseTree::Block> blocks;  ///< that it holds, root first
  // Of its context, the leading full blocks that were in the tree when it was last asked, and how
  // many of them somebody used then.
  std::vector<Known> path;
  std::uint32_t used = 0;
  std::uint64_t use_version = kNoVersion;

  /// Another request, in the same memory.
  void begin(RequestId request) {
    id = request;
    blocks.clear();
    path.clear();
    used = 0;
    use_version = kNoVersion;
  }
  std::uint32_t held() const { return static_cast<std::uint32_t>(blocks.size()); }
};

class SequenceBlocks {
 public:
  SequenceBlocks(const TrtllmConfig& rules, std::uint32_t block_tokens, const Workload& workload,
                 ReuseTree& tree)
      : rules_(rules), block_tokens_(block_tokens), workload_(workload), tree_(tree) {}

  std::uint32_t blocks_of(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + block_tokens_ - 1) / block_tokens_);
  }

  struct Reuse {
    std::uint32_t all = 0;   ///< leading full blocks in the tree
    std::uint32_t used = 0;  ///< of these, used by somebody
    ReuseTree::Block last;   ///< the last of them, or the root
  };
  /// What is there of the first `context` tokens. Work is in what has changed since it was asked.
  Reuse reuse(Sequence& s, std::uint32_t context) const;

  struct Admission {
    std::uint32_t computed = 0;                             ///< tokens that it need not compute
    std::array<std::uint32_t, ReuseTree::kLevels> found{};  ///< of these, by where they lay
  };
  /// Of the block behind those that it holds, which are all full: the last token of the context is
  /// always computed.
  ReuseTree::Closest part_of(const Sequence& s, std::uint32_t context) const;
  void count(ReuseTree::Block block, std::uint32_t tokens, Admission& out) const;
  /// Blocks for the whole context; nothing where there is no room, and it holds none then.
  std::optional<Admission> admit(Sequence& s, std::uint32_t context, Time now);
  /// One more block for what it generates. Precondition: one is free.
  void grow(Sequence& s);
  /// The first `tokens` of it are computed: what is not in the tree yet enters; a partial block
  /// only with `partial`.
  void store(const Sequence& s, std::uint32_t tokens, bool partial);
  /// It gives its blocks back, the last one first.
  void release(Sequence& s, Time now);

  /// Of sequences that would give their blocks back, in turn since begin_giving(): how many more
  /// would be free.
  void begin_giving();
  std::uint32_t would_free(const Sequence& s);

 private:
  std::optional<RetentionRule> rule_of(const Sequence& s, std::uint32_t number) const;
  bool take_all(Sequence& s, std::uint32_t context, Admission& out);
  bool claim_full(Sequence& s, std::uint32_t context, Admission& out);
  bool onboard(ReuseTree::Block block);
  bool take_over(Sequence& s, const ReuseTree::Closest& part, Admission& out);
  void copy_part(Sequence& s, const ReuseTree::Closest& part, Admission& out);

  const TrtllmConfig& rules_;
  std::uint32_t block_tokens_;
  const Workload& workload_;
  ReuseTree& tree_;
  struct Users {
    std::uint64_t turn = 0;
    std::uint32_t left = 0;
  };
  std::vector<Users> users_;  ///< by block, behind those that give
  std::uint64_t turn_ = 0;
};

}  // namespace spillway

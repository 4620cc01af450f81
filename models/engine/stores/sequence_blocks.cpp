#include "models/engine/stores/sequence_blocks.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- what is there
// -------------------------------------------------------------------------------

SequenceBlocks::Reuse SequenceBlocks::reuse(Sequence& s, std::uint32_t context) const {
  if (!rules_.block_reuse) return {0, 0, tree_.root()};
  const std::uint32_t full = context / block_tokens_;
  const std::size_t before = s.path.size();
  // What leaves takes all behind it along: those still there are the first ones.
  const auto gone = std::partition_point(
      s.path.begin(), s.path.end(),
      [&](const Sequence::Known& known) { return tree_.stamp(known.block) == known.stamp; });
  bool changed = gone != s.path.end();
  s.path.erase(gone, s.path.end());
  ReuseTree::Block last = s.path.empty() ? tree_.root() : s.path.back().block;
  while (s.path.size() < full) {
    const auto number = static_cast<std::uint32_t>(s.path.size());
    const ReuseTree::Block next = tree_.find(last, s.id, number, block_tokens_);
    if (next == ReuseTree::kNone) break;
    s.path.push_back({next, tree_.stamp(next)});
    last = next;
  }
  changed = changed || s.path.size() != before || s.use_version != tree_.use_version();
  if (changed) {
    s.used = static_cast<std::uint32_t>(
        std::count_if(s.path.begin(), s.path.end(),
                      [&](const Sequence::Known& known) { return tree_.used(known.block); }));
    s.use_version = tree_.use_version();
  }
  return {static_cast<std::uint32_t>(s.path.size()), s.used, last};
}

ReuseTree::Closest SequenceBlocks::part_of(const Sequence& s, std::uint32_t context) const {
  const std::uint32_t number = s.held();
  const std::uint32_t tokens = std::min(block_tokens_, context - 1 - number * block_tokens_);
  if (!rules_.block_reuse || tokens == 0) return {};
  const ReuseTree::Block parent = s.blocks.empty() ? tree_.root() : s.blocks.back();
  if (tokens < block_tokens_) {
    const ReuseTree::Block same = tree_.find(parent, s.id, number, tokens);
    if (same != ReuseTree::kNone) return {same, tokens};
  }
  if (!rules_.partial_reuse) return {};
  return tree_.closest(parent, s.id, number, tokens, !rules_.copy_on_partial_reuse);
}

/// With what the request wants its block to be kept, where it says so.
std::optional<RetentionRule> SequenceBlocks::rule_of(const Sequence& s,
                                                     std::uint32_t number) const {
  const KvRetention* own = workload_.retention(s.id);
  const auto& ranges = own != nullptr && own->prompt ? own->prompt : rules_.retention.prompt;
  if (!ranges) return std::nullopt;
  const std::uint32_t token = number * block_tokens_;
  for (const RetentionRange& range : *ranges) {
    if (range.begin <= token && token < range.end) return range.rule;
  }
  return std::nullopt;
}

// ---- how it comes by its blocks
// ------------------------------------------------------------------

void SequenceBlocks::count(ReuseTree::Block block, std::uint32_t tokens, Admission& out) const {
  out.found[tree_.level_of(block)] += tokens;
  out.computed += tokens;
}

std::optional<SequenceBlocks::Admission> SequenceBlocks::admit(Sequence& s, std::uint32_t context,
                                                               Time now) {
  KV_ASSERT(s.blocks.empty(), "request {} has blocks already", raw(s.id));
  reuse(s, context);
  const std::uint32_t all = blocks_of(context);
  const std::size_t most = std::min<std::size_t>(s.path.size(), (context - 1) / block_tokens_);
  const auto used =
      std::count_if(s.path.begin(), s.path.begin() + static_cast<std::ptrdiff_t>(most),
                    [&](const Sequence::Known& known) { return tree_.used(known.block); });
  if (all - static_cast<std::uint64_t>(used) > tree_.free_blocks()) return std::nullopt;

  Admission out;
  if (take_all(s, context, out)) return out;
  release(s, now);
  return std::nullopt;
}

/// False where there is no room after all: onboarding has driven a block out of the tree that
/// others use.
bool SequenceBlocks::take_all(Sequence& s, std::uint32_t context, Admission& out) {
  if (!claim_full(s, context, out)) return false;
  const ReuseTree::Closest part = part_of(s, context);
  const bool copies = part.block != ReuseTree::kNone && !take_over(s, part, out);
  for (const ReuseTree::Block block : s.blocks) {
    if (!onboard(block)) return false;
  }
  const std::uint32_t all = blocks_of(context);
  if (copies && tree_.free_blocks() > 0) copy_part(s, part_of(s, context), out);
  while (s.held() < all) {
    if (tree_.free_blocks() == 0) return false;
    s.blocks.push_back(tree_.take(rule_of(s, s.held()).value_or(RetentionRule())));
  }
  return true;
}

bool SequenceBlocks::onboard(ReuseTree::Block block) {
  if (tree_.on_gpu(block)) return true;
  if (tree_.free_blocks() == 0) return false;
  tree_.onboard(block);
  return true;
}

bool SequenceBlocks::claim_full(Sequence& s, std::uint32_t context, Admission& out) {
  const std::uint32_t most = (context - 1) / block_tokens_;
  ReuseTree::Block last = tree_.root();
  while (rules_.block_reuse && s.held() < most) {
    // What the look-up found still stands, unless a claimed block's way to the GPU drove it out.
    const std::size_t i = s.held();
    const bool known = i < s.path.size() && tree_.stamp(s.path[i].block) == s.path[i].stamp;
    const ReuseTree::Block next =
        known ? s.path[i].block : tree_.find(last, s.id, s.held(), block_tokens_);
    if (next == ReuseTree::kNone) break;
    count(next, block_tokens_, out);
    tree_.claim(next, rule_of(s, s.held()));
    s.blocks.push_back(next);
    if (!rules_.claim_before_onboard && !onboard(next)) return false;
    last = next;
  }
  return true;
}

/// What nobody uses and nothing stands behind is written on where it is.
bool SequenceBlocks::take_over(Sequence& s, const ReuseTree::Closest& part, Admission& out) {
  if (tree_.used(part.block) || !tree_.leaf(part.block)) return false;
  count(part.block, part.tokens, out);
  tree_.detach(part.block);
  tree_.claim(part.block, rule_of(s, s.held()));
  s.blocks.push_back(part.block);
  return true;
}

/// Onboarding may have driven the source out, or what stood behind it: it is found anew.
void SequenceBlocks::copy_part(Sequence& s, const ReuseTree::Closest& part, Admission& out) {
  if (part.block == ReuseTree::kNone) return;
  if (take_over(s, part, out)) return tree_.onboard(part.block);
  const bool below = !tree_.on_gpu(part.block);
  const ReuseTree::Block block = tree_.take(tree_.rule(part.block));
  s.blocks.push_back(block);
  if (below && block == part.block) return;  // Model: what was taken drove it out of host memory
  count(part.block, part.tokens, out);
  tree_.copy(part.block, block, part.tokens);
}

void SequenceBlocks::grow(Sequence& s) {
  const KvRetention* own = workload_.retention(s.id);
  const auto& rule = own != nullptr && own->decode ? own->decode : rules_.retention.decode;
  s.blocks.push_back(tree_.take(rule.value_or(RetentionRule())));
}

// ---- what it leaves
// ------------------------------------------------------------------------------

/// WindowBlockManager::storeBlocks().
void SequenceBlocks::store(const Sequence& s, std::uint32_t tokens, bool partial) {
  if (!rules_.block_reuse) return;
  const std::uint32_t count = partial ? blocks_of(tokens) : tokens / block_tokens_;
  ReuseTree::Block last = tree_.root();
  bool known = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t filled = std::min(block_tokens_, tokens - i * block_tokens_);
    ReuseTree::Block same = ReuseTree::kNone;
    if (known) {
      // Most have stood there since the prompt was complete: no need to look for them.
      const bool stands = tree_.stands(s.blocks[i], last, filled);
      same = stands ? s.blocks[i] : tree_.find(last, s.id, i, filled);
    }
    known = same != ReuseTree::kNone;
    if (!known) tree_.enter(s.blocks[i], last, s.id, i, filled);
    last = known ? same : s.blocks[i];
  }
}

void SequenceBlocks::release(Sequence& s, Time now) {
  for (auto block = s.blocks.rbegin(); block != s.blocks.rend(); ++block) {
    tree_.release(*block, now);
  }
  s.blocks.clear();
}

void SequenceBlocks::begin_giving() {
  ++turn_;
}

std::uint32_t SequenceBlocks::would_free(const Sequence& s) {
  std::uint32_t out = 0;
  for (const ReuseTree::Block block : s.blocks) {
    if (users_.size() <= block) users_.resize(tree_.root());
    Users& users = users_[block];
    if (users.turn != turn_) users = {turn_, tree_.users(block)};
    out += --users.left == 0 ? 1 : 0;
  }
  return out;
}

}  // namespace spillway

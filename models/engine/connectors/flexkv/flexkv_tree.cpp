#include "models/engine/connectors/flexkv/flexkv_tree.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

FlexkvTree::FlexkvTree(std::uint64_t slots, FlexkvEviction eviction, const FlexkvConfig& config)
    : slots_(slots), free_(slots), eviction_(eviction), config_(config) {
  nodes_.take();  // the root
  at(kRoot).ready = true;
}

// ---- match
// --------------------------------------------------------------------------------------

FlexkvTree::Match FlexkvTree::match(BlockSpan run, Time now) {
  Match out;
  bool ready = true;
  while (out.blocks < run.size()) {
    const Node next = child(out.last, run[out.blocks]);
    if (next == kRoot) break;
    Entry& node = at(next);
    touch(node, now);
    const BlockSpan rest = run.subspan(out.blocks);
    const auto differ =
        std::mismatch(node.blocks.begin(), node.blocks.end(), rest.begin(), rest.end());
    out.last = next;
    out.within = static_cast<std::uint32_t>(differ.first - node.blocks.begin());
    out.blocks += out.within;
    ready = ready && node.ready;
    if (ready) {
      out.ready = out.blocks;
      out.last_ready = next;
    }
    if (out.within < node.blocks.size()) break;
  }
  return out;
}

void FlexkvTree::touch(Entry& node, Time now) const {
  node.access = now;
  node.grace = std::min(std::max(node.grace, now) + config_.hit_reward, kEndOfTime);
  ++node.hits;
}

/// kRoot: there is none.
FlexkvTree::Node FlexkvTree::child(Node parent, BlockId first) const {
  const std::uint32_t block = spillway::raw(first);
  if (block >= begins_.size() || begins_[block] == 0) return kRoot;
  for (std::uint32_t i = begins_[block] - 1; i != kNone; i = nodes_[i].same) {
    if (nodes_[i].parent == parent) return Node{i};
  }
  return kRoot;
}

// ---- insertion
// ----------------------------------------------------------------------------------

FlexkvTree::Node FlexkvTree::insert(const Match& match, BlockSpan blocks, Time now) {
  Node parent = match.last;
  if (parent != kRoot && match.within < at(parent).blocks.size()) {
    parent = split(parent, match.within);
  }
  const Node leaf = make(parent);
  Entry& node = at(leaf);
  node.blocks.assign(blocks.begin(), blocks.end());
  node.inserted = node.number;
  node.access = node.grace = node.created = now;
  hang(leaf);
  stored_ += blocks.size();
  return leaf;
}

FlexkvTree::Node FlexkvTree::make(Node parent) {
  const Node made{nodes_.take()};
  Entry& node = at(made);
  node.parent = parent;
  node.children = 0;
  node.leaf = kNone;
  node.locks = 0;
  node.ready = false;
  node.number = ++numbers_;
  node.hits = 0;
  return made;
}

/// Among its parent's children, and among the leaves if it has none itself.
void FlexkvTree::hang(Node which) {
  Entry& node = at(which);
  const std::uint32_t first = spillway::raw(node.blocks.front());
  begins_.grow(std::size_t{first} + 1, 0);
  node.same = begins_[first] == 0 ? kNone : begins_[first] - 1;
  begins_[first] = 1 + raw(which);
  ++at(node.parent).children;
  set_leaf(node.parent, false);
  set_leaf(which, node.children == 0);
}

/// The opposite.
void FlexkvTree::unhang(Node which) {
  const Entry& node = at(which);
  std::uint32_t& begin = begins_[spillway::raw(node.blocks.front())];
  if (begin == 1 + raw(which)) {
    begin = node.same == kNone ? 0 : 1 + node.same;
  } else {
    std::uint32_t before = begin - 1;
    while (nodes_[before].same != raw(which)) before = nodes_[before].same;
    nodes_[before].same = node.same;
  }
  set_leaf(which, false);
  set_leaf(node.parent, --at(node.parent).children == 0);
}

void FlexkvTree::set_leaf(Node which, bool leaf) {
  Entry& node = at(which);
  if (which == kRoot || leaf == (node.leaf != kNone)) return;
  if (leaf) {
    node.leaf = static_cast<std::uint32_t>(leaves_.size());
    leaves_.push_back(which);
    return;
  }
  leaves_[node.leaf] = leaves_.back();
  at(leaves_.back()).leaf = node.leaf;
  leaves_.pop_back();
  node.leaf = kNone;
}

/// A new parent takes the first `head` blocks of the node, its state and its place.
FlexkvTree::Node FlexkvTree::split(Node which, std::uint32_t head) {
  const Node above = make(at(which).parent);
  unhang(which);
  Entry& upper = at(above);
  Entry& lower = at(which);
  const auto cut = lower.blocks.begin() + head;
  upper.blocks.assign(lower.blocks.begin(), cut);
  lower.blocks.erase(lower.blocks.begin(), cut);
  upper.ready = lower.ready;
  upper.inserted = lower.inserted;
  upper.hits = lower.hits;
  upper.access = lower.access;
  upper.grace = lower.grace;
  upper.created = lower.created;
  lower.parent = above;
  hang(above);
  hang(which);
  return above;
}

void FlexkvTree::make_ready(Node which) {
  const std::uint64_t inserted = at(which).inserted;
  for (Node node = which; node != kRoot && at(node).inserted == inserted; node = at(node).parent) {
    at(node).ready = true;
  }
}

void FlexkvTree::undo(Node leaf) {
  const std::uint64_t blocks = at(leaf).blocks.size();
  stored_ -= blocks;
  free_ += blocks;
  remove(leaf);
}

void FlexkvTree::unlock(Node node) {
  if (node == kRoot) return;
  KV_ASSERT(at(node).locks > 0, "a node is unlocked more often than locked");
  --at(node).locks;
}

// ---- eviction
// -----------------------------------------------------------------------------------

bool FlexkvTree::take(std::uint64_t blocks, Node kept) {
  if (blocks == 0) return true;
  const auto share = [&](std::int64_t part) {
    return static_cast<std::int64_t>(slots_) * part / FlexkvConfig::kWhole;
  };
  const auto room = static_cast<std::int64_t>(free_);
  const auto wanted = static_cast<std::int64_t>(blocks);
  const bool full = static_cast<std::int64_t>(used()) * FlexkvConfig::kWhole >=
                    static_cast<std::int64_t>(slots_) * config_.start_threshold;
  if (full || wanted > room) {
    const std::int64_t below = share(FlexkvConfig::kWhole - config_.start_threshold) - room;
    lock(kept);
    evict(static_cast<std::uint64_t>(
        std::max({wanted - room, below, share(config_.evict_ratio), std::int64_t{0}})));
    unlock(kept);
  }
  if (blocks > free_) return false;
  free_ -= blocks;
  return true;
}

void FlexkvTree::evict(std::uint64_t blocks) {
  const auto later = [this](Node a, Node b) { return rank(a) > rank(b); };
  heap_.clear();
  std::copy_if(leaves_.begin(), leaves_.end(), std::back_inserter(heap_),
               [this](Node leaf) { return may_leave(leaf); });
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (blocks > 0 && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Node first = heap_.back();
    heap_.pop_back();
    std::vector<BlockId>& held = at(first).blocks;
    const std::uint64_t gone = std::min<std::uint64_t>(blocks, held.size());
    free_ += gone;
    evicted_ += gone;
    blocks -= gone;
    if (gone < held.size()) {
      held.resize(held.size() - gone);
      return;
    }
    const Node parent = at(first).parent;
    remove(first);
    if (!may_leave(parent)) continue;
    heap_.push_back(parent);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
}

void FlexkvTree::remove(Node leaf) {
  KV_ASSERT(at(leaf).locks == 0 && at(leaf).children == 0, "a node leaves that is in use");
  unhang(leaf);
  nodes_.release(raw(leaf));
}

bool FlexkvTree::may_leave(Node node) const {
  const Entry& e = at(node);
  return node != kRoot && e.children == 0 && e.ready && e.locks == 0;
}

/// The smallest leaves first.
std::tuple<std::int64_t, std::int64_t, std::uint64_t> FlexkvTree::rank(Node node) const {
  const Entry& e = at(node);
  const auto hits = static_cast<std::int64_t>(e.hits);
  const std::int64_t access = nanoseconds_of(e.access);
  const std::int64_t created = nanoseconds_of(e.created);
  switch (eviction_) {
    case FlexkvEviction::kLru:
      return {0, nanoseconds_of(e.grace), e.number};
    case FlexkvEviction::kLfu:
      return {hits, access, e.number};
    case FlexkvEviction::kSlru:
      return {e.hits >= config_.protected_hits ? 1 : 0, access, e.number};
    case FlexkvEviction::kFifo:
      return {0, created, e.number};
    case FlexkvEviction::kMru:
      return {0, -access, e.number};
    case FlexkvEviction::kFilo:
      return {0, -created, e.number};
  }
  return {};
}

// ---- the end
// ------------------------------------------------------------------------------------

void FlexkvTree::check_drained() const {
  KV_ASSERT(used() == resident(), "{} slots are in use, and {} blocks are there", used(),
            resident());
  std::uint64_t blocks = 0;
  std::vector<bool> seen(numbers_ + 1);
  for (const Node leaf : leaves_) {
    for (Node node = leaf; node != kRoot && !seen[raw(node)]; node = at(node).parent) {
      const Entry& e = at(node);
      seen[raw(node)] = true;
      blocks += e.blocks.size();
      KV_ASSERT(e.ready && e.locks == 0, "a node is not ready, or has {} locks, at the end",
                e.locks);
      KV_ASSERT(child(e.parent, e.blocks.front()) == node, "a node is not its parent's child");
      KV_ASSERT((node == leaf) == (e.children == 0), "a node of {} children among the leaves",
                e.children);
    }
  }
  KV_ASSERT(blocks == resident(), "the tree has {} of {} blocks", blocks, resident());
}

}  // namespace spillway

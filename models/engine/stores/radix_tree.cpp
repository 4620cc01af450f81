#include "models/engine/stores/radix_tree.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

// Shorter prefixes are computed again (hiradix_cache.py, load_back_threshold).
constexpr std::uint64_t kLeastLoadTokens = 10;

// evict_policy.py, SLRUStrategy
constexpr std::uint32_t kProtectedHits = 2;

// An order by hits, then by access: more hits than this count as so many.
constexpr std::uint32_t kMostHits = (1U << 24) - 1;
constexpr std::uint32_t kAccessBits = 40;

}  // namespace

/// Where a walk is in a chain, of which it looks at the first pages only.
struct RadixTree::Cursor {
  const PageRun* run;
  std::uint32_t offset = 0;  ///< within the run
  std::uint32_t left;        ///< pages

  /// At the chain's page `from`, with `count` pages to go.
  static Cursor at(PageChain chain, std::uint32_t from, std::uint32_t count) {
    Cursor out{chain.data(), 0, count};
    for (; count > 0 && from >= out.run->count; ++out.run) from -= out.run->count;
    out.offset = from;
    return out;
  }
  std::uint32_t page() const { return run->first + offset; }
  std::uint32_t run_left() const { return std::min(run->count - offset, left); }
  void advance(std::uint32_t pages) {
    left -= pages;
    offset += pages;
    if (offset < run->count) return;
    ++run;
    offset = 0;
  }
};

RadixTree::RadixTree(const Config& config, Copies& copies)
    : config_(config),
      copies_(copies),
      child_by_page_(config.ids),
      free_(config.device_pages),
      host_free_(config.host_pages) {
  const Node root = nodes_.take();
  KV_ASSERT(root == kRoot, "the first node is not the root");
  nodes_[root].device = nodes_[root].copy = true;
  nodes_[root].locks = 1;
}

// ---- nodes
// ---------------------------------------------------------------------------------------

RadixTree::Node RadixTree::make(Node parent) {
  const Node node = nodes_.take();
  if (node >= heap_ids_) {
    heap_ids_ = node + 1;
    device_leaves_.grow(heap_ids_);
    host_leaves_.grow(heap_ids_);
  }
  std::vector<PageRun> key = std::move(nodes_[node].key);
  key.clear();
  nodes_[node] = {};
  nodes_[node].key = std::move(key);
  nodes_[node].access = nodes_[node].made = nodes_[node].branch = ++clock_;
  link(node, parent);
  return node;
}

void RadixTree::link(Node node, Node parent) {
  Data& d = nodes_[node];
  Data& above = nodes_[parent];
  d.parent = parent;
  d.before = kNone;
  d.next = above.first_child;
  if (d.next != kNone) nodes_[d.next].before = node;
  above.first_child = node;
}

void RadixTree::unlink(Node node) {
  Data& d = nodes_[node];
  if (d.next != kNone) nodes_[d.next].before = d.before;
  (d.before == kNone ? nodes_[d.parent].first_child : nodes_[d.before].next) = d.next;
}

/// It is neither on the device nor in host memory any longer.
void RadixTree::remove(Node node) {
  Data& d = nodes_[node];
  KV_ASSERT(!d.device && d.locks == 0 && d.guards == 0, "a node in use leaves the tree");
  if (device_leaves_.contains(node)) device_leaves_.erase(node);
  if (host_leaves_.contains(node)) host_leaves_.erase(node);
  child_by_page_.place(d.key.front().first) = 0;
  const Node parent = d.parent;
  unlink(node);
  nodes_.release(node);
  rank(parent);
}

void RadixTree::touch(Node node) {
  nodes_[node].access = ++clock_;
  reorder(node);
}

/// The least of those that can leave goes first.
std::uint64_t RadixTree::leaves_at(const Data& d) const {
  switch (config_.eviction) {
    case RadixEviction::kLru:
      break;
    case RadixEviction::kLfu:
      return std::uint64_t{std::min(d.hits, kMostHits)} << kAccessBits | d.access;
    case RadixEviction::kSlru:
      return std::uint64_t{d.hits >= kProtectedHits} << kAccessBits | d.access;
    case RadixEviction::kFifo:
      return d.made;
    case RadixEviction::kMru:
      return ~d.access;
    case RadixEviction::kFilo:
      return ~d.made;
  }
  return d.access;
}

void RadixTree::reorder(Node node) {
  const std::uint64_t key = leaves_at(nodes_[node]);
  if (device_leaves_.contains(node)) device_leaves_.rekey(node, key);
  if (host_leaves_.contains(node)) host_leaves_.rekey(node, key);
}

/// Among those that can leave the device or host memory, or no longer.
void RadixTree::rank(Node node) {
  if (node == kRoot) return;
  const Data& d = nodes_[node];
  const auto keep = [&](IndexHeap& heap, bool in) {
    if (in == heap.contains(node)) return;
    in ? heap.push(node, leaves_at(d)) : heap.erase(node);
  };
  keep(device_leaves_, d.device && d.locks == 0 && d.device_children == 0 && !d.skipped);
  keep(host_leaves_, !d.device && d.guards == 0 && d.first_child == kNone);
}

/// Pages of the node that the chain goes on with; the cursor is behind them then.
std::uint32_t RadixTree::common(Node node, Cursor& cursor) const {
  std::uint32_t same = 0;
  for (const PageRun& run : nodes_[node].key) {
    std::uint32_t at = 0;
    while (at < run.count) {
      if (cursor.left == 0 || cursor.page() != run.first + at) return same;
      const std::uint32_t step = std::min(run.count - at, cursor.run_left());
      cursor.advance(step);
      at += step;
      same += step;
    }
  }
  return same;
}

/// The node's first pages become a node of their own above it.
RadixTree::Node RadixTree::split(Node node, std::uint32_t pages) {
  const Node parent = nodes_[node].parent;
  unlink(node);
  const Node upper = make(parent);
  Data& above = nodes_[upper];
  Data& below = nodes_[node];
  std::uint32_t left = pages;
  std::size_t whole = 0;
  for (; left > 0 && left >= below.key[whole].count; ++whole) left -= below.key[whole].count;
  above.key.assign(below.key.begin(), below.key.begin() + static_cast<std::ptrdiff_t>(whole));
  below.key.erase(below.key.begin(), below.key.begin() + static_cast<std::ptrdiff_t>(whole));
  if (left > 0) {
    above.key.push_back({below.key.front().first, left});
    below.key.front().first += left;
    below.key.front().count -= left;
  }
  above.pages = pages;
  below.pages -= pages;
  above.device = below.device;
  above.copy = below.copy;
  above.locks = below.locks;
  above.hits = below.hits;
  above.branch = below.branch;
  above.device_children = below.device ? 1 : 0;
  child_by_page_.place(above.key.front().first) = upper;
  child_by_page_.place(below.key.front().first) = node;
  link(node, upper);
  rank(upper);
  return upper;
}

// ---- walks
// ---------------------------------------------------------------------------------------

/// The node that the chain goes on with, touched and cut to what they share; the cursor is behind
/// it then. The root where there is none, as behind one that was cut: nothing begins there yet.
RadixTree::Node RadixTree::next(Cursor& cursor) {
  const Node node = child_by_page_[cursor.page()];
  if (node == kRoot) return kRoot;
  touch(node);
  const std::uint32_t same = common(node, cursor);
  return same < nodes_[node].pages ? split(node, same) : node;
}

RadixTree::Match RadixTree::match(PageChain chain, std::uint32_t pages) {
  Match out;
  Cursor cursor{chain.data(), 0, pages};
  while (cursor.left > 0) {
    const Node node = next(cursor);
    if (node == kRoot) break;
    out.last = node;
    if (nodes_[node].device) {
      out.device = node;
      out.device_pages += nodes_[node].pages;
    } else {
      out.host_pages += nodes_[node].pages;
    }
  }
  return out;
}

std::uint32_t RadixTree::insert(PageChain chain, std::uint32_t pages, bool counts) {
  std::uint32_t taken = 0;
  Node at = kRoot;
  Cursor cursor{chain.data(), 0, pages};
  while (cursor.left > 0) {
    const Node node = next(cursor);
    if (node == kRoot) break;
    if (!nodes_[node].device) {
      put_on_device(node);
      taken += nodes_[node].pages;
    } else if (counts) {
      hit(node);
    }
    at = node;
  }
  if (cursor.left == 0) return taken;
  const Node leaf = make(at);
  taken += cursor.left;
  fill(leaf, cursor);
  put_on_device(leaf);
  if (counts) hit(leaf);
  return taken;
}

/// The rest of the chain is the new node's.
void RadixTree::fill(Node leaf, Cursor& cursor) {
  Data& d = nodes_[leaf];
  d.pages = cursor.left;
  while (cursor.left > 0) {
    const std::uint32_t count = cursor.run_left();
    d.key.push_back({cursor.page(), count});
    cursor.advance(count);
  }
  child_by_page_.place(d.key.front().first) = leaf;
}

void RadixTree::put_on_device(Node node) {
  Data& d = nodes_[node];
  d.device = true;
  on_device_ += d.pages;
  counters_.inserted += d.pages;
  if (d.locks == 0) evictable_ += d.pages;
  ++nodes_[d.parent].device_children;
  rank(node);
  rank(d.parent);
}

/// Its pages are the caller's. It has a copy, or is removed at once.
void RadixTree::leave_device(Node node) {
  Data& d = nodes_[node];
  KV_ASSERT(d.device && d.locks == 0, "a node in use leaves the device");
  d.device = false;
  on_device_ -= d.pages;
  evictable_ -= d.pages;
  counters_.evicted += d.pages;
  --nodes_[d.parent].device_children;
  rank(node);
  rank(d.parent);
}

void RadixTree::lock(Node node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Data& d = nodes_[node];
    if (d.locks++ > 0) continue;
    evictable_ -= d.pages;
    rank(node);
  }
}

void RadixTree::unlock(Node node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Data& d = nodes_[node];
    KV_ASSERT(d.locks > 0, "a node is unlocked that nobody locked");
    if (--d.locks > 0) continue;
    evictable_ += d.pages;
    rank(node);
  }
}

// ---- host memory
// ---------------------------------------------------------------------------------

/// Copies are contiguous from the root on.
void RadixTree::hit(Node node) {
  if (config_.write_after == 0) return;
  Data& d = nodes_[node];
  ++d.hits;
  if (config_.eviction != RadixEviction::kLru) reorder(node);
  if (config_.host_pages == 0 || d.copy || d.hits < config_.write_after) return;
  if (!nodes_[d.parent].copy) return;
  if (write(node)) lock(node);
}

bool RadixTree::write(Node node) {
  const std::uint32_t pages = nodes_[node].pages;
  if (host_free_ < pages) evict_host(pages);
  if (host_free_ < pages) {
    counters_.refused += pages;
    return false;
  }
  host_free_ -= pages;
  nodes_[node].copy = true;
  counters_.written += pages;
  counters_.host_peak = std::max(counters_.host_peak, host_used());
  copies_.write(node, pages);
  return true;
}

void RadixTree::evict_host(std::uint64_t pages) {
  for (std::uint64_t left = 0; left < pages && !host_leaves_.empty();) {
    const Node node = host_leaves_.front();
    left += nodes_[node].pages;
    host_free_ += nodes_[node].pages;
    counters_.dropped += nodes_[node].pages;
    remove(node);
  }
}

bool RadixTree::load_back(const Match& match) {
  if (tokens_of(match.host_pages) < kLeastLoadTokens) return false;
  for (Node n = match.last; n != match.device; n = nodes_[n].parent) {
    ++nodes_[n].guards;
    rank(n);
  }
  lock(match.device);
  const bool room = make_room(tokens_of(match.host_pages));
  unlock(match.device);
  subtree_.clear();
  for (Node n = match.last; n != match.device; n = nodes_[n].parent) {
    --nodes_[n].guards;
    rank(n);
    subtree_.push_back(n);
  }
  if (!room) return false;
  take(match.host_pages);
  for (auto n = subtree_.rbegin(); n != subtree_.rend(); ++n) put_on_device(*n);
  lock(match.last);
  return true;
}

// ---- what comes from storage
// -----------------------------------------------------------------------

void append_pages(PageChain chain, std::uint32_t from, std::uint32_t count,
                  std::vector<BlockId>& out) {
  for (const PageRun& run : chain) {
    if (from >= run.count) {
      from -= run.count;
      continue;
    }
    for (; from < run.count && count > 0; ++from, --count) {
      out.push_back(BlockId{run.first + from});
    }
    if (count == 0) return;
    from = 0;
  }
}

void RadixTree::guard(Node node) {
  ++nodes_[node].guards;
  rank(node);
}

void RadixTree::unguard(Node node) {
  KV_ASSERT(nodes_[node].guards > 0, "a node is unguarded that nobody guarded");
  --nodes_[node].guards;
  rank(node);
}

void RadixTree::append_pages(Node node, std::uint32_t pages, std::vector<BlockId>& out) const {
  Node top = node;
  std::uint32_t found = nodes_[node].pages;
  for (; found < pages; found += nodes_[top].pages) top = nodes_[top].parent;
  KV_ASSERT(found == pages, "{} pages end with a node, {} were written", found, pages);
  out.resize(out.size() + pages);
  auto end = out.end();
  for (Node n = node;; n = nodes_[n].parent) {
    auto at = end -= nodes_[n].pages;
    for (const PageRun& run : nodes_[n].key) {
      for (std::uint32_t i = 0; i < run.count; ++i) *at++ = BlockId{run.first + i};
    }
    if (n == top) return;
  }
}

std::uint32_t RadixTree::reserve_host(std::uint32_t pages, std::uint32_t least) {
  if (host_free_ < pages) evict_host(pages);
  if (host_free_ < pages) {
    if (host_free_ < least) return 0;
    pages = static_cast<std::uint32_t>(host_free_);
  }
  host_free_ -= pages;
  counters_.host_peak = std::max(counters_.host_peak, host_used());
  return pages;
}

std::uint32_t RadixTree::insert_host(Node anchor, PageChain chain, std::uint32_t from,
                                     std::uint32_t count) {
  if (anchor != kRoot) touch(anchor);
  Cursor cursor = Cursor::at(chain, from, count);
  Node at = anchor;
  while (cursor.left > 0) {
    const Node node = next(cursor);
    if (node == kRoot) break;
    if (!nodes_[node].copy) return 0;
    at = node;
  }
  const std::uint32_t fresh = cursor.left;
  if (fresh == 0) return 0;
  const Node leaf = make(at);
  fill(leaf, cursor);
  nodes_[leaf].copy = true;
  counters_.written += fresh;
  rank(leaf);
  rank(at);
  return fresh;
}

// ---- eviction
// ------------------------------------------------------------------------------------

bool RadixTree::make_room(std::uint64_t tokens) {
  if (tokens_of(free_) < tokens) config_.write_after > 0 ? evict(tokens) : evict_back(tokens);
  return tokens_of(free_) >= tokens;
}

void RadixTree::evict(std::uint64_t tokens) {
  for (std::uint64_t left = 0; tokens_of(left) < tokens && !device_leaves_.empty();) {
    const Node node = device_leaves_.front();
    const std::uint32_t pages = nodes_[node].pages;
    left += pages;
    give(pages);
    leave_device(node);
    if (!nodes_[node].copy) remove(node);
  }
}

/// write_back: what has no copy is written first, and is there until all these copies have ended.
void RadixTree::evict_back(std::uint64_t tokens) {
  skipped_.clear();
  for (std::uint64_t left = 0; tokens_of(left) < tokens && !device_leaves_.empty();) {
    const Node node = device_leaves_.front();
    const std::uint32_t pages = nodes_[node].pages;
    if (nodes_[node].copy) {
      give(pages);
      leave_device(node);
      left += pages;
    } else if (config_.host_pages > 0 && write(node)) {
      ++nodes_[node].guards;
      leave_device(node);
      staged_.push_back(node);
      left += pages;
    } else {
      flush_staged();
      const std::uint64_t dropped = drop_subtree(node);
      left += dropped;
      if (dropped > 0) continue;
      nodes_[node].skipped = true;
      rank(node);
      skipped_.push_back(node);
    }
  }
  flush_staged();
  for (const Node node : skipped_) {
    nodes_[node].skipped = false;
    rank(node);
  }
}

void RadixTree::flush_staged() {
  if (staged_.empty()) return;
  copies_.flush();
  for (const Node node : staged_) {
    give(nodes_[node].pages);
    --nodes_[node].guards;
    rank(node);
  }
  staged_.clear();
}

/// With all that lies below it, unless some of that must stay: pages of the device that are free
/// for it.
std::uint64_t RadixTree::drop_subtree(Node top) {
  subtree_.assign(1, top);
  for (std::size_t i = 0; i < subtree_.size(); ++i) {
    const Data& d = nodes_[subtree_[i]];
    if (d.guards > 0) return 0;
    for (Node n = d.first_child; n != kNone; n = nodes_[n].next) subtree_.push_back(n);
  }
  std::uint64_t freed = 0;
  for (auto n = subtree_.rbegin(); n != subtree_.rend(); ++n) {
    Data& d = nodes_[*n];
    if (d.copy) {
      host_free_ += d.pages;
      counters_.dropped += d.pages;
    }
    if (d.device) {
      give(d.pages);
      freed += d.pages;
      leave_device(*n);
    }
    remove(*n);
  }
  return freed;
}

// ---- the order of a queue
// ------------------------------------------------------------------------------

void RadixTree::order_by_weight(std::span<const Node> found, std::vector<std::uint32_t>& order) {
  weights_.resize(std::max<std::size_t>(weights_.size(), heap_ids_ + 1));
  weighed_.clear();
  for (const Node at : found) {
    for (Node n = at; n != kRoot; n = nodes_[n].parent) {
      if (weights_[n].requests++ == 0) weighed_.push_back(n);
    }
  }
  // Children of one node side by side, the heaviest first.
  const auto before = [&](Node a, Node b) {
    const Data& x = nodes_[a];
    const Data& y = nodes_[b];
    if (x.parent != y.parent) return x.parent < y.parent;
    const std::uint32_t v = weights_[a].requests;
    const std::uint32_t w = weights_[b].requests;
    return v != w ? v > w : x.branch < y.branch;
  };
  std::sort(weighed_.begin(), weighed_.end(), before);
  // Those below a child are one stretch of the order; a node's own come behind its children's.
  subtree_.assign(1, kRoot);
  weights_[kRoot].place = 0;
  while (!subtree_.empty()) {
    const Node parent = subtree_.back();
    subtree_.pop_back();
    std::uint32_t& place = weights_[parent].place;
    auto child = std::partition_point(weighed_.begin(), weighed_.end(),
                                      [&](Node n) { return nodes_[n].parent < parent; });
    for (; child != weighed_.end() && nodes_[*child].parent == parent; ++child) {
      weights_[*child].place = place;
      place += weights_[*child].requests;
      subtree_.push_back(*child);
    }
  }
  order.resize(found.size());
  for (std::uint32_t i = 0; i < found.size(); ++i) order[weights_[found[i]].place++] = i;
  for (const Node n : weighed_) weights_[n].requests = 0;
}

void RadixTree::check_drained() const {
  KV_ASSERT(evictable_ == on_device_, "{} of {} cached pages are locked", on_device_ - evictable_,
            on_device_);
  KV_ASSERT(free_ + on_device_ == config_.device_pages, "{} free and {} cached of {} pages", free_,
            on_device_, config_.device_pages);
}

}  // namespace spillway

// In which order SGLang's scheduler looks at waiting requests (schedule_policy.py, calc_priority).
#include <algorithm>

#include "models/engine/schedulers/sglang_scheduler.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

// schedule_policy.py
constexpr std::size_t kMostSorted = 128;
constexpr std::uint32_t kLittleFound = 32;
constexpr std::uint32_t kMuchShared = 32;

}  // namespace

void SglangScheduler::sort_queue() {
  ranked_.clear();
  switch (rules_.queue) {
    case QueuePolicy::kArrival:
      return;
    case QueuePolicy::kLongestPrefix:
      if (waiting_.size() <= kMostSorted) sort_by_prefix();
      return;
    case QueuePolicy::kHeaviestBranch:
      return sort_by_weight();
    case QueuePolicy::kLongestOutput:
      for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
        ranked_.push_back({held(waiting_[i]).max_new, i, waiting_[i]});
      }
      return take_order();
    case QueuePolicy::kRandom:
      break;
  }
  // Another order for each batch; passes that form none leave it as it is.
  const std::uint64_t draw = mix64(draws_ + formed_);
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const std::uint64_t bits = mix64(draw ^ raw(requests_[waiting_[i]].id));
    ranked_.push_back({static_cast<std::int64_t>(bits >> 1), i, waiting_[i]});
  }
  take_order();
}

void SglangScheduler::take_order() {
  std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at < b.at;
  });
  for (std::size_t i = 0; i < ranked_.size(); ++i) waiting_[i] = ranked_[i].request;
}

/// Those that meet in the cache go one behind the other.
void SglangScheduler::sort_by_weight() {
  found_.clear();
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const Handle h = waiting_[i];
    found_.push_back(tree_.match(held(h).chain, requests_[h].tokens() / page()).device);
    ranked_.push_back({0, i, h});
  }
  tree_.order_by_weight(found_, order_);
  for (std::size_t i = 0; i < order_.size(); ++i) waiting_[i] = ranked_[order_[i]].request;
}

/// Both begin alike, as far as the trace's ids tell.
bool SglangScheduler::alike(Handle a, Handle b) const {
  const Workload& workload = env_.chains.global().workload();
  const auto x = workload.chain(requests_[a].id);
  const auto y = workload.chain(requests_[b].id);
  const std::size_t most = std::min(x.size(), y.size());
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < most && x[i] == y[i] && tokens < kMuchShared; ++i) {
    tokens += workload.block_tokens();
  }
  const std::uint32_t shorter = std::min(requests_[a].prompt, requests_[b].prompt);
  return std::min<std::uint64_t>(tokens, shorter) >= kMuchShared;
}

/// Of several that begin alike and find little, the first goes ahead of all and the others last:
/// they find what it has computed.
void SglangScheduler::sort_by_prefix() {
  first_alike_.clear();
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const Handle h = waiting_[i];
    const std::int64_t known = requests_[h].tokens();
    const RadixTree::Match match =
        tree_.match(held(h).chain, static_cast<std::uint32_t>(known / page()));
    const std::int64_t found = std::int64_t{match.device_pages + match.host_pages} * page();
    bool last = false;
    if (std::uint64_t{match.device_pages} * page() <= kLittleFound) {
      last = std::any_of(first_alike_.begin(), first_alike_.end(),
                         [&](Handle other) { return alike(h, other); });
      if (!last) first_alike_.push_back(h);
    }
    ranked_.push_back({last ? -1 : std::min(found, known - 1), i, h});
  }
  take_order();
}

}  // namespace spillway

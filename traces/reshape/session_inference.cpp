#include "traces/reshape/session_inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace spillway {

namespace {

/// Blocks of so few conversations are never common, however short the trace: one is the session's,
/// a second may be its branch.
constexpr double kFewConversations = 2;

using Chain = std::span<const TraceBlockId>;

/// Which blocks more than `share` of the conversations contain.
std::vector<bool> common_blocks(const Workload& workload, double share) {
  std::vector<bool> extended(workload.unique_blocks(), false);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const Chain full = workload.full_chain(RequestId{i});
    for (std::size_t k = 0; k + 1 < full.size(); ++k) extended[raw(full[k])] = true;
  }
  std::vector<std::uint32_t> in(workload.unique_blocks(), 0);
  std::uint32_t conversations = 0;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const Chain full = workload.full_chain(RequestId{i});
    if (full.empty() || extended[raw(full.back())]) continue;
    extended[raw(full.back())] = true;  // the same prompt again is the same conversation
    ++conversations;
    for (const TraceBlockId id : full) ++in[raw(id)];
  }
  const double most = std::max(kFewConversations, share * conversations);
  std::vector<bool> common(in.size());
  for (std::size_t id = 0; id < in.size(); ++id) common[id] = in[id] > most;
  return common;
}

/// Finds each request's predecessor; asked in order of time.
class TurnFinder {
 public:
  TurnFinder(const Workload& workload, const SessionInference& options)
      : workload_(workload),
        window_ns_(options.window_ns),
        common_(common_blocks(workload, options.common_share)),
        ended_(workload.unique_blocks(), kNoIndex),
        open_(workload.unique_blocks(), kNoIndex),
        below_(workload.size(), kNoIndex) {}

  /// The request that `request` continues, or kNoIndex; that one is then taken.
  std::uint32_t predecessor(std::uint32_t request) {
    const auto arrival = workload_.columns().arrival_ns;
    for (; arrival[seen_] < arrival[request]; ++seen_) note_end(seen_);
    const Chain full = workload_.full_chain(RequestId{request});
    for (std::size_t length = full.size(); length > 0; --length) {
      const std::uint32_t block = raw(full[length - 1]);
      if (!continues(request, full.first(length), ended_[block])) continue;
      const std::uint32_t before = open_[block];
      if (!continues(request, full.first(length), before)) return kNoIndex;
      open_[block] = below_[before];
      return before;
    }
    return kNoIndex;
  }

 private:
  void note_end(std::uint32_t request) {
    const Chain full = workload_.full_chain(RequestId{request});
    if (full.empty() || common_[raw(full.back())]) return;
    const std::uint32_t block = raw(full.back());
    below_[request] = open_[block];
    open_[block] = ended_[block] = request;
  }

  bool continues(std::uint32_t request, Chain prefix, std::uint32_t before) const {
    if (before == kNoIndex) return false;
    const WorkloadColumns& c = workload_.columns();
    return c.arrival_ns[request] - c.arrival_ns[before] <= window_ns_ &&
           c.input_tokens[request] > c.input_tokens[before] &&
           std::ranges::equal(workload_.full_chain(RequestId{before}), prefix);
  }

  const Workload& workload_;
  std::int64_t window_ns_;
  std::vector<bool> common_;
  std::uint32_t seen_ = 0;            ///< requests before this one have been noted
  std::vector<std::uint32_t> ended_;  ///< by last full block: the latest request that ended there
  std::vector<std::uint32_t> open_;   ///< the latest such without a successor; below_ has the next
  std::vector<std::uint32_t> below_;
};

/// The columns that are new beside the workload that has the others.
struct WithSessions final : WorkloadStorage {
  explicit WithSessions(Workload workload) : original(std::move(workload)) {}
  Workload original;
  std::vector<std::uint32_t> session;
  std::vector<std::uint32_t> after_begin{0};
  std::vector<RequestId> after;
};

InferredSessions link_turns(const Workload& workload, const SessionInference& options,
                            WithSessions& out) {
  TurnFinder finder(workload, options);
  InferredSessions found;
  std::vector<bool> placed(workload.size(), false);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const std::uint32_t before = finder.predecessor(i);
    if (before == kNoIndex) {
      out.session.push_back(static_cast<std::uint32_t>(found.sessions++));
    } else {
      out.session.push_back(out.session[before]);
      out.after.push_back(RequestId{before});
      found.placed += placed[before] ? 1 : 2;
      placed[before] = placed[i] = true;
    }
    out.after_begin.push_back(static_cast<std::uint32_t>(out.after.size()));
  }
  found.share = static_cast<double>(found.placed) / std::max(1U, workload.size());
  return found;
}

}  // namespace

Workload infer_sessions(Workload workload, const SessionInference& options) {
  WorkloadSource source = workload.source();
  WorkloadColumns columns = workload.columns();
  auto owned = std::make_unique<WithSessions>(std::move(workload));
  if (!columns.session.empty() || !columns.after_begin.empty()) {
    source.notes.push_back("sessions are the trace's own; none are inferred");
    return Workload(std::move(owned), columns, std::move(source));
  }
  const InferredSessions found = link_turns(owned->original, options, *owned);
  source.notes.push_back(
      fmt::format("sessions inferred from prefixes: {} sessions, {:.1f}% of requests in a session "
                  "of two or more turns (window {} s, blocks that more than {}% of conversations "
                  "share ignored)",
                  found.sessions, 100 * found.share, static_cast<double>(options.window_ns) / 1e9,
                  100 * options.common_share));
  source.inferred_sessions = found;
  columns.session = owned->session;
  columns.after_begin = owned->after_begin;
  columns.after = owned->after;
  return Workload(std::move(owned), columns, std::move(source));
}

}  // namespace spillway

#include "traces/generate/trace_fit.hpp"

#include <algorithm>

namespace spillway {

namespace {

/// Goes through the trace in order and remembers who used each block last.
class Fitting {
 public:
  explicit Fitting(const Workload& w)
      : w_(w), last_user_(w.unique_blocks(), kNoIndex), uses_(w.unique_blocks(), 0) {}

  TraceFit run() {
    std::vector<FittedTurn> turns(w_.size());
    std::vector<std::vector<std::uint32_t>> rows;  // of each session
    session_of_.resize(w_.size());
    place_.resize(w_.size());
    std::vector<std::uint32_t> named;  // the trace's session -> ours
    for (std::uint32_t row = 0; row < w_.size(); ++row) {
      const Link link = link_of(RequestId{row});
      std::uint32_t session = kNoIndex;
      if (w_.has_sessions()) {
        const std::uint32_t name = w_.columns().session[row];
        if (name >= named.size()) named.resize(name + 1, kNoIndex);
        session = named[name];
        if (session == kNoIndex) named[name] = static_cast<std::uint32_t>(rows.size());
      } else if (link.continues) {
        session = session_of_[link.parent];
      }
      if (session == kNoIndex) {
        session = static_cast<std::uint32_t>(rows.size());
        rows.emplace_back();
      }
      session_of_[row] = session;
      place_[row] = static_cast<std::uint32_t>(rows[session].size());
      turns[row] = turn_of(RequestId{row}, link, rows[session]);
      rows[session].push_back(row);
      use(RequestId{row});
    }
    return assemble(turns, rows);
  }

 private:
  struct Link {
    std::uint32_t depth = 0;
    std::uint32_t parent = kNoIndex;  ///< last user of the deepest block seen before
    std::uint32_t uses = 0;
    std::uint32_t fresher = 0;
    std::uint32_t beyond = 0;
    bool continues = false;  ///< only the parent had it, and little of the parent is left out
  };

  Link link_of(RequestId r) const {
    Link link;
    const auto chain = w_.chain(r);
    while (link.depth < chain.size() && uses_[raw(chain[link.depth])] > 0) ++link.depth;
    if (link.depth == 0) return link;
    const TraceBlockId deepest = chain[link.depth - 1];
    link.parent = last_user_[raw(deepest)];
    link.uses = uses_[raw(deepest)];
    while (last_user_[raw(chain[link.fresher])] != link.parent) ++link.fresher;
    const auto parent = w_.chain(RequestId{link.parent});
    if (link.depth < parent.size()) link.beyond = uses_[raw(parent[link.depth])];
    link.continues = link.uses == 1 && link.depth + 1 >= parent.size();
    return link;
  }

  FittedTurn turn_of(RequestId r, const Link& link,
                     const std::vector<std::uint32_t>& before) const {
    FittedTurn turn;
    const auto blocks = static_cast<std::uint32_t>(w_.chain(r).size());
    if (!before.empty()) turn.rows_since = raw(r) - before.back();
    turn.depth = link.depth;
    turn.added = blocks - link.depth;
    turn.slack = static_cast<std::int32_t>(std::int64_t{w_.input_tokens(r)} -
                                           std::int64_t{blocks} * w_.block_tokens());
    turn.output_tokens = w_.output_tokens(r);
    turn.think_ns = w_.think_ns(r);
    if (link.depth == 0) return turn;
    const RequestId parent{link.parent};
    turn.left = static_cast<std::int32_t>(w_.full_chain(parent).size()) -
                static_cast<std::int32_t>(link.depth);
    turn.gap = raw(r) - link.parent;
    turn.uses = link.uses;
    turn.fresher = link.fresher;
    turn.beyond = link.beyond;
    turn.prefix = FittedTurn::Prefix::kShared;
    if (!before.empty() && session_of_[link.parent] == session_of_[raw(r)]) {
      turn.prefix = FittedTurn::Prefix::kSession;
      turn.back = static_cast<std::uint32_t>(before.size()) - place_[link.parent];
    }
    return turn;
  }

  void use(RequestId r) {
    for (const TraceBlockId id : w_.chain(r)) {
      last_user_[raw(id)] = raw(r);
      ++uses_[raw(id)];
    }
  }

  TraceFit assemble(const std::vector<FittedTurn>& turns,
                    const std::vector<std::vector<std::uint32_t>>& rows) const {
    const WorkloadColumns& c = w_.columns();
    TraceFit fit;
    fit.block_tokens = w_.block_tokens();
    fit.identified = w_.references() > 0;
    fit.sessions = w_.has_sessions();
    fit.tenants = static_cast<std::uint32_t>(w_.source().tenants.size());
    fit.first_ns = c.arrival_ns.front();
    for (std::size_t i = 1; i < c.arrival_ns.size(); ++i) {
      fit.gaps_ns.push_back(c.arrival_ns[i] - c.arrival_ns[i - 1]);
    }
    for (const auto& session : rows) {
      const auto begin = static_cast<std::uint32_t>(fit.turns.size());
      for (const std::uint32_t row : session) fit.turns.push_back(turns[row]);
      fit.by_start.push_back({session.front(), begin, static_cast<std::uint32_t>(fit.turns.size()),
                              c.tenant.empty() ? 0 : c.tenant[session.front()]});
    }
    return fit;
  }

  const Workload& w_;
  std::vector<std::uint32_t> last_user_;  ///< of each block
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> session_of_;  ///< of each row
  std::vector<std::uint32_t> place_;       ///< in its session
};

}  // namespace

TraceFit fit_trace(const Workload& workload) {
  return Fitting(workload).run();
}

}  // namespace spillway

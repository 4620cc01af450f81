#include "traces/reshape/workload_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/rng.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/reshape/workload_sessions.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

WorkloadSource noted(const Workload& workload, std::string note) {
  WorkloadSource source = workload.source();
  source.notes.push_back(std::move(note));
  return source;
}

constexpr std::uint64_t joined(std::uint64_t high, std::uint64_t low) {
  return (high << 32) | low;
}

// --- Reuse ---------------------------------------------------------------

/// Which requests lose their reuse, and what their blocks are called then.
class LostReuse {
 public:
  LostReuse(const Workload& workload, const WorkloadSessions& sessions, std::uint64_t seed)
      : workload_(workload) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lines;
    std::vector<bool> seen(workload.unique_blocks(), false);
    for (std::uint32_t r = 0; r < workload.size(); ++r) {
      const auto chain = workload.chain(RequestId{r});
      const std::uint32_t root = chain.empty() ? 0 : raw(chain.front());
      const auto next = static_cast<std::uint32_t>(lines.size());
      line_.push_back(lines.emplace(std::pair{sessions.of[r], root}, next).first->second);
      const bool finds = !chain.empty() && seen[root];
      draw_.push_back(finds ? Stream(seed, "growth reuse", r).uniform() : kNever);
      for (const TraceBlockId id : chain) seen[raw(id)] = true;
    }
    lines_ = static_cast<std::uint32_t>(lines.size());
  }

  /// The name of each request's blocks where those with draws below `lost` are fresh: the request
  /// at which its session last began anew, plus one; 0: as recorded.
  std::vector<std::uint32_t> epochs(double lost) const {
    std::vector<std::uint32_t> now(lines_, 0);
    std::vector<std::uint32_t> out;
    for (std::uint32_t r = 0; r < workload_.size(); ++r) {
      std::uint32_t& epoch = now[line_[r]];
      if (draw_[r] < lost) epoch = r + 1;
      out.push_back(epoch);
    }
    return out;
  }

  /// The largest share of losers that leaves `reuse` of the hits, nearly.
  double share_for(double reuse) const {
    const auto all = static_cast<double>(hits(0));
    double low = 0;
    double high = 1;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      const double left = static_cast<double>(hits(middle)) - reuse * all;
      if (std::fabs(left) <= kNear * reuse * all) return middle;
      (left > 0 ? low : high) = middle;
    }
    return high;
  }

 private:
  static constexpr double kNever = 2;  ///< above every share
  static constexpr int kHalvings = 20;
  static constexpr double kNear = 0.005;

  std::uint64_t hits(double lost) const {
    Interner blocks;
    const std::vector<std::uint32_t> epoch = epochs(lost);
    for (std::uint32_t r = 0; r < workload_.size(); ++r) {
      for (const TraceBlockId id : workload_.chain(RequestId{r})) {
        blocks.intern(joined(epoch[r], raw(id)));
      }
    }
    return workload_.references() - blocks.size();
  }

  const Workload& workload_;
  std::vector<std::uint32_t> line_;  ///< of each request: its session and how its prompt begins
  std::vector<double> draw_;
  std::uint32_t lines_ = 0;
};

Workload with_reuse(const Workload& workload, const WorkloadSessions& sessions, double reuse,
                    std::uint64_t seed) {
  const LostReuse lost(workload, sessions, seed);
  const std::vector<std::uint32_t> epoch = lost.epochs(lost.share_for(reuse));
  WorkloadBuilder builder(workload.source().name, workload.block_tokens());
  TraceRow row;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    put_row(workload, RequestId{r}, row);
    for (std::uint64_t& id : row.blocks) id = joined(epoch[r], id);
    builder.add(row);
  }
  std::uint32_t losers = 0;
  for (std::uint32_t r = 0; r < workload.size(); ++r) losers += epoch[r] == r + 1 ? 1 : 0;
  return builder.build(
      noted(workload, fmt::format("growth.reuse {:.6g}: {} of {} requests lose what they share",
                                  reuse, losers, workload.size())));
}

// --- Context -------------------------------------------------------------

std::int64_t scaled_tokens(std::int64_t tokens, double factor) {
  const double scaled = std::floor(static_cast<double>(tokens) * factor + 0.5);
  if (scaled > static_cast<double>(kMaxTokens)) {
    throw InputError(
        Fault::kUsage, {"", 0, "growth.context"},
        fmt::format("{} tokens become {:.0f}; expected at most {}", tokens, scaled, kMaxTokens));
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(scaled));
}

/// The old block in which the last token of new block `index` lies.
std::size_t last_touched(std::size_t index, double factor) {
  const double end = std::ceil(static_cast<double>(index + 1) / factor);
  return static_cast<std::size_t>(std::max(end, 1.0)) - 1;
}

/// `row` is of request `r`, with its tokens as recorded.
void scale_context(const Workload& workload, std::uint32_t r, double factor, TraceRow& row) {
  constexpr std::uint64_t kUnnamed = std::uint64_t{1} << 63;  // no recorded block says it
  const auto block = static_cast<std::int64_t>(workload.block_tokens());
  const std::int64_t before = row.input_tokens;
  row.input_tokens = scaled_tokens(row.input_tokens, factor);
  row.output_tokens = scaled_tokens(row.output_tokens, factor);
  const std::vector<std::uint64_t> old = std::exchange(row.blocks, {});
  const auto full_before = static_cast<std::size_t>(before / block);
  const auto full = static_cast<std::size_t>(row.input_tokens / block);
  const bool partial = old.size() > full_before && row.input_tokens % block > 0;
  for (std::size_t i = 0; i < full + (partial ? 1 : 0); ++i) {
    const std::size_t touched = last_touched(i, factor);
    if (touched < old.size()) {
      row.blocks.push_back(joined(i, old[touched]));
    } else if (old.size() >= full_before && !old.empty()) {
      row.blocks.push_back(kUnnamed | (std::uint64_t{r} << 25) | i);
    } else {
      break;  // the trace names fewer blocks than there are
    }
  }
}

Workload with_context(const Workload& workload, double factor) {
  WorkloadBuilder builder(workload.source().name, workload.block_tokens());
  TraceRow row;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    put_row(workload, RequestId{r}, row);
    scale_context(workload, r, factor, row);
    builder.add(row);
  }
  return builder.build(
      noted(workload, fmt::format("growth.context {:.6g}: as many times the tokens", factor)));
}

// --- Rate and tenants ----------------------------------------------------

/// Sessions that stay and sessions that join.
class Superposition {
 public:
  Superposition(const Workload& workload, const WorkloadSessions& sessions,
                const WorkloadGrowth& growth, std::uint64_t seed)
      : workload_(workload),
        sessions_(sessions),
        growth_(growth),
        seed_(seed),
        kept_(sessions.count(), false) {
    double left = growth.tenants;
    for (std::uint32_t population = 0; left > 0; ++population, left -= 1) {
      const double each = std::min(left, 1.0) * growth.rate;
      for (std::uint32_t s = 0; s < sessions_.count(); ++s) add_at(population, s, each);
    }
    if (rows_.empty()) {
      throw InputError(Fault::kUsage, {"", 0, "growth.rate"},
                       fmt::format("{} of {} sessions leave none; expected a larger share",
                                   growth.rate, sessions_.count()));
    }
    std::ranges::stable_sort(rows_, {}, &Row::arrival_ns);
  }

  Workload build() const {
    WorkloadBuilder builder(workload_.source().name, workload_.block_tokens());
    TraceRow row;
    for (const Row& from : rows_) {
      put_row(workload_, RequestId{from.request}, row);
      row.arrival_ns = from.arrival_ns;
      if (row.session) row.session = joined(from.instance, *row.session);
      if (row.id) row.id = joined(from.instance, *row.id);
      std::erase_if(row.after, [&](std::uint64_t r) {
        return from.instance == 0 ? !kept_[sessions_.of[r]]
                                  : sessions_.of[r] != sessions_.of[from.request];
      });
      for (std::uint64_t& r : row.after) r = joined(from.instance, r);
      for (std::uint64_t& id : row.blocks) {
        id = joined(sessions_.shared[id] ? shared_by(from.population) : from.instance, id);
      }
      if (from.population > 0 && !row.tenant.empty()) {
        row.tenant += fmt::format("+{}", from.population);
      }
      builder.add(row);
    }
    return builder.build(noted(
        workload_, fmt::format("growth.rate {:.6g}, growth.tenants {:.6g}: {} requests of {}",
                               growth_.rate, growth_.tenants, rows_.size(), workload_.size())));
  }

 private:
  struct Row {
    std::int64_t arrival_ns;
    std::uint32_t instance;  ///< which session this is of; 0: a recorded one
    std::uint32_t population;
    std::uint32_t request;
  };

  /// Apart from all numbers of sessions but 0.
  static std::uint64_t shared_by(std::uint32_t population) {
    return population == 0 ? 0 : (std::uint64_t{1} << 31) + population;
  }

  /// The sessions of `population` at the place of session `s`, `many` on average.
  void add_at(std::uint32_t population, std::uint32_t s, double many) {
    const double whole = std::floor(many);
    const std::uint64_t place = joined(population, s);
    const bool another = Stream(seed_, "growth rate", place).uniform() < many - whole;
    const auto count = static_cast<std::uint32_t>(whole) + (another ? 1 : 0);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (population == 0 && i == 0) {
        kept_[s] = true;
        add(s, 0, 0, 0);
        continue;
      }
      Stream stream(seed_, "growth session", (std::uint64_t{i} << 48) ^ place);
      const std::vector<std::uint32_t>& members = sessions_.like(s);
      const std::uint32_t drawn = members[stream.below(members.size())];
      add(drawn, moved_ns(population, i, s) - sessions_.start_ns[drawn], ++instances_, population);
    }
  }

  /// The start of session `s`, moved around its stretch with all others of the stretch: by as much
  /// for all of one copy, so that bursts stay bursts, and apart from the recorded ones.
  std::int64_t moved_ns(std::uint32_t population, std::uint32_t copy, std::uint32_t s) const {
    const auto [from, to] = sessions_.stretch(s);
    if (to <= from) return sessions_.start_ns[s];
    const auto length = static_cast<std::uint64_t>(to - from);
    Stream stream(seed_, "growth offset",
                  mix64(joined(population, copy)) ^ static_cast<std::uint64_t>(from));
    const auto at = static_cast<std::uint64_t>(sessions_.start_ns[s] - from);
    return from + static_cast<std::int64_t>((at + stream.below(length)) % length);
  }

  void add(std::uint32_t session, std::int64_t shift, std::uint32_t instance,
           std::uint32_t population) {
    for (const std::uint32_t r : sessions_.requests[session]) {
      rows_.push_back({workload_.columns().arrival_ns[r] + shift, instance, population, r});
    }
  }

  const Workload& workload_;
  const WorkloadSessions& sessions_;
  const WorkloadGrowth& growth_;
  std::uint64_t seed_;
  std::uint32_t instances_ = 0;
  std::vector<bool> kept_;  ///< recorded sessions
  std::vector<Row> rows_;
};

}  // namespace

Workload grow_workload(const Workload& workload, const WorkloadGrowth& growth, std::uint64_t seed) {
  KV_ASSERT(growth.rate > 0 && growth.context > 0 && growth.reuse >= 0 && growth.reuse <= 1 &&
                growth.tenants >= 1,
            "growth by {}, {}, {}, {}", growth.rate, growth.context, growth.reuse, growth.tenants);
  std::vector<std::uint32_t> all(workload.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  if (!growth.any()) return select_rows(workload, all);
  WorkloadSessions sessions = find_sessions(workload);
  Workload out(nullptr, workload.columns(), workload.source());
  if (growth.reuse < 1) out = with_reuse(out, sessions, growth.reuse, seed);
  if (growth.context != 1) out = with_context(out, growth.context);
  if (growth.rate != 1 || growth.tenants != 1) {
    find_shared_blocks(out, sessions);
    out = Superposition(out, sessions, growth, seed).build();
  }
  return out;
}

}  // namespace spillway

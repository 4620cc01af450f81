#include "scenarios/experiment/compare/account.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/compare_report.hpp"
#include "reports/format.hpp"
#include "reports/metric_words.hpp"

namespace spillway {

namespace {

using Unit = MovedQuantity::Unit;

constexpr double kWorthNaming = 0.005;  // of the quantity's whole
constexpr std::size_t kMostNamed = 3;

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

TurnClasses::TurnClasses(const Workload& workload) : is_later_(workload.size(), false) {
  const auto session = workload.columns().session;
  std::vector<bool> seen(workload.size(), false);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    bool later = !workload.after(RequestId{r}).empty();
    if (!session.empty()) {
      later = later || seen[session[r]];
      seen[session[r]] = true;
    }
    is_later_[r] = later;
    any_later_ = any_later_ || later;
  }
}

void TurnClasses::on_request(const RequestRecord& record) {
  if (record.warmup || record.status != RequestStatus::kCompleted) return;
  Class& of = classes_[is_later_[raw(record.request)] ? 1 : 0];
  of.input_tokens += record.input_tokens;
  for (const std::uint32_t tokens : record.cached_tokens) of.cached_tokens += tokens;
}

double TurnClasses::Class::share() const {
  return ratio(static_cast<double>(cached_tokens), static_cast<double>(input_tokens));
}

std::vector<RunQuantity> account_of(const RunResult& run, const TurnClasses* turns) {
  std::vector<RunQuantity> out;
  const auto prompt = static_cast<double>(run.input_tokens);
  const auto requests = static_cast<double>(std::max<std::uint64_t>(1, run.requests));
  for (std::size_t i = 1; i < run.prompt_tokens_by_source.size(); ++i) {
    const auto& [name, tokens] = run.prompt_tokens_by_source[i];
    out.push_back({"prompt tokens from " + name, Unit::kShare,
                   ratio(static_cast<double>(tokens), prompt), 1});
  }
  if (turns != nullptr && turns->any_later()) {
    out.push_back({"cached share of first turns", Unit::kShare, turns->first().share(), 1});
    out.push_back({"cached share of later turns", Unit::kShare, turns->later().share(), 1});
  }
  double moved = 0;
  for (const LinkResult& link : run.links) {
    if (!link.medium) moved += static_cast<double>(link.bytes);  // a medium's are its links'
  }
  for (const LinkResult& link : run.links) {
    out.push_back(
        {"bytes over " + link.name, Unit::kBytes, static_cast<double>(link.bytes), moved});
    out.push_back({"busy time of " + link.name, Unit::kShare, link.busy_fraction, 1});
  }
  out.push_back(
      {"steps stalled by stores", Unit::kShare, ratio(run.flush_stall_s, run.duration_s), 1});
  if (run.load_wait) {
    out.push_back({"steps that waited for loads", Unit::kShare,
                   ratio(run.load_wait->stall_s, run.duration_s), 1});
  }
  if (run.connector_s) {
    out.push_back({"steps lengthened by the connector", Unit::kShare,
                   ratio(*run.connector_s, run.duration_s), 1});
  }
  if (run.copy_harm_s) {
    out.push_back(
        {"steps lengthened by copies", Unit::kShare, ratio(*run.copy_harm_s, run.duration_s), 1});
  }
  out.push_back({"deferrals", Unit::kEach, static_cast<double>(run.deferrals) / requests, 1});
  out.push_back({"preemptions", Unit::kEach, static_cast<double>(run.preemptions) / requests, 1});
  out.push_back({"recomputed tokens", Unit::kShare,
                 ratio(static_cast<double>(run.recomputed_tokens), prompt), 1});
  out.push_back(
      {"mean wait in the queue", Unit::kMilliseconds, run.queue_time.mean_ms, run.ttft.mean_ms});
  return out;
}

std::vector<MovedQuantity> moved_quantities(const std::vector<std::vector<RunQuantity>>& variant,
                                            const std::vector<std::vector<RunQuantity>>& baseline,
                                            Replication replication) {
  std::vector<MovedQuantity> out;
  const auto add_names = [&](const std::vector<RunQuantity>& from) {
    for (const RunQuantity& q : from) {
      const auto same = [&](const MovedQuantity& m) { return m.name == q.name; };
      if (std::any_of(out.begin(), out.end(), same)) continue;
      out.emplace_back();
      out.back().name = q.name;
      out.back().unit = q.unit;
    }
  };
  for (const auto& account : baseline) add_names(account);
  for (const auto& account : variant) add_names(account);

  for (MovedQuantity& m : out) {
    double whole = 0;
    const auto values_of = [&](const std::vector<std::vector<RunQuantity>>& accounts) {
      std::vector<double> values;
      double wholes = 0;
      for (const auto& account : accounts) {
        values.push_back(0);
        for (const RunQuantity& q : account) {
          if (q.name != m.name) continue;
          values.back() = q.value;
          wholes += q.whole;
        }
      }
      whole = std::max(whole, wholes / static_cast<double>(accounts.size()));
      return values;
    };
    const std::vector<double> before = values_of(baseline);
    const std::vector<double> after = values_of(variant);
    m.baseline = mean_of(before);
    m.variant = mean_of(after);
    m.difference = paired_difference(after, before, replication);
    m.movement = ratio(m.difference.mean, whole);
  }
  return out;
}

std::string reason_of(const ComparedMetric& metric, std::vector<MovedQuantity>& moved) {
  std::vector<MovedQuantity*> most;
  for (MovedQuantity& m : moved) {
    const auto& interval = m.difference.interval;
    const bool sure = !interval || interval->low > 0 || interval->high < 0;
    if (sure && std::fabs(m.movement) >= kWorthNaming) most.push_back(&m);
  }
  std::stable_sort(most.begin(), most.end(), [](const MovedQuantity* a, const MovedQuantity* b) {
    return std::fabs(a->movement) > std::fabs(b->movement);
  });
  if (most.size() > kMostNamed) most.resize(kMostNamed);
  std::vector<std::string> parts;
  for (MovedQuantity* m : most) {
    m->named = true;
    parts.push_back(fmt::format("{} {} -> {}", m->name, quantity_text(m->unit, m->baseline),
                                quantity_text(m->unit, m->variant)));
  }
  const double before = metric.mean - metric.difference.mean;
  const std::string name = metric_words(metric.name);
  std::string change = format_real(std::fabs(metric.difference.mean));
  if (before != 0) change = format_percent(std::fabs(metric.difference.mean / before));
  const char* way = metric.difference.mean < 0 ? "lower" : "higher";
  if (metric.verdict == Verdict::kUndecided) {
    // What moved for certain explains nothing that may be chance.
    const std::string open =
        fmt::format("{} is {} {} on average, which may be chance", name, change, way);
    return parts.empty() ? open
                         : fmt::format("{}; what did move: {}", open, fmt::join(parts, ", "));
  }
  const std::string head = !metric.difference.any ? fmt::format("{} is the same", name)
                                                  : fmt::format("{} is {} {}", name, change, way);
  if (!metric.difference.any && !parts.empty()) {
    return fmt::format("{}; what did move: {}", head, fmt::join(parts, ", "));
  }
  if (parts.empty()) return head + "; no source, transfer or stall moved with it";
  return fmt::format("{}; that goes with {}", head, fmt::join(parts, ", "));
}

}  // namespace spillway

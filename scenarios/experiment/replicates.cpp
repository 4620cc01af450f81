#include "scenarios/experiment/replicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/decimal.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr double kBeyond = 20;                // requests that a tail percentile rests on
constexpr std::uint32_t kMostDraws = 10'000;  // of one recording in a row
constexpr std::uint64_t kMostGenerated = 1'000'000'000;
constexpr int kSeedBits = 11;  // above the 53 that a seed has in JSON

Workload view_of(const Workload& workload) {
  return {nullptr, workload.columns(), workload.source()};
}

/// When the request is due in a run, in seconds, by the recorded clock.
double recorded_s(const Scenario& s, const Workload& workload, RequestId r) {
  return seconds_of(workload.arrival(r)) / to_double(s.workload->arrival.speed);
}

/// Requests that arrive before workload.warmup_s.
std::uint64_t warming_up(const Scenario& s, const Workload& workload) {
  const double until_s = seconds_of(s.workload->warmup);
  std::uint32_t r = 0;
  while (r < workload.size() && recorded_s(s, workload, RequestId{r}) < until_s) ++r;
  return r;
}

/// Requests of a recording once it has grown.
double grown_size(const Scenario& s, const Workload& workload) {
  return workload.size() * s.workload->growth.rate * s.workload->growth.tenants;
}

}  // namespace

std::uint64_t requests_needed(const std::vector<SloTarget>& slo) {
  std::uint64_t most = 0;
  for (const SloTarget& target : slo) {
    double beyond = 0;  // share of the requests
    if (target.name.starts_with("median_")) beyond = 0.5;
    if (target.name.starts_with("p90_")) beyond = 0.1;
    if (target.name.starts_with("p95_")) beyond = 0.05;
    if (target.name.starts_with("p99_")) beyond = 0.01;
    if (beyond == 0) continue;
    most = std::max(most, static_cast<std::uint64_t>(std::ceil(kBeyond / beyond - 1e-9)));
  }
  return most;
}

std::string workload_identity(const Scenario& s) {
  const nlohmann::json described = resolved_configuration(s)["workload"];
  nlohmann::json key = {{"files", s.workload->files()},
                        {"seed", s.seed},
                        {"limit", s.workload->limit},
                        {"requests", s.workload->replication.requests}};
  if (!s.workload->generated()) key["wait"] = s.workload->arrival.wait;  // read from traces only
  for (const char* part : {"synthetic", "benchmark", "block_tokens", "lenient", "reuse",
                           "session_interval_s", "growth"}) {
    if (described.contains(part)) key[part] = described[part];
  }
  const GrowthChoice& g = s.workload->growth;
  key["growth"] = {g.rate, g.context, g.reuse, g.tenants};
  return key.dump();
}

Replicates::Replicates(const Scenario& scenario, std::uint32_t count, std::uint32_t users,
                       const ReadProgress& reading, std::uint64_t least)
    : scenario_(scenario), count_(count), least_(least) {
  prepare(users, reading);
}

Replicates::Replicates(const Scenario& scenario, const Workload& workload, std::uint32_t count,
                       std::uint32_t users, const ReadProgress& reading, std::uint64_t least)
    : scenario_(scenario), count_(count), least_(least), original_(&workload) {
  prepare(users, reading);
}

void Replicates::prepare(std::uint32_t users, const ReadProgress& reading) {
  const WorkloadChoice& w = *scenario_.workload;
  if (w.replication.requests > 0) least_ = w.replication.requests;
  const bool draws = !w.generated() && (count_ > 1 || !w.days.empty());
  if (draws) {
    open_days(reading);
  } else if (original_ == nullptr) {
    opened_ = open_workload(scenario_, reading);
    original_ = &*opened_;
  }
  for (std::uint32_t i = 0; i < count_ + (resampled() ? 1 : 0); ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->users = users;
  }
}

void Replicates::open_days(const ReadProgress& reading) {
  Scenario recorded = scenario_;
  recorded.workload->growth = {};
  const bool grows = scenario_.workload->growth.any();
  if (original_ != nullptr && !grows) {
    days_.push_back(view_of(*original_));
  } else {
    days_.push_back(open_workload(recorded, reading));
  }
  if (original_ == nullptr) {
    if (grows) opened_ = grown(days_.front(), scenario_.workload->growth, scenario_.seed);
    original_ = grows ? &*opened_ : &days_.front();
  }
  for (const std::string& day : scenario_.workload->days) {
    recorded.workload->trace = day;
    days_.push_back(open_workload(recorded, reading));
  }
  for (const Workload& day : days_) draws_.push_back(draws_of(day));
  // One recording stands for itself in no replicate; several do, if all are long enough.
  if (days_.size() > 1 && std::ranges::all_of(draws_, [](std::uint32_t d) { return d == 1; })) {
    whole_days_ = static_cast<std::uint32_t>(days_.size());
  }
  if (count_ <= whole_days_ || count_ == 1) return;
  for (const Workload& day : days_) bootstraps_.emplace_back(day);
}

std::uint32_t Replicates::draws_of(const Workload& day) const {
  if (least_ == 0) return 1;
  const double size = grown_size(scenario_, day);
  const auto wanted = static_cast<double>(least_ + warming_up(scenario_, day));
  auto draws = static_cast<std::uint64_t>(std::ceil(wanted / size));
  if (scenario_.workload->arrival.horizon != Time::max()) {  // nothing behind it is measured
    const double last_s = recorded_s(scenario_, day, RequestId{day.size() - 1});
    const double until_s = seconds_of(scenario_.workload->arrival.horizon);
    if (last_s >= until_s) return 1;
    if (last_s > 0) draws = std::min(draws, static_cast<std::uint64_t>(until_s / last_s) + 1);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(draws, 1, kMostDraws));
}

bool Replicates::may_be_longer() const {
  return scenario_.workload->synthetic.has_value() || !bootstraps_.empty();
}

double Replicates::length() const {
  if (!resampled()) return 1;
  double sum = 0;
  for (const std::uint32_t draws : draws_) sum += draws;
  const auto days = static_cast<double>(days_.size());
  return sum / days / days;
}

const Workload& Replicates::get(std::uint32_t index) {
  Slot& slot = *slots_[index];
  std::call_once(slot.once, [&] {
    slot.workload = make(index);
    if (index != recording())
      slot.hash = (slot.workload ? *slot.workload : original()).content_hash();
  });
  return slot.workload ? *slot.workload : original();
}

std::optional<Workload> Replicates::make(std::uint32_t index) const {
  const GrowthChoice& growth = scenario_.workload->growth;
  if (index == recording()) return std::nullopt;
  if (scenario_.workload->synthetic) {
    if (index == 0 && !lengthened()) return std::nullopt;
    return generated(seed(index), generated_requests());
  }
  if (scenario_.workload->benchmark) {
    if (index == 0) return std::nullopt;
    return generated(seed(index), 0);
  }
  if (count_ == 1 || (index == 0 && whole_days_ > 0)) return std::nullopt;
  if (index < whole_days_) {
    const Workload& day = days_[index];
    return growth.any() ? grown(day, growth, seed(index)) : view_of(day);
  }
  const std::size_t day = index % days_.size();
  Workload drawn = bootstraps_[day].replicate(scenario_.seed, index, draws_[day]);
  return growth.any() ? grown(drawn, growth, seed(index)) : std::move(drawn);
}

Workload Replicates::generated(std::uint64_t seed, std::uint64_t requests) const {
  Scenario other = scenario_;
  other.seed = seed;
  if (auto& benchmark = other.workload->benchmark) {
    // The scenario's own run has the tool's seed, each other one a seed of its own.
    benchmark->seed = static_cast<std::uint32_t>(benchmark->seed.value_or(0) + seed);
    return open_workload(other, {});
  }
  other.workload->limit = 0;
  other.workload->synthetic->requests =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(requests, kMostGenerated));
  return open_workload(other, {});
}

/// Hashed: a plan of another seed, be it the next, shares none of them.
std::uint64_t Replicates::longer_seed(std::uint32_t index, std::uint32_t length) const {
  const std::uint64_t number = (std::uint64_t{length} << 32) | index;
  return mix64(mix64(scenario_.seed + 1) + number) >> kSeedBits;
}

Workload Replicates::longer(std::uint32_t index, std::uint32_t length) const {
  const GrowthChoice& growth = scenario_.workload->growth;
  const std::uint64_t seed = longer_seed(index, length);
  if (scenario_.workload->synthetic) {
    return generated(seed, std::uint64_t{generated_requests()} * length);
  }
  const std::size_t day = index % days_.size();
  const std::uint64_t draws = std::uint64_t{draws_[day]} * length;
  Workload drawn = bootstraps_[day].replicate(
      seed, index, static_cast<std::uint32_t>(std::min<std::uint64_t>(draws, kMostDraws)));
  return growth.any() ? grown(drawn, growth, seed) : std::move(drawn);
}

bool Replicates::lengthened() const {
  const WorkloadChoice& w = *scenario_.workload;
  const std::uint32_t own =
      w.limit > 0 ? std::min(w.limit, w.synthetic->requests) : w.synthetic->requests;
  return generated_requests() > own;
}

/// Before growth.
std::uint32_t Replicates::generated_requests() const {
  const WorkloadChoice& w = *scenario_.workload;
  std::uint32_t out = w.synthetic->requests;
  if (w.limit > 0) out = std::min(out, w.limit);
  if (least_ == 0) return out;
  const double each = w.growth.rate * w.growth.tenants;
  const double wanted =
      std::ceil(static_cast<double>(least_ + warming_up(scenario_, original())) / each);
  return std::max(
      out, static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(kMostGenerated))));
}

void Replicates::done(std::uint32_t index) {
  Slot& slot = *slots_[index];
  if (--slot.users == 0) slot.workload.reset();
}

std::string Replicates::method() const {
  const WorkloadChoice& w = *scenario_.workload;
  const std::string growth = w.growth.any() ? ", each grown by itself" : "";
  if (count_ == 1) return "the workload itself, once";
  if (w.synthetic) {
    return fmt::format("generated with seeds {} to {}{}{}", scenario_.seed, seed(count_ - 1),
                       lengthened() ? fmt::format(", {} requests each", generated_requests()) : "",
                       growth);
  }
  if (w.benchmark) return fmt::format("{} seeds of the benchmark tool{}", count_, growth);
  if (!resampled())
    return fmt::format("the first {} of {} recorded days{}", count_, days_.size(), growth);
  std::string out = bootstraps_.front().method();
  if (days_.size() > 1) {
    out = fmt::format("{}{} recorded days in turn, of each of which sessions are drawn again ({})",
                      whole_days_ > 0 ? "the recorded days, then " : "", days_.size(), out);
  }
  const auto [fewest, most] = std::ranges::minmax(draws_);
  if (most > 1) {
    out += fmt::format(
        ", {} times in a row for {} requests",
        fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most), least_);
  }
  return out + growth;
}

std::string Replicates::wider_claim() const {
  if (!resampled()) return "";
  return days_.size() > 1 ? fmt::format("traffic of which these {} days are samples", days_.size())
                          : "traffic of which this trace is one sample";
}

}  // namespace spillway

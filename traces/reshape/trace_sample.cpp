#include "traces/reshape/trace_sample.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "traces/reshape/balanced_choice.hpp"
#include "traces/reshape/sample_units.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr double kReported[] = {0.01, 0.05, 0.10, 0.25, 0.50};
constexpr double kDenseFrom = 0.01;
constexpr double kDenseStep = 1.1;

/// Largest units, in parts of the sample, and how many choices of each are measured.
constexpr double kUnitParts[] = {0.1, 0.6, 1.0};
constexpr std::uint32_t kChoices = 12;

constexpr std::uint32_t kTimes = 8;
constexpr std::uint32_t kDistances = 32;
enum Feature : std::uint32_t { kRequests, kReferences, kFirstUses, kOutput, kTime };
constexpr std::uint32_t kDistance = kTime + kTimes;
constexpr std::uint32_t kFeatures = kDistance + kDistances;

std::uint64_t rounded(double value) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(value + 0.5));
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Which eighth of the trace's time a request arrives in.
std::uint32_t eighth_of(const Workload& workload, std::uint32_t request) {
  const auto arrival = workload.columns().arrival_ns;
  const std::int64_t span = arrival.back() - arrival.front() + 1;
  const double part =
      static_cast<double>(arrival[request] - arrival.front()) / static_cast<double>(span);
  return std::min(kTimes - 1, static_cast<std::uint32_t>(part * kTimes));
}

/// What each unit adds, all in references: a request counts as a mean request's, and so on.
UnitFeatures features_of(const Workload& workload, const SampleUnits& units) {
  UnitFeatures out{units.count, kFeatures, std::vector<double>(units.count * kFeatures, 0)};
  const double references = static_cast<double>(std::max<std::uint64_t>(1, workload.references()));
  double output = 0;
  for (const std::uint32_t tokens : workload.columns().output_tokens) output += tokens;
  std::vector<std::uint64_t> last(workload.unique_blocks(), 0);
  std::uint64_t now = 0;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const auto chain = workload.chain(RequestId{r});
    const double length = static_cast<double>(chain.size());
    double* unit = out.of(units.of[r]);
    unit[kRequests] += references / workload.size();
    unit[kReferences] += length;
    unit[kOutput] += references * workload.output_tokens(RequestId{r}) / output;
    unit[kTime + eighth_of(workload, r)] += length;
    now += chain.size();
    for (const TraceBlockId id : chain) {
      std::uint64_t& before = last[raw(id)];
      // Distances in references stand for those in blocks, which grow with them.
      const auto distance = static_cast<std::uint32_t>(std::bit_width(now - before));
      unit[before == 0 ? kFirstUses : kDistance + std::min(distance, kDistances - 1)] += 1;
      before = now;
    }
  }
  return out;
}

/// Compares samples with their original.
class CurveCheck {
 public:
  CurveCheck(const Workload& workload, double share)
      : share_(share),
        blocks_(static_cast<double>(workload.unique_blocks())),
        original_(curve_of(workload)) {}

  static ReuseCurve curve_of(const Workload& workload) {
    return reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  }
  SampledRatio at(const ReuseCurve& sample, double part) const {
    SampledRatio out;
    out.capacity_blocks = rounded(part * blocks_);
    out.sample_blocks = rounded(share_ * static_cast<double>(out.capacity_blocks));
    out.original = ratio(original_.block.hits(out.capacity_blocks), original_.references);
    out.sample = ratio(sample.block.hits(out.sample_blocks), sample.references);
    return out;
  }
  double largest_difference(const ReuseCurve& sample) const {
    double largest = 0;
    const auto look = [&](double part) {
      const double difference = at(sample, part).difference();
      largest = std::max({largest, difference, -difference});
    };
    for (const double part : kReported) look(part);
    for (double part = kDenseFrom; part < 1; part *= kDenseStep) look(part);
    look(1);
    return largest;
  }

 private:
  double share_;
  double blocks_;
  ReuseCurve original_;
};

struct Candidate {
  std::vector<std::uint32_t> requests;
  double difference = 0;
  std::uint32_t units = 0;
  std::uint32_t chosen_units = 0;
};

Candidate candidate_of(const Workload& workload, const SampleUnits& units,
                       const std::vector<bool>& chosen, const CurveCheck& check) {
  Candidate out;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    if (chosen[units.of[r]]) out.requests.push_back(r);
  }
  out.difference =
      check.largest_difference(CurveCheck::curve_of(select_rows(workload, out.requests)));
  out.units = units.count;
  out.chosen_units = static_cast<std::uint32_t>(std::count(chosen.begin(), chosen.end(), true));
  return out;
}

std::vector<double> kept_by_time(const Workload& workload,
                                 const std::vector<std::uint32_t>& requests) {
  std::vector<std::uint64_t> all(kTimes, 0);
  std::vector<std::uint64_t> kept(kTimes, 0);
  const auto count = [&](std::vector<std::uint64_t>& in, std::uint32_t r) {
    in[eighth_of(workload, r)] += workload.chain(RequestId{r}).size();
  };
  for (std::uint32_t r = 0; r < workload.size(); ++r) count(all, r);
  for (const std::uint32_t r : requests) count(kept, r);
  std::vector<double> out;
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    if (all[i] > 0) out.push_back(ratio(kept[i], all[i]));
  }
  return out;
}

}  // namespace

TraceSample sample_trace(const Workload& workload, const SampleOptions& options) {
  const CurveCheck check(workload, options.share);
  std::optional<Candidate> best;
  std::uint32_t choices = 0;
  const auto good = [&] { return best && best->difference <= options.max_difference / 2; };
  for (const double part : kUnitParts) {
    if (good()) break;
    const SampleUnits units = sample_units(
        workload, rounded(part * options.share * static_cast<double>(workload.references())));
    const UnitFeatures features = features_of(workload, units);
    for (std::uint32_t i = 0; i < kChoices && !good(); ++i) {
      Stream random(options.seed, "sample", choices++);
      const std::vector<bool> chosen = balanced_choice(features, options.share, random);
      Candidate next = candidate_of(workload, units, chosen, check);
      if (!best || next.difference < best->difference) best = std::move(next);
    }
  }
  Workload sample = select_rows(workload, best->requests);
  const ReuseCurve curve = CurveCheck::curve_of(sample);
  TraceSample out{std::move(sample),
                  {},
                  best->difference,
                  kept_by_time(workload, best->requests),
                  best->units,
                  best->chosen_units,
                  choices};
  for (const double part : kReported) out.ratios.push_back(check.at(curve, part));
  return out;
}

}  // namespace spillway

#include "scenarios/fidelity/fit/serving_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/step_trail.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr int kMostRounds = 4;
constexpr double kSettled = 1e-3;  // of a parameter's range
constexpr std::size_t kPointsPerParameter = 4;
constexpr double kFarPoint = 0.25;  // off by more: told why
// A fit simulates some points again and again: of long answers, fewer of them.
constexpr std::uint32_t kFitTokens = 16'384;  // answered by each client
constexpr std::uint32_t kFitRequests = 3;     // by each client, at least

/// What a fit simulates of it, by client.
std::uint32_t fit_requests(const ServingPoint& point, const ServingOptions& options) {
  return std::min(options.requests_per_client,
                  std::max(kFitRequests, kFitTokens / point.output_tokens));
}

/// `each` requests of every client; nothing is shared between them.
Workload workload_of(const ServingPoint& point, const ServingOptions& options, std::uint32_t each,
                     std::uint32_t block_tokens) {
  WorkloadBuilder builder("serving point", block_tokens);
  std::uint64_t block = 0;
  const auto drawn = [&](Stream& stream, std::uint32_t most) {
    const auto least = std::max(1.0, std::floor(options.shortest_share * most));
    return static_cast<std::int64_t>(least) +
           static_cast<std::int64_t>(stream.below(most - static_cast<std::uint64_t>(least) + 1));
  };
  for (std::uint32_t i = 0; i < each * point.concurrency; ++i) {
    Stream stream(1, "serving point", i);
    TraceRow row;
    row.line = i + 1;
    row.input_tokens = drawn(stream, point.input_tokens);
    row.output_tokens = drawn(stream, point.output_tokens);
    for (std::int64_t t = 0; t < row.input_tokens; t += block_tokens) row.blocks.push_back(block++);
    builder.add(row);
  }
  return builder.build({"serving point", "serving point", {}});
}

/// One point's engine, its step model and its simulation.
class Served {
 public:
  Served(const ServingPoint& point, const JsonSource& base, const ServingOptions& options,
         std::uint32_t each)
      : point_(point), scenario_(engine_of(point, base)) {
    model_.emplace(scenario_, options.varied);
    workload_.emplace(workload_of(point, options, each, scenario_.engine.block_tokens));
  }
  Served(const Served&) = delete;

  const ServingPoint& point() const { return point_; }
  const StepModel& model() const { return *model_; }

  void simulate(std::span<const double> values) {
    const auto cost = model_->cost(values);
    trail_.emplace(scenario_, *workload_, *cost);
    ends_.clear();
    for (const RequestRecord& r : trail_->requests()) {
      if (r.status != RequestStatus::kCompleted) continue;
      ends_.push_back({&r, trail_->instant(r.arrival), trail_->instant(r.first_token),
                       trail_->instant(r.finish)});
    }
  }

  /// Mean TTFT of its clients, who see the front end too.
  double client_ttft_s(std::span<const double> values) const {
    SimulationOptions options;
    options.cost = [&] { return model_->cost(values); };
    return spillway::simulate(scenario_, *workload_, options).result.ttft.mean_ms / 1e3;
  }

  struct Latency {
    double ttft_s = 0;
    double tpot_s = 0;
  };
  /// Means under `values`, with the schedule of the last simulation.
  Latency latency(std::span<const double> values) const {
    const std::vector<double> shifts = trail_->shifts(*model_->cost(values));
    Latency out;
    double answers = 0;
    for (const Ends& e : ends_) {
      const double arrival = shift_at(shifts, e.arrival);
      const double first = shift_at(shifts, e.first);
      out.ttft_s += seconds_of(e.record->first_token - e.record->arrival) + first - arrival;
      if (e.record->output_tokens < 2) continue;
      const double span =
          seconds_of(e.record->finish - e.record->first_token) + shift_at(shifts, e.finish) - first;
      out.tpot_s += span / (e.record->output_tokens - 1);
      answers += 1;
    }
    out.ttft_s = std::max(1e-9, out.ttft_s / static_cast<double>(ends_.size()));
    out.tpot_s = std::max(1e-9, out.tpot_s / std::max(1.0, answers));
    return out;
  }

 private:
  struct Ends {
    const RequestRecord* record;
    StepInstant arrival;
    StepInstant first;
    StepInstant finish;
  };

  static Scenario engine_of(const ServingPoint& point, JsonSource base) {
    base.set(fmt::format("engine.tensor_parallel_size={}", point.tensor_parallel));
    Scenario s = load_scenario(base);
    s.workload->arrival = {};
    s.workload->arrival.kind = ArrivalConfig::Kind::kClosedLoop;
    s.workload->arrival.concurrency = point.concurrency;
    s.workload->warmup = {};
    s.tier.reset();
    s.behind.clear();
    return s;
  }

  const ServingPoint& point_;
  Scenario scenario_;
  std::optional<StepModel> model_;
  std::optional<Workload> workload_;
  std::optional<StepTrail> trail_;
  std::vector<Ends> ends_;
};

using ServedPoints = std::vector<std::unique_ptr<Served>>;

ServedPoints matching(const ServingPoints& all, const JsonSource& base,
                      const ServingOptions& options, bool one_gpu, bool fit) {
  ServedPoints out;
  for (const ServingPoint& p : all.points) {
    if ((p.tensor_parallel == 1) != one_gpu) continue;
    if (!p.backend.empty() && p.backend != options.backend) continue;
    if (!p.precision.empty() && p.precision != options.precision) continue;
    const std::uint32_t each = fit ? fit_requests(p, options) : options.requests_per_client;
    out.push_back(std::make_unique<Served>(p, base, options, each));
  }
  return out;
}

std::vector<double> tpots(const ServedPoints& points) {
  std::vector<double> out;
  for (const auto& p : points) out.push_back(p->point().tpot_ms / 1e3);
  return out;
}

std::vector<Served::Latency> latencies(const ServedPoints& points, std::span<const double> values,
                                       unsigned threads) {
  std::vector<Served::Latency> out(points.size());
  parallel_for(points.size(), threads, [&](std::size_t i) { out[i] = points[i]->latency(values); });
  return out;
}

void simulate_all(const ServedPoints& points, std::span<const double> values, unsigned threads) {
  parallel_for(points.size(), threads, [&](std::size_t i) { points[i]->simulate(values); });
}

IntervalFit fit_tpot(const ServedPoints& points, const ServingOptions& options,
                     const SourceRef& where) {
  const StepModel& model = points.front()->model();
  const std::vector<double> measured = tpots(points);
  IntervalFit fit;
  fit.values = model.start();
  for (int round = 0; round < kMostRounds; ++round) {
    simulate_all(points, fit.values, options.threads);
    const PredictSpans predict = [&](std::span<const double> values) {
      std::vector<double> out;
      for (const auto& l : latencies(points, values, options.threads)) out.push_back(l.tpot_s);
      return out;
    };
    if (round == 0) refuse_scale(where, measured, predict(fit.values));
    const std::vector<double> before = fit.values;
    fit = fit_intervals(model, measured, SpanKinds::alike(measured.size()), predict,
                        round == 0 ? std::vector<double>{} : before);
    double moved = 0;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const Parameter& p = model.parameters()[k];
      moved = std::max(moved, std::abs(fit.values[k] - before[k]) / (p.high - p.low));
    }
    if (moved < kSettled) break;
  }
  return fit;
}

/// Simulates `points` under `values` and adds them to the scores of TPOT and TTFT.
void score(const ServedPoints& points, std::span<const double> values, const ServingPoints& file,
           bool held_out, const ServingOptions& options, FitResult& out) {
  if (points.empty()) return;
  simulate_all(points, values, options.threads);
  std::vector<Served::Latency> simulated = latencies(points, values, options.threads);
  parallel_for(points.size(), options.threads,
               [&](std::size_t i) { simulated[i].ttft_s = points[i]->client_ttft_s(values); });
  FitScore* scores[2] = {&out.profile.scores[0], &out.profile.scores[1]};
  std::vector<double> measured[2];
  std::vector<double> predicted[2];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ServingPoint& p = points[i]->point();
    const std::pair<double, double> pairs[2] = {{p.tpot_ms * 1e3, simulated[i].tpot_s * 1e6},
                                                {p.ttft_ms * 1e3, simulated[i].ttft_s * 1e6}};
    for (int k = 0; k < 2; ++k) {
      measured[k].push_back(pairs[k].first);
      predicted[k].push_back(pairs[k].second);
      FitPoint point;
      point.part = scores[k]->part;
      point.what = fmt::format("{}:{}: {} + {} tokens, {} clients, {} GPUs", file.path, p.line,
                               p.input_tokens, p.output_tokens, p.concurrency, p.tensor_parallel);
      point.measured = pairs[k].first;
      point.predicted = pairs[k].second;
      point.held_out = held_out;
      if (k == 1 && pairs[k].first > (1 + kFarPoint) * pairs[k].second) {
        point.why = "a client's clock: its front end takes more than front_end says";
      }
      out.worst.push_back(std::move(point));
    }
  }
  for (int k = 0; k < 2; ++k) {
    const SpanErrors errors = span_errors(measured[k], predicted[k]);
    const auto count = static_cast<std::uint32_t>(points.size());
    if (held_out) {
      scores[k]->held_out = count;
      scores[k]->held_out_mape = errors.mape;
      scores[k]->held_out_p95 = errors.p95;
    } else {
      scores[k]->points = count;
      scores[k]->mape = scores[k]->form_mape = errors.mape;
      scores[k]->bias = errors.bias;
    }
  }
}

}  // namespace

JsonSource serving_scenario(const ServingPoints& points, const ServingOptions& options) {
  const auto match = std::find_if(points.points.begin(), points.points.end(), [&](const auto& p) {
    return p.backend == options.backend && p.precision == options.precision;
  });
  const ServingPoint& p = match == points.points.end() ? points.points.front() : *match;
  // The benchmark behind such tables (InferenceMAX, README: B200 70B) starts vLLM with asynchronous
  // scheduling, chunks within 8192 tokens, an FP8 KV cache for FP8 weights, no prefix cache, 90% of
  // the memory.
  const std::string gpu = p.system.substr(0, p.system.find('_'));
  const std::string model = p.model.substr(p.model.find('/') + 1);  // all of it where there is none
  const std::string_view type = options.precision == "fp8" ? "fp8" : "bf16";
  return JsonSource::from_text(points.path, fmt::format(R"({{"name": "serving points", "gpu": "{}",
        "model": {{"name": "{}", "kv_dtype": "{}", "weight_dtype": "{}"}},
        "engine": {{"preset": "vllm@0.14", "max_num_batched_tokens": 8192,
                   "async_scheduling": true, "enable_prefix_caching": false,
                   "gpu_memory_utilization": 0.9}},
        "workload": {{"trace": "none"}}}})",
                                                        gpu, model, type, type));
}

FitResult fit_serving(const ServingPoints& points, const JsonSource& scenario,
                      const ServingOptions& options) {
  if (options.precision != "fp8" && options.precision != "bf16" && options.precision != "fp16") {
    throw InputError(Fault::kUsage, {points.path, 0, {}},
                     fmt::format("weights in {} are not modelled; expected fp8, bf16 or fp16",
                                 options.precision));
  }
  const ServedPoints one = matching(points, scenario, options, true, true);
  const std::size_t needed = kPointsPerParameter * options.varied.size();
  if (one.size() < needed) {
    throw InputError(
        Fault::kTrace, {points.path, 0, {}},
        fmt::format("{} points of one GPU served by {} in {} are too few to fit {} parameters; "
                    "expected at least {}",
                    one.size(), options.backend, options.precision, options.varied.size(), needed));
  }
  const IntervalFit fit = fit_tpot(one, options, {points.path, 0, {}});
  FitResult out;
  out.profile = one.front()->model().profile(fit.values);
  out.profile.warnings = fit.warnings;
  out.profile.scores.resize(2);
  out.profile.scores[0].part = "serving/tpot";
  out.profile.scores[0].parameters = fit.confidence;
  out.profile.scores[1].part = "serving/ttft";
  for (const bool held_out : {false, true}) {
    const ServedPoints whole = matching(points, scenario, options, !held_out, false);
    score(whole, fit.values, points, held_out, options, out);
  }
  std::stable_sort(out.worst.begin(), out.worst.end(), [](const FitPoint& a, const FitPoint& b) {
    if (a.part != b.part) return a.part > b.part;
    return std::abs(det::ln(a.predicted / a.measured)) >
           std::abs(det::ln(b.predicted / b.measured));
  });
  return out;
}

}  // namespace spillway

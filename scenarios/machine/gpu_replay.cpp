#include "scenarios/machine/gpu_replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "scenarios/machine/gpu_bench.hpp"
#include "scenarios/machine/samples.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kWorst = 5;

/// Difference in percent of what was measured, which is above zero.
double error_percent(double simulated, double measured) {
  return 100 * (simulated - measured) / std::max(measured, 1e-3);
}

struct Errors {
  std::vector<double> signed_percent;

  TransferErrors summary() const {
    std::vector<double> size;
    for (const double e : signed_percent) size.push_back(std::abs(e));
    std::vector<double> order = signed_percent;
    std::sort(size.begin(), size.end());
    std::sort(order.begin(), order.end());
    return {quantile(size, 0.5), quantile(size, 0.95), size.back(), quantile(order, 0.5)};
  }
};

double us_of(std::int64_t ns) {
  return static_cast<double>(ns) / 1000;
}

/// The times of one transfer on both sides.
struct Pair {
  const ScheduledTransfer* simulated;
  const MeasuredTransfer* measured;

  double simulated_us() const { return us_of(simulated->ended_ns - simulated->started_ns); }
  double measured_us() const { return measured->ended_us - measured->started_us; }
  double error() const { return error_percent(simulated_us(), measured_us()); }
  /// With the wait behind earlier transfers.
  double queued_error() const {
    return error_percent(us_of(simulated->ended_ns - simulated->submitted_ns),
                         measured->ended_us - measured->submitted_us);
  }
};

const char* direction_name(bool to_device) {
  return to_device ? "h2d" : "d2h";
}

ReplayedTransfer row_of(const Pair& pair) {
  const ScheduledTransfer& t = *pair.simulated;
  return {t.link,
          direction_name(t.to_device),
          static_cast<double>(t.submitted_ns) / 1e9,
          t.bytes,
          t.copies,
          pair.simulated_us(),
          pair.measured_us(),
          pair.error()};
}

/// Transfers of one direction: how long they kept it busy.
ReplayDirection direction_of(const std::vector<Pair>& pairs, bool to_device) {
  double simulated_us = 0;
  double measured_us = 0;
  ReplayDirection out;
  out.direction = direction_name(to_device);
  for (const Pair& pair : pairs) {
    if (pair.simulated->to_device != to_device) continue;
    simulated_us += pair.simulated_us();
    measured_us += pair.measured_us();
    out.bytes += pair.simulated->bytes;
    ++out.transfers;
  }
  out.simulated_busy_s = simulated_us / 1e6;
  out.measured_busy_s = measured_us / 1e6;
  if (out.transfers > 0) out.error_percent = error_percent(simulated_us, measured_us);
  return out;
}

[[noreturn]] void cannot_play(const std::string& why) {
  throw InputError(Fault::kIo, {"--replay", 0, ""},
                   fmt::format("needs a GPU to play the schedule on: {}", why));
}

std::string lines_of(std::span<const ScheduledTransfer> window) {
  fmt::memory_buffer text;
  const std::int64_t origin = window.front().submitted_ns;
  for (const ScheduledTransfer& t : window) {
    fmt::format_to(std::back_inserter(text), "{:.3f} {} {} {}\n", us_of(t.submitted_ns - origin),
                   t.bytes, t.copies, t.to_device ? "h2d" : "d2h");
  }
  return fmt::to_string(text);
}

std::vector<MeasuredTransfer> measured_of(const json& answer, std::size_t count) {
  const auto column = [&](const char* key) -> const json& {
    const auto found = answer.find(key);
    const bool usable = found != answer.end() && found->is_array() && found->size() == count &&
                        std::all_of(found->begin(), found->end(), [](const json& v) {
                          return v.is_number() && std::isfinite(v.get<double>());
                        });
    if (!usable) cannot_play(fmt::format("the harness's answer has no usable `{}`", key));
    return *found;
  };
  const json& submitted = column("submitted_us");
  const json& started = column("started_us");
  const json& ended = column("ended_us");
  std::vector<MeasuredTransfer> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {submitted[i].get<double>(), started[i].get<double>(), ended[i].get<double>()};
    if (out[i].ended_us < out[i].started_us) cannot_play("the harness's times run backwards");
  }
  return out;
}

std::vector<std::string> warnings_of(const TransferSchedule& schedule, const GpuSurvey& survey,
                                     double late_us) {
  std::vector<std::string> out = gpu_warnings(survey);
  if (schedule.host_hops > 0) {
    out.push_back(
        fmt::format("{} transfers between tiers below HBM were left out: no GPU can play "
                    "them",
                    schedule.host_hops));
  }
  constexpr double kMuchUs = 1000;
  if (late_us > kMuchUs) {
    out.push_back(
        fmt::format("the host submitted up to {} late: it could not keep up with the "
                    "schedule's calls, which the simulation did not know",
                    format_ms(late_us / 1000)));
  }
  return out;
}

}  // namespace

ReplayComparison compare_replay(std::span<const ScheduledTransfer> simulated,
                                std::span<const MeasuredTransfer> measured) {
  KV_ASSERT(!simulated.empty() && simulated.size() == measured.size(), "{} and {} transfers",
            simulated.size(), measured.size());
  ReplayComparison out;
  std::vector<Pair> pairs;
  Errors service;
  Errors queued;
  std::int64_t last_ns = 0;
  double last_us = 0;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    pairs.push_back({&simulated[i], &measured[i]});
    service.signed_percent.push_back(pairs.back().error());
    queued.signed_percent.push_back(pairs.back().queued_error());
    last_ns = std::max(last_ns, simulated[i].ended_ns);
    last_us = std::max(last_us, measured[i].ended_us);
    out.window.bytes += simulated[i].bytes;
    out.window.copies += simulated[i].copies;
  }
  out.service = service.summary();
  out.with_queueing = queued.summary();

  const std::int64_t origin = simulated.front().submitted_ns;
  const double simulated_us = us_of(last_ns - origin);
  const double measured_us = last_us - measured.front().submitted_us;
  out.window.from_s = static_cast<double>(origin) / 1e9;
  out.window.transfers = simulated.size();
  out.window.simulated_s = simulated_us / 1e6;
  out.window.measured_s = measured_us / 1e6;
  out.window.error_percent = error_percent(simulated_us, measured_us);

  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  for (std::size_t i = 0; i < std::min(kWorst, pairs.size()); ++i) {
    out.worst.push_back(row_of(pairs[i]));
  }
  for (const bool to_device : {false, true}) {
    out.directions.push_back(direction_of(pairs, to_device));
  }
  return out;
}

GpuReplay replay_on_gpu(const GpuReplayOptions& options) {
  const TransferSchedule schedule = read_transfer_schedule(options.schedule);
  const auto window = choose_window(schedule, options.window);

  std::vector<std::string> missing;
  std::optional<GpuConnection> gpu = connect_gpu(options.harness, missing);
  if (!gpu) cannot_play(fmt::format("{}", fmt::join(missing, "; ")));
  json answer;
  try {
    const double span_s =
        static_cast<double>(window.back().ended_ns - window.front().submitted_ns) / 1e9;
    answer = gpu->harness->ask("replay",
                               {{"gpu", gpu->survey.gpus.front().index},
                                {"api", options.api},
                                {"transfers", window.size()},
                                {"memory_bytes", options.memory_bytes}},
                               10 + 5 * span_s, lines_of(window));
  } catch (const BenchLost& lost) {
    cannot_play(lost.what());
  }
  if (answer.contains("error")) {
    const json& what = answer.contains("what") ? answer["what"] : answer["error"];
    throw InputError(Fault::kIo, {"--replay", 0, ""},
                     fmt::format("the GPU harness could not play it: {}",
                                 printable(what.is_string() ? what.get<std::string>() : "")));
  }
  GpuReplay out;
  out.results = compare_replay(window, measured_of(answer, window.size()));
  const double late_us = answer.contains("late_us") && answer["late_us"].is_number()
                             ? answer["late_us"].get<double>()
                             : 0.0;
  const GpuFacts& facts = gpu->survey.gpus.front();
  out.results.late_us = late_us;
  out.results.host_hops = schedule.host_hops;
  out.results.outside_window = schedule.transfers.size() - window.size();
  out.results.gpu_name = facts.name;
  out.results.gpu_uuid = facts.uuid;
  out.results.api = options.api;
  out.inputs = {{"schedule", schedule.path},
                {"window_s", options.window.length_s},
                {"memory_bytes", options.memory_bytes},
                {"driver", gpu->survey.driver},
                {"cuda_runtime", gpu->survey.runtime}};
  out.warnings = warnings_of(schedule, gpu->survey, late_us);
  return out;
}

Report replay_comparison_report(const ReplayComparison& results) {
  const auto percent = [](double value) { return fmt::format("{:.1f}%", value); };
  const auto seconds = [](double value) { return format_ms(1000 * value); };
  const ReplayWindow& window = results.window;
  Table whole{"The whole window", {"", "simulated", "measured", "difference"}, {}, -1};
  whole.rows.push_back({"first submission to last end", seconds(window.simulated_s),
                        seconds(window.measured_s), percent(window.error_percent)});
  for (const ReplayDirection& d : results.directions) {
    if (d.transfers == 0) continue;
    whole.rows.push_back({d.direction + " busy", seconds(d.simulated_busy_s),
                          seconds(d.measured_busy_s), percent(d.error_percent)});
  }
  Table each{"Per transfer", {"", "median error", "p95", "worst", "median bias"}, {}, -1};
  for (const auto& [e, name] : {std::pair{&results.service, "start to end"},
                                std::pair{&results.with_queueing, "submission to end"}}) {
    each.rows.push_back(
        {name, percent(e->median), percent(e->p95), percent(e->worst), percent(e->median_bias)});
  }
  Table worst{"Furthest apart",
              {"link", "submitted", "size", "copies", "simulated", "measured", "difference"},
              {},
              -1};
  for (const ReplayedTransfer& w : results.worst) {
    worst.rows.push_back(
        {w.link, fmt::format("{:.6f} s", w.submitted_s), format_bytes(static_cast<double>(w.bytes)),
         format_count(static_cast<std::uint64_t>(w.copies)), format_ms(w.simulated_us / 1000),
         format_ms(w.measured_us / 1000), percent(w.error_percent)});
  }
  Report out;
  out.title = "Replay: simulated against measured";
  out.subtitle =
      fmt::format("{} transfers of {} from {:.3f} s on, through {} on {}",
                  format_count(window.transfers), format_bytes(static_cast<double>(window.bytes)),
                  window.from_s, results.api, results.gpu_name);
  out.sections.push_back({"", {}, {whole, each, worst}, {}});
  return out;
}

}  // namespace spillway

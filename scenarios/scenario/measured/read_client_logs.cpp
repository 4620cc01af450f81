// What benchmark clients write of each request: GuideLLM's benchmarks.json, AIPerf's
// profile_export.jsonl. Times are the client's.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/error.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using ClientField = RequestField;

constexpr double kMostClientTime = 1e18;

/// The first of `keys` that the object has, as a figure from 0; kNoTime: it has none.
double any_of(const ObjectReader& o, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (o.has(key)) return *o.number(key, 0, kMostClientTime);
  }
  return kNoTime;
}

std::uint32_t client_tokens(const ObjectReader& o, std::string_view key, double least) {
  const double value = o.require_number(key, least, kMaxTokens);
  if (value != std::floor(value)) {
    o.fail(key, fmt::format("expected a whole number of tokens, found {}", value));
  }
  return static_cast<std::uint32_t>(value);
}

// ---- GuideLLM

/// Older files have the count itself, newer ones an object of counts.
std::optional<std::uint32_t> guidellm_tokens(const ObjectReader& r, std::string_view count,
                                             std::string_view counts) {
  if (r.has(count)) return client_tokens(r, count, 0);
  const auto metrics = r.open_object(counts);
  if (!metrics) return std::nullopt;
  for (const std::string_view key : {"total_tokens", "text_tokens"}) {
    if (metrics->has(key)) return client_tokens(*metrics, key, 0);
  }
  return std::nullopt;
}

LoggedRequest guidellm_request(const ObjectReader& r, bool completed) {
  LoggedRequest row;
  row.line = r.where().line;
  row.completed = completed;
  if (r.has("request_id")) row.id = r.require_text("request_id");
  row.input_tokens = guidellm_tokens(r, "prompt_tokens", "input_metrics");
  row.output_tokens = guidellm_tokens(r, "output_tokens", "output_metrics");
  const auto take = [&](ClientField field, double at) {
    if (at == at && !row.knows(field)) row.at(field) = at;
  };
  if (const auto info = r.open_object("info")) {
    if (const auto timings = info->open_object("timings")) {
      take(ClientField::kArrival, any_of(*timings, {"request_start"}));
      take(ClientField::kFirstToken,
           any_of(*timings, {"first_token_iteration", "first_iteration"}));
      take(ClientField::kLastToken, any_of(*timings, {"last_token_iteration", "last_iteration"}));
    }
  }
  take(ClientField::kArrival, any_of(r, {"request_start_time", "start_time"}));
  take(ClientField::kFirstToken, any_of(r, {"first_token_time"}));
  const double ttft_ms = any_of(r, {"time_to_first_token_ms"});
  take(ClientField::kFirstToken, row.at(ClientField::kArrival) + ttft_ms / 1e3);
  take(ClientField::kLastToken, any_of(r, {"last_token_time", "request_end_time", "end_time"}));
  if (!completed) return row;
  if (!row.knows(ClientField::kArrival)) {
    r.missing("request_start_time", "when the request was sent, in seconds");
  }
  if (!row.input_tokens) r.missing("prompt_tokens", "the tokens of the prompt");
  if (!row.output_tokens) r.missing("output_tokens", "the tokens of the answer");
  return row;
}

/// How many clients keep a request in flight each; nothing of another load.
std::optional<std::uint32_t> guidellm_clients(const ObjectReader& benchmark) {
  for (const std::string_view place : {"config", "args", "scheduler"}) {
    const auto object = benchmark.open_object(place);
    if (!object) continue;
    const auto strategy = object->open_object("strategy");
    if (!strategy || !strategy->has("type_")) continue;
    const std::string type = strategy->require_text("type_");
    if (type == "synchronous") return 1;
    if (type != "concurrent") return std::nullopt;
    for (const std::string_view key : {"streams", "max_concurrency"}) {
      if (!strategy->has(key)) continue;
      return static_cast<std::uint32_t>(strategy->require_integer(key, 1, kMaxTokens));
    }
  }
  return std::nullopt;
}

// ---- AIPerf

/// {"value": 4.9, "unit": "ms"}, in seconds.
double aiperf_seconds(const ObjectReader& metrics, std::string_view key) {
  const auto metric = metrics.open_object(key);
  if (!metric) metrics.missing(key, "an object with value and unit");
  const std::string unit = metric->require_text("unit");
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"s", 1}, {"sec", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return seconds * metric->require_number("value", 0, kMostClientTime);
  }
  metric->fail("unit", fmt::format("expected s, sec, ms, us or ns, found \"{}\"", unit));
}

std::optional<std::uint32_t> aiperf_tokens(const ObjectReader& metrics,
                                           std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto metric = metrics.open_object(key)) return client_tokens(*metric, "value", 0);
  }
  return std::nullopt;
}

std::optional<LoggedRequest> aiperf_request(const ObjectReader& record) {
  const auto metadata = record.open_object("metadata");
  if (!metadata) record.missing("metadata", "an object with request_start_ns");
  if (metadata->text("benchmark_phase").value_or("profiling") != "profiling") return std::nullopt;
  LoggedRequest row;
  row.id = metadata->text("x_request_id").value_or("");
  const double start_s = 1e-9 * metadata->require_number("request_start_ns", 0, 1e19);
  row.at(ClientField::kArrival) = start_s;
  row.completed = !record.has("error") && !metadata->boolean("was_cancelled").value_or(false);
  const auto metrics = record.open_object("metrics");
  if (!metrics) record.missing("metrics", "an object of the request's metrics");
  row.input_tokens = aiperf_tokens(*metrics, {"input_sequence_length", "error_isl"});
  if (!row.completed) return row;
  row.output_tokens = aiperf_tokens(*metrics, {"output_sequence_length", "output_token_count"});
  if (!row.input_tokens) metrics->missing("input_sequence_length", "the tokens of the prompt");
  if (!row.output_tokens) metrics->missing("output_sequence_length", "the tokens of the answer");
  row.at(ClientField::kLastToken) = start_s + aiperf_seconds(*metrics, "request_latency");
  if (metrics->has("time_to_first_token")) {
    row.at(ClientField::kFirstToken) = start_s + aiperf_seconds(*metrics, "time_to_first_token");
  }
  return row;
}

}  // namespace

void read_guidellm(const ObjectReader& top, MeasuredParts& parts) {
  const std::vector<ObjectReader> benchmarks = top.open_objects("benchmarks");
  if (benchmarks.size() != 1) {
    top.fail("benchmarks", fmt::format("expected one benchmark, found {}: each is a run of its own",
                                       benchmarks.size()));
  }
  const auto requests = benchmarks[0].open_object("requests");
  if (!requests) benchmarks[0].missing("requests", "an object with successful requests");
  RequestLogFile log;
  log.path = top.source().name();
  log.client = true;
  const auto add = [&](std::string_view key, bool completed) {
    if (!requests->has(key)) return;
    for (const ObjectReader& r : requests->open_objects(key)) {
      LoggedRequest row = guidellm_request(r, completed);
      row.index = log.rows.size();
      log.rows.push_back(std::move(row));
    }
  };
  add("successful", true);
  add("incomplete", false);
  add("errored", false);
  parts.facts.concurrency = guidellm_clients(benchmarks[0]);
  parts.logs.push_back(std::move(log));
}

void read_aiperf_lines(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  RequestLogFile log;
  log.path = lines->path();
  log.client = true;
  std::string_view line;
  while (lines->next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::int64_t number = lines->line();
    const auto at_line = [&](const InputError& error) {
      SourceRef where = error.where();
      where.line = number;
      return InputError(error.fault(), where, error.message());
    };
    try {
      const JsonSource source = JsonSource::from_text(log.path, std::string(line), Fault::kTrace);
      auto row = aiperf_request(ObjectReader(source, "", "a record of AIPerf"));
      if (!row) continue;
      row->line = number;
      row->index = log.rows.size();
      log.rows.push_back(std::move(*row));
    } catch (const InputError& error) {
      throw at_line(error);
    }
  }
  parts.logs.push_back(std::move(log));
}

}  // namespace spillway

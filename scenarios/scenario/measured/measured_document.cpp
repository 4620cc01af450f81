#include "scenarios/scenario/measured/measured_document.hpp"

#include <algorithm>

#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using nlohmann::json;
using F = RequestField;

constexpr F kTimes[] = {F::kArrival, F::kQueued, F::kScheduled, F::kFirstToken, F::kLastToken};

double time_of(const MeasuredRequest& r, F field) {
  switch (field) {
    case F::kArrival:
      return r.arrival_s;
    case F::kQueued:
      return r.queued_s;
    case F::kScheduled:
      return r.scheduled_s;
    case F::kFirstToken:
      return r.first_token_s;
    default:
      return r.last_token_s;
  }
}

/// One object per request: members that it does not know are not there.
json requests_json(const MeasuredRun& run) {
  json rows = json::array();
  for (const MeasuredRequest& r : run.requests) {
    json row = {{"input_tokens", r.input_tokens}, {"output_tokens", r.output_tokens}};
    for (const F field : kTimes) {
      const double at = time_of(r, field);
      if (at != kUnknownTime) row[name_of(field)] = at;
    }
    if (!r.completed) row["status"] = "failed";
    rows.push_back(std::move(row));
  }
  return rows;
}

json counters_json(const MeasuredRun& run) {
  json rows = json::array();
  for (const MeasuredCounters& c : run.counters) {
    json row = {{"t", c.at_s},
                {"running", c.running},
                {"waiting", c.waiting},
                {"prompt_throughput", c.prompt_tokens_per_s},
                {"gen_throughput", c.output_tokens_per_s}};
    if (c.kv_usage != kUnknownTime) row["kv_cache_usage"] = c.kv_usage;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The members of facts, by name, for both directions.
template <class Facts, class Use>
void each_fact(Facts& facts, Use use) {
  use("engine", facts.engine);
  use("version", facts.version);
  use("model", facts.model);
  use("gpu", facts.gpu);
  use("num_gpu_blocks", facts.num_gpu_blocks);
  use("block_tokens", facts.block_tokens);
  use("kv_tokens", facts.kv_tokens);
  use("max_num_seqs", facts.max_num_seqs);
  use("max_num_batched_tokens", facts.max_num_batched_tokens);
  use("max_model_len", facts.max_model_len);
  use("tensor_parallel_size", facts.tensor_parallel_size);
  use("enforce_eager", facts.enforce_eager);
  use("host_overhead_us", facts.host_overhead_us);
  use("d2h_gbs", facts.d2h_gbs);
  use("h2d_gbs", facts.h2d_gbs);
}

std::vector<std::string_view> fact_names() {
  std::vector<std::string_view> out;
  MeasuredFacts none;
  each_fact(none, [&](const char* key, const auto&) { out.emplace_back(key); });
  return out;
}

struct FactReader {
  const ObjectReader* from;
  static constexpr double kMost = 1e15;

  void operator()(const char* key, std::optional<std::string>& to) const { to = from->text(key); }
  void operator()(const char* key, std::optional<bool>& to) const { to = from->boolean(key); }
  void operator()(const char* key, std::optional<double>& to) const {
    to = from->number(key, 0, kMost);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& to) const {
    const auto value = from->integer(key, 0, std::numeric_limits<std::uint32_t>::max());
    if (value) to = static_cast<T>(*value);
  }
};

void read_requests(const ObjectReader& results, MeasuredParts& parts) {
  RequestLogFile log;
  log.path = results.source().name();
  constexpr double kMost = 1e12;
  for (const ObjectReader& from : results.open_objects("requests")) {
    LoggedRequest row;
    row.index = log.rows.size();
    row.line = from.where().line;
    if (const auto n = from.integer("input_tokens", 1, kMaxTokens)) {
      row.input_tokens = static_cast<std::uint32_t>(*n);
    }
    if (const auto n = from.integer("output_tokens", 0, kMaxTokens)) {
      row.output_tokens = static_cast<std::uint32_t>(*n);
    }
    for (const F field : kTimes) {
      if (const auto at = from.number(name_of(field), -kMost, kMost)) row.at(field) = *at;
    }
    row.completed = from.text("status").value_or("completed") == "completed";
    log.rows.push_back(std::move(row));
  }
  if (!log.rows.empty()) parts.logs.push_back(std::move(log));
}

void read_counters(const ObjectReader& results, MeasuredParts& parts) {
  CounterFile counters;
  counters.path = results.source().name();
  constexpr double kMost = 1e12;
  for (const ObjectReader& from : results.open_objects("counters")) {
    MeasuredCounters row;
    row.at_s = from.require_number("t", -kMost, kMost);
    row.running = from.require_number("running", 0, kMost);
    row.waiting = from.require_number("waiting", 0, kMost);
    row.kv_usage = from.number("kv_cache_usage", 0, 1.001).value_or(kUnknownTime);
    row.prompt_tokens_per_s = from.number("prompt_throughput", 0, kMost).value_or(0);
    row.output_tokens_per_s = from.number("gen_throughput", 0, kMost).value_or(0);
    counters.rows.push_back(row);
  }
  if (!counters.rows.empty()) parts.counters.push_back(std::move(counters));
}

}  // namespace

json to_json(const MeasuredFacts& facts) {
  json out = json::object();
  each_fact(facts, [&](const char* key, const auto& value) {
    if (value) out[key] = *value;
  });
  return out;
}

json to_json(const MeasuredRun& run) {
  json metrics = json::object();
  for (const auto& [key, value] : metrics_of(run)) metrics[key] = value;
  return {{"name", run.name},
          {"files", run.files},
          {"facts", to_json(run.facts)},
          {"requests", requests_json(run)},
          {"metrics", metrics},
          {"counters", counters_json(run)}};
}

void read_measured_document(const ObjectReader& top, MeasuredParts& parts) {
  const std::string kind = top.require_text("kind", "\"measured-run\"");
  if (kind != kMeasuredKind) {
    top.fail("kind", fmt::format("expected \"{}\", found \"{}\"", kMeasuredKind, kind));
  }
  const auto results = top.open_object("results");
  if (!results) top.missing("results", "an object");
  parts.name = results->text("name").value_or("");
  if (const auto facts = results->object("facts", fact_names())) {
    each_fact(parts.facts, FactReader{&*facts});
  }
  parts.facts.source = top.source().name();
  if (results->has("requests")) read_requests(*results, parts);
  if (results->has("counters")) read_counters(*results, parts);
  // What the requests tell is computed from them again.
  if (const auto metrics = results->open_object("metrics")) {
    constexpr double kMost = 1e18;
    for (const std::string& key : metrics->keys()) {
      parts.metrics[key] = metrics->require_number(key, -kMost, kMost);
    }
  }
}

}  // namespace spillway

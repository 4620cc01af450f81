// Measured files that are one JSON document: engine arguments, results of `vllm bench serve`,
// answers of Prometheus to a query over time.
#include <algorithm>
#include <cmath>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_document.hpp"
#include "scenarios/scenario/measured/measured_parts.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using F = RequestField;
using nlohmann::json;

constexpr double kMost = 1e18;

template <class T>
void take(std::optional<T>& to, std::optional<T> value) {
  if (value) to = std::move(value);
}

std::optional<std::uint32_t> count(const ObjectReader& object, std::string_view key) {
  if (!object.has(key) || !object.value(key).is_number()) return std::nullopt;
  const auto value = object.number(key, 0, std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(*value);
}

/// What an engine was started with, and what it made of it; later places know better.
void read_engine(const ObjectReader& top, MeasuredParts& parts) {
  MeasuredFacts& facts = parts.facts;
  facts.engine = "vllm";
  facts.source = top.source().name();
  take(facts.model, top.text("model"));
  take(facts.version, top.text("vllm_version"));
  if (const auto requests = top.integer("num_requests"); requests && *requests > 0) {
    parts.expected.push_back({top.where("num_requests"), static_cast<std::uint64_t>(*requests)});
  }
  if (const auto hardware = top.open_object("hardware"))
    take(facts.gpu, hardware->text("device_name"));
  const auto take_engine = [&](const ObjectReader& from) {
    take(facts.max_num_seqs, count(from, "max_num_seqs"));
    take(facts.max_num_batched_tokens, count(from, "max_num_batched_tokens"));
    take(facts.max_model_len, count(from, "max_model_len"));
    take(facts.tensor_parallel_size, count(from, "tensor_parallel_size"));
    take(facts.data_parallel_size, count(from, "data_parallel_size"));
    if (from.has("enable_expert_parallel")) {
      take(facts.enable_expert_parallel, from.boolean("enable_expert_parallel"));
    }
    take(facts.num_gpu_blocks, count(from, "num_gpu_blocks_override"));
    take(facts.num_gpu_blocks, count(from, "num_gpu_blocks"));
    take(facts.block_tokens, count(from, "block_size"));
    if (from.has("enforce_eager")) take(facts.enforce_eager, from.boolean("enforce_eager"));
  };
  take_engine(top);
  if (const auto args = top.open_object("engine_kwargs")) take_engine(*args);
  if (const auto all = top.open_object("resolved_config")) {
    for (const std::string& key : all->keys()) {
      if (!all->has(key) || !all->value(key).is_object()) continue;
      if (const auto part = all->open_object(key)) take_engine(*part);
    }
  }
  if (const auto cache = top.open_object("kv_cache")) take_engine(*cache);
}

/// Lists with one value per request, all of one length.
class BenchLists {
 public:
  BenchLists(const ObjectReader& top, std::initializer_list<std::string_view> keys) : top_(&top) {
    for (const std::string_view key : keys) {
      if (!top.has(key)) continue;
      if (!top.value(key).is_array()) top.fail(key, "expected a list with a value per request");
      if (size_ && top.value(key).size() != *size_) {
        top.fail(key, fmt::format("expected as many values as in {}, {}, found {}", first_, *size_,
                                  top.value(key).size()));
      }
      if (!size_) first_ = key;
      size_ = top.value(key).size();
    }
  }
  std::size_t size() const { return size_.value_or(0); }
  bool has(std::string_view key) const { return top_->has(key); }

  double number(std::string_view key, std::size_t i) const {
    return checked(top_->value(key)[i], fmt::format("{}.{}", key, i));
  }
  double sum(std::string_view key, std::size_t i) const {
    const json& list = top_->value(key)[i];
    if (!list.is_array()) {
      top_->fail(key, fmt::format("expected a list of seconds for request {}", i));
    }
    double out = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
      out += checked(list[k], fmt::format("{}.{}.{}", key, i, k));
    }
    return out;
  }
  std::string text(std::string_view key, std::size_t i) const {
    const json& value = top_->value(key)[i];
    return value.is_string() ? value.get<std::string>() : std::string();
  }

 private:
  double checked(const json& value, const std::string& field) const {
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() < kMost)) {
      throw InputError(Fault::kTrace, {top_->source().name(), top_->where().line, field},
                       fmt::format("expected a number from 0, found {}", value.dump()));
    }
    return value.get<double>();
  }

  const ObjectReader* top_;
  std::optional<std::size_t> size_;
  std::string_view first_;
};

std::uint32_t tokens(const ObjectReader& top, const BenchLists& lists, std::string_view key,
                     std::size_t i) {
  const double value = lists.number(key, i);
  if (value != std::floor(value) || value > static_cast<double>(kMaxTokens)) {
    top.fail(key,
             fmt::format("expected whole numbers of tokens, found {} for request {}", value, i));
  }
  return static_cast<std::uint32_t>(value);
}

/// --save-detailed: lists with one value per request; all times in seconds on the client's clock.
void read_bench_requests(const ObjectReader& top, MeasuredParts& parts) {
  const BenchLists lists(top, {"input_lens", "output_lens", "ttfts", "itls", "start_times"});
  if (!lists.has("start_times")) {
    parts.notes.push_back(fmt::format(
        "{}: has no start_times, so its requests cannot be sent again; only its metrics are read",
        top.source().name()));
    return;
  }
  RequestLogFile log;
  log.path = top.source().name();
  log.columns = true;
  log.client = true;
  log.spelling[static_cast<std::size_t>(F::kInput)] = "input_lens";
  log.spelling[static_cast<std::size_t>(F::kOutput)] = "output_lens";
  log.spelling[static_cast<std::size_t>(F::kArrival)] = "start_times";
  log.spelling[static_cast<std::size_t>(F::kFirstToken)] = "ttfts";
  log.spelling[static_cast<std::size_t>(F::kLastToken)] = "itls";
  for (std::size_t i = 0; i < lists.size(); ++i) {
    LoggedRequest row;
    row.index = i;
    row.line = top.where("start_times").line;
    row.input_tokens = tokens(top, lists, "input_lens", i);
    row.output_tokens = tokens(top, lists, "output_lens", i);
    row.at(F::kArrival) = lists.number("start_times", i);
    const double ttft = lists.number("ttfts", i);
    row.at(F::kFirstToken) = row.at(F::kArrival) + ttft;
    row.at(F::kLastToken) = row.at(F::kFirstToken) + lists.sum("itls", i);
    // A request that failed has an error, and neither answer nor time.
    row.completed = !(lists.has("errors") && top.value("errors").is_array() &&
                      i < top.value("errors").size() && !lists.text("errors", i).empty()) &&
                    !(*row.output_tokens == 0 && ttft == 0);
    log.rows.push_back(std::move(row));
  }
  parts.logs.push_back(std::move(log));
}

/// Clients that keep a request in flight each: a limit, and no other rate of requests.
std::optional<std::uint32_t> bench_clients(const ObjectReader& top) {
  const bool rate = top.has("request_rate") && top.value("request_rate").is_number();
  if (rate || !top.has("max_concurrency")) return std::nullopt;
  return static_cast<std::uint32_t>(top.require_integer("max_concurrency", 1, kMaxTokens));
}

void read_bench(const ObjectReader& top, MeasuredParts& parts) {
  for (const std::string& key : top.keys()) {
    if (!top.has(key) || !top.value(key).is_number()) continue;
    // Their names are those of a run's results, but for the duration.
    parts.metrics[key == "duration" ? "duration_s" : key] = *top.number(key, -kMost, kMost);
  }
  take(parts.facts.model, top.text("model_id"));
  if (const auto backend = top.text("backend")) take(parts.facts.engine, backend);
  if (parts.facts.source.empty()) parts.facts.source = top.source().name();
  for (const std::string_view name : {"tpot", "itl"}) {
    constexpr double kLeastMs = 0.3;
    constexpr double kMostMs = 2000;
    const std::string key = fmt::format("mean_{}_ms", name);
    const auto mean = parts.metrics.find(key);
    if (mean == parts.metrics.end() || mean->second == 0) continue;
    if (mean->second >= kLeastMs && mean->second <= kMostMs) continue;
    top.fail(key, fmt::format("expected {} to {} ms per token, found {}: its unit is another, or "
                              "times are off by a factor of 1000",
                              kLeastMs, kMostMs, mean->second));
  }
  parts.facts.clock = "client";
  parts.facts.concurrency = bench_clients(top);
  if (const auto completed = top.integer("completed", 0, kMaxTokens)) {
    parts.expected.push_back(
        {top.where("completed"), static_cast<std::uint64_t>(*completed), true});
  }
  if (top.has("input_lens") && top.has("ttfts")) read_bench_requests(top, parts);
}

/// One series of a Prometheus answer: which column of the counters it is.
struct PrometheusName {
  std::string_view name;
  double MeasuredCounters::*member;
  bool mean = false;     ///< of several engines; else their sum
  bool counter = false;  ///< counts up: its rises are what matters
};
constexpr PrometheusName kPrometheus[] = {
    {"vllm:num_requests_running", &MeasuredCounters::running},
    {"vllm:num_requests_waiting", &MeasuredCounters::waiting},
    {"vllm:kv_cache_usage_perc", &MeasuredCounters::kv_usage, true},
    {"vllm:gpu_cache_usage_perc", &MeasuredCounters::kv_usage, true},
    {"vllm:prompt_tokens_total", &MeasuredCounters::prompt_tokens_per_s, false, true},
    {"vllm:generation_tokens_total", &MeasuredCounters::output_tokens_per_s, false, true}};

/// A sample is [seconds, "value"].
std::pair<double, double> prometheus_sample(const ObjectReader& series, const json& sample) {
  if (sample.is_array() && sample.size() == 2 && sample[0].is_number() && sample[1].is_string()) {
    const std::string text = sample[1].get<std::string>();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() + text.size() && std::isfinite(value)) {
      return {sample[0].get<double>(), value};
    }
  }
  series.fail("values", fmt::format("expected [seconds, \"number\"], found {}", sample.dump()));
}

void read_prometheus(const ObjectReader& top, MeasuredParts& parts) {
  CounterFile counters;
  counters.path = top.source().name();
  std::map<double, MeasuredCounters> at;
  std::map<std::string_view, double> engines;
  const auto data = top.open_object("data");
  for (const ObjectReader& series : data->open_objects("result")) {
    const auto metric = series.open_object("metric");
    const std::string name = metric->require_text("__name__");
    const auto known = std::find_if(std::begin(kPrometheus), std::end(kPrometheus),
                                    [&](const PrometheusName& n) { return n.name == name; });
    if (known == std::end(kPrometheus)) {
      parts.notes.push_back(fmt::format("{}: {} is not read", counters.path, name));
      continue;
    }
    if (!series.has("values")) series.missing("values", "samples over time (query_range)");
    ++engines[known->name];
    std::pair<double, double> before{-1, 0};
    for (const json& sample : series.value("values")) {
      const auto [seconds, value] = prometheus_sample(series, sample);
      MeasuredCounters& row = at[seconds];
      row.at_s = seconds;
      double& to = row.*(known->member);
      if (known->mean && to == kUnknownTime) to = 0;
      if (!known->counter) to += value;
      if (known->counter && before.first >= 0 && value >= before.second) {
        to += (value - before.second) / (seconds - before.first);
      }
      before = {seconds, value};
    }
  }
  for (const auto& [seconds, row] : at) {
    counters.rows.push_back(row);
    double& usage = counters.rows.back().kv_usage;
    if (usage > 0) {
      usage /= engines["vllm:kv_cache_usage_perc"] + engines["vllm:gpu_cache_usage_perc"];
    }
  }
  if (engines["vllm:num_requests_running"] == 0) {
    data->fail("result", "expected the series vllm:num_requests_running, found none");
  }
  parts.counters.push_back(std::move(counters));
}

}  // namespace

void read_measured_json(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  std::string text;
  std::string_view line;
  while (lines->next(line)) text.append(line).push_back('\n');
  const JsonSource source = JsonSource::from_text(lines->path(), text, Fault::kTrace);
  const ObjectReader top(source, "", "a measured file");
  for (const std::string_view key : {"engine_kwargs", "resolved_config", "kv_cache",
                                     "num_gpu_blocks", "max_num_seqs", "vllm_version"}) {
    if (top.has(key)) return read_engine(top, parts);
  }
  if (top.has("kind")) return read_measured_document(top, parts);
  if (top.has("benchmarks")) return read_guidellm(top, parts);
  if (top.has("completed") || top.has("ttfts") || top.has("mean_ttft_ms")) {
    return read_bench(top, parts);
  }
  if (top.has("data") && top.has("status")) return read_prometheus(top, parts);
  throw InputError(Fault::kTrace, {lines->path(), 0, ""},
                   "expected engine arguments (engine_kwargs), a result of vllm bench serve "
                   "(mean_ttft_ms) or of GuideLLM (benchmarks), an answer of Prometheus (data) or "
                   "a measured-run document "
                   "(kind), found none of these");
}

}  // namespace spillway

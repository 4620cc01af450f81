#include "scenarios/scenario/measured/measured_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/trace_reader.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

enum class LogForm : std::uint8_t {
  kRequestCsv,
  kRequestLines,
  kRequestArray,
  kAiperfLines,
  kCounterCsv,
  kJson,
  kServerLog
};

/// Whether a line of JSON is a row of a request log: it says when something arrived, and is whole.
bool is_request_row(std::string_view line) {
  bool arrives = false;
  for (const std::string_view key :
       {"arrival_time", "arrival_s", "arrival_ms", "arrival_us", "arrival_ns"}) {
    arrives = arrives || has_json_key(line, key);
  }
  return arrives && !has_json_key(line, "requests");
}

/// By the first bytes.
LogForm log_form(LineReader& lines) {
  constexpr std::size_t kLook = 1 << 16;
  std::string_view line = lines.peek_content();
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (is_csv_header(line, "running") && is_csv_header(line, "waiting")) return LogForm::kCounterCsv;
  if (is_csv_header(line, "arrival")) return LogForm::kRequestCsv;
  if (has_json_key(line, "request_start_ns") && has_json_key(line, "metrics")) {
    return LogForm::kAiperfLines;
  }
  if (line.starts_with('{')) return is_request_row(line) ? LogForm::kRequestLines : LogForm::kJson;
  const std::string_view text = lines.peek_bytes(kLook);
  if (line.starts_with('[') && is_request_row(text)) return LogForm::kRequestArray;
  for (const std::string_view sign :
       {"Avg prompt throughput", "KV Transfer metrics: ", "KV cache size: ", "GPU blocks: ",
        "LLM engine (v", "vllm:", "vLLM", "vllm"}) {
    if (text.find(sign) != std::string_view::npos) return LogForm::kServerLog;
  }
  if (line.empty()) throw InputError(Fault::kTrace, {lines.path(), 0, ""}, "is empty");
  throw InputError(Fault::kTrace, {lines.path(), 1, ""},
                   "expected a request log (CSV or JSON lines with arrival_s), counters over time "
                   "(CSV with running and waiting), a result of vllm bench serve, GuideLLM or "
                   "AIPerf, engine arguments or a measured-run document (JSON), or the log of a "
                   "vLLM server");
}

void read_file(const std::string& path, MeasuredParts& parts) {
  auto lines = std::make_unique<LineReader>(path, open_bytes(path));
  switch (log_form(*lines)) {
    case LogForm::kRequestCsv:
      return read_request_csv(std::move(lines), parts);
    case LogForm::kRequestLines:
      return read_request_lines(std::move(lines), parts);
    case LogForm::kRequestArray:
      return read_request_array(std::move(lines), parts);
    case LogForm::kAiperfLines:
      return read_aiperf_lines(std::move(lines), parts);
    case LogForm::kCounterCsv:
      return read_counter_csv(std::move(lines), parts);
    case LogForm::kJson:
      return read_measured_json(std::move(lines), parts);
    case LogForm::kServerLog:
      return read_server_log(std::move(lines), parts);
  }
}

/// Mean, spread and percentiles under the keys of a run's results.
void add_stats(std::map<std::string, double>& out, const std::string& name,
               std::vector<double> seconds) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const auto n = static_cast<double>(seconds.size());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / n;
  double squares = 0;
  for (const double s : seconds) squares += (s - mean) * (s - mean);
  const auto put = [&](const char* what, double value) {
    out[fmt::format("{}_{}_ms", what, name)] = 1e3 * value;
  };
  put("mean", mean);
  put("median", quantile(seconds, 0.5));
  put("std", std::sqrt(squares / n));
  put("p50", quantile(seconds, 0.5));
  put("p90", quantile(seconds, 0.9));
  put("p95", quantile(seconds, 0.95));
  put("p99", quantile(seconds, 0.99));
}

std::vector<const MeasuredRequest*> completed_of(const MeasuredRun& run) {
  std::vector<const MeasuredRequest*> out;
  for (const MeasuredRequest& r : run.requests) {
    if (r.completed) out.push_back(&r);
  }
  return out;
}

/// A log's requests, checked, on one clock and in order of arrival; warm-up is still among them.
std::vector<MeasuredRequest> requests_of(const RequestLogFile& log) {
  const auto known = [](const LoggedRequest& row, RequestField field) {
    return row.knows(field) ? row.at(field) : kUnknownTime;
  };
  std::vector<MeasuredRequest> requests;
  for (const LoggedRequest& row : log.rows) {
    if (!row.usable()) continue;
    MeasuredRequest r;
    r.line = row.line;
    r.arrival_s = row.at(RequestField::kArrival);
    r.queued_s = known(row, RequestField::kQueued);
    r.scheduled_s = known(row, RequestField::kScheduled);
    r.first_token_s = known(row, RequestField::kFirstToken);
    r.last_token_s = known(row, RequestField::kLastToken);
    r.input_tokens = *row.input_tokens;
    r.output_tokens = row.output_tokens.value_or(0);
    r.completed = row.completed;
    r.client_sent_s = row.client_sent_s;
    r.client_ttft_s = row.client_ttft_s;
    requests.push_back(r);
  }
  std::stable_sort(
      requests.begin(), requests.end(),
      [](const MeasuredRequest& a, const MeasuredRequest& b) { return a.arrival_s < b.arrival_s; });
  return requests;
}

/// A log against what other files say that it holds.
void check_count(const RequestLogFile& log, const ExpectedCount& expected,
                 const MeasuredOptions& options, std::vector<std::string>& notes) {
  const auto completed = std::count_if(log.rows.begin(), log.rows.end(),
                                       [](const LoggedRequest& row) { return row.completed; });
  const std::uint64_t found =
      expected.completed ? static_cast<std::uint64_t>(completed) : log.rows.size();
  if (found == expected.requests) return;
  const std::string message =
      fmt::format("expected as many {}requests as in {}, {}, found {}: {}",
                  expected.completed ? "completed " : "", log.path, found, expected.requests,
                  found < expected.requests ? "requests are missing from the log"
                                            : "the two are not of the same run");
  if (!options.allow_missing) throw InputError(Fault::kTrace, expected.where, message);
  notes.push_back(expected.where.prefix() + message);
}

/// Means that a file reports against those of its requests.
void check_means(MeasuredRun& run) {
  constexpr double kTolerance = 0.05;
  constexpr double kUnits = 300;  // between honest differences and a factor of 1000
  const auto computed = metrics_of(run);
  for (const char* key : {"mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"}) {
    const auto reported = run.metrics.find(key);
    const auto own = computed.find(key);
    if (reported == run.metrics.end() || own == computed.end()) continue;
    if (own->second <= 0 || reported->second <= 0) continue;
    const double ratio = reported->second / own->second;
    if (ratio > kUnits || ratio < 1 / kUnits) {
      throw InputError(
          Fault::kTrace, {run.facts.source, 0, key},
          fmt::format("expected about the {:.4g} ms of the requests, found {:.4g}: one "
                      "of the two is off by a factor of 1000",
                      own->second, reported->second));
    }
    if (std::abs(ratio - 1) <= kTolerance) continue;
    run.notes.push_back(fmt::format(
        "{} is reported as {:.1f}, its requests have {:.1f} ({:+.1f}%); theirs is used", key,
        reported->second, own->second, 100 * (own->second / reported->second - 1)));
  }
}

void refuse_second(const std::string& what, const std::string& first, const std::string& second) {
  throw InputError(Fault::kTrace, {second, 0, ""},
                   fmt::format("expected one {}, found also {}", what, first));
}

}  // namespace

MeasuredRun load_measured(const std::vector<std::string>& files, const MeasuredOptions& options) {
  KV_ASSERT(!files.empty(), "a measured run needs a file");
  MeasuredParts parts;
  for (const std::string& path : files) {
    try {
      read_file(path, parts);
    } catch (const RowError& error) {  // which advises to check a trace
      throw InputError(error.fault(), error.where(), error.message());
    }
  }
  // A client's view of requests gives way to the engine's.
  if (parts.logs.size() == 2 && parts.logs[0].client != parts.logs[1].client) {
    const std::size_t client = parts.logs[0].client ? 0 : 1;
    join_client(parts.logs[1 - client], parts.logs[client], parts.notes);
    parts.logs.erase(parts.logs.begin() + static_cast<std::ptrdiff_t>(client));
  }
  if (parts.logs.size() > 1) {
    refuse_second("request log", parts.logs[0].path, parts.logs[1].path);
  }
  if (parts.counters.size() > 1) {
    refuse_second("file of counters", parts.counters[0].path, parts.counters[1].path);
  }
  MeasuredRun run;
  run.name = !parts.name.empty() ? parts.name : std::filesystem::path(files[0]).filename().string();
  run.files = files;
  run.notes = std::move(parts.notes);
  LogClock clock;
  if (!parts.logs.empty()) {
    RequestLogFile& log = parts.logs[0];
    check_rows(log, options, run.notes);
    check_units(log);
    clock = one_clock(log, run.notes);
    for (const ExpectedCount& expected : parts.expected) {
      check_count(log, expected, options, run.notes);
    }
    run.requests = requests_of(log);
  }
  if (!parts.counters.empty()) {
    check_counters(parts.counters[0], run.requests, clock, options, run.notes);
    run.counters = std::move(parts.counters[0].rows);
  }
  check_warmup(run.requests, options, run.notes);
  run.metrics = std::move(parts.metrics);
  run.facts = std::move(parts.facts);
  if (!parts.logs.empty()) {
    run.facts.clock.reset();
    if (parts.logs[0].client) run.facts.clock = "client";
  }
  check_means(run);
  return run;
}

Workload workload_of(const MeasuredRun& run, std::uint32_t block_tokens) {
  WorkloadBuilder builder(run.name, block_tokens);
  std::uint64_t next_block = 0;
  TraceRow row;
  for (const MeasuredRequest* r : completed_of(run)) {
    row.clear();
    row.line = r->line;
    row.arrival_ns = static_cast<std::int64_t>(r->arrival_s * 1e9);
    row.input_tokens = r->input_tokens;
    row.output_tokens = r->output_tokens;
    row.blocks.resize((r->input_tokens + block_tokens - 1) / block_tokens);
    std::iota(row.blocks.begin(), row.blocks.end(), next_block);  // nothing is shared
    next_block += row.blocks.size();
    builder.add(row);
  }
  return builder.build({run.name, "measured", {}});
}

std::map<std::string, double> metrics_of(const MeasuredRun& run) {
  std::map<std::string, double> out = run.metrics;
  const auto requests = completed_of(run);
  if (requests.empty()) return out;
  std::vector<double> ttft, tpot, e2el, queue;
  double input = 0;
  double output = 0;
  double begin = requests[0]->arrival_s;
  double end = begin;
  for (const MeasuredRequest* r : requests) {
    begin = std::min(begin, r->arrival_s);
    end = std::max(end, r->last_token_s);
    input += r->input_tokens;
    output += r->output_tokens;
    e2el.push_back(r->last_token_s - r->arrival_s);
    if (r->scheduled_s != kUnknownTime) queue.push_back(r->scheduled_s - r->arrival_s);
    if (r->first_token_s == kUnknownTime) continue;
    ttft.push_back(r->first_token_s - r->arrival_s);
    if (r->output_tokens > 1) {
      tpot.push_back((r->last_token_s - r->first_token_s) / (r->output_tokens - 1));
    }
  }
  add_stats(out, "ttft", std::move(ttft));
  add_stats(out, "tpot", std::move(tpot));
  add_stats(out, "e2el", std::move(e2el));
  add_stats(out, "queue_time", std::move(queue));
  const auto count = static_cast<double>(requests.size());
  out["completed"] = count;
  if (end > begin) {
    out["duration_s"] = end - begin;
    out["request_throughput"] = count / (end - begin);
    out["output_throughput"] = output / (end - begin);
    out["total_token_throughput"] = (input + output) / (end - begin);
  }
  return out;
}

}  // namespace spillway

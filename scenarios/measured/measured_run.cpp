#include "scenarios/measured/measured_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "scenarios/measured/measured_parts.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

void read_file(const std::string& path, MeasuredParts& parts) {
  auto lines = std::make_unique<LineReader>(path, open_bytes(path));
  switch (form_of(*lines)) {
    case MeasuredForm::kRequestCsv:
      return read_request_csv(std::move(lines), parts);
    case MeasuredForm::kRequestLines:
      return read_request_lines(std::move(lines), parts);
    case MeasuredForm::kCounterCsv:
      return read_counter_csv(std::move(lines), parts);
    case MeasuredForm::kJson:
      return read_measured_json(std::move(lines), parts);
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

}  // namespace

MeasuredForm form_of(LineReader& lines) {
  std::string_view line = lines.peek_content();
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (is_csv_header(line, "kv_cache") && is_csv_header(line, "running")) {
    return MeasuredForm::kCounterCsv;
  }
  if (is_csv_header(line, "arrival")) return MeasuredForm::kRequestCsv;
  if (line.starts_with('{')) {
    const bool row = has_json_key(line, "arrival_time") || has_json_key(line, "arrival_s") ||
                     has_json_key(line, "arrival_ms") || has_json_key(line, "arrival_ns");
    return row ? MeasuredForm::kRequestLines : MeasuredForm::kJson;
  }
  throw InputError(Fault::kTrace, {lines.path(), 1, ""},
                   "expected a request log (CSV or JSON lines), counters over time (CSV) or engine "
                   "arguments (JSON)");
}

MeasuredRun load_measured(const std::vector<std::string>& files, const MeasuredOptions& options) {
  KV_ASSERT(!files.empty(), "a measured run needs a file");
  MeasuredParts parts;
  for (const std::string& path : files) read_file(path, parts);
  if (parts.logs.size() > 1) {
    throw InputError(Fault::kTrace, {parts.logs[1].path, 0, ""},
                     fmt::format("expected one request log, found also {}", parts.logs[0].path));
  }
  MeasuredRun run;
  run.name = std::filesystem::path(files[0]).filename().string();
  run.files = files;
  run.notes = std::move(parts.notes);
  if (!parts.logs.empty()) run.requests = requests_of(parts.logs[0], options, run.notes);
  run.counters = std::move(parts.counters);
  run.metrics = std::move(parts.metrics);
  run.facts = std::move(parts.facts);
  return run;
}

Workload workload_of(const MeasuredRun& run, std::uint32_t block_tokens, std::uint32_t first) {
  WorkloadBuilder builder(run.name, block_tokens);
  std::uint64_t next_block = 0;
  TraceRow row;
  for (const MeasuredRequest* r : completed_of(run)) {
    if (first > 0 && builder.size() == first) break;
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

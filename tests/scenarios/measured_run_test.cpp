// Against a measured run of the real system: 300 requests on vLLM 0.19, Llama-3.1-8B, one RTX 4090,
// that arrive within 29 s and keep the GPU saturated, with preemptions, for three minutes
// (casys-kaist/LLMServingSim, bench/examples/RTX4090; MIT).
#include <charconv>
#include <numeric>

#include "scenarios/scenario.hpp"
#include "scenarios/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "traces/byte_source.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

struct Measured {
  std::vector<TraceRow> rows;  ///< in order of arrival
  std::vector<double> ttft_ms;
  std::vector<double> tpot_ms;
  std::vector<double> e2el_ms;
};

/// Columns: input_toks, output_toks, arrival_s, queued_s, scheduled_s, first_token_s, last_token_s.
Measured read_measured(const std::string& path) {
  Measured out;
  LineReader lines(path, open_bytes(path));
  std::string_view line;
  lines.next(line);  // header
  std::uint64_t next_block = 0;
  while (lines.next(line)) {
    std::vector<double> cell;
    for (const char* at = line.data(); at < line.data() + line.size(); ++at) {
      double value = 0;
      at = std::from_chars(at, line.data() + line.size(), value).ptr;
      cell.push_back(value);
    }
    REQUIRE(cell.size() == 7);
    TraceRow row;
    row.line = lines.line();
    row.input_tokens = static_cast<std::int64_t>(cell[0]);
    row.output_tokens = static_cast<std::int64_t>(cell[1]);
    row.arrival_ns = static_cast<std::int64_t>(cell[2] * 1e9);
    row.blocks.resize(static_cast<std::size_t>(ceil_div(row.input_tokens, 512)));
    std::iota(row.blocks.begin(), row.blocks.end(), next_block);  // nothing is shared
    next_block += row.blocks.size();
    out.rows.push_back(row);
    out.ttft_ms.push_back(1e3 * (cell[5] - cell[2]));
    out.e2el_ms.push_back(1e3 * (cell[6] - cell[2]));
    if (cell[1] > 1) out.tpot_ms.push_back(1e3 * (cell[6] - cell[5]) / (cell[1] - 1));
  }
  std::stable_sort(out.rows.begin(), out.rows.end(), [](const TraceRow& a, const TraceRow& b) {
    return a.arrival_ns < b.arrival_ns;
  });
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (position - static_cast<double>(low)) * (values[high] - values[low]);
}

TEST_CASE("a saturated RTX 4090, measured and simulated", "[scenarios]") {
  const auto path = test::shared_path("profiles/llmss_e2e_RTX4090_Llama-3.1-8B_requests.csv.gz");
  if (!path) return;
  const Measured measured = read_measured(*path);
  REQUIRE(measured.rows.size() == 300);
  WorkloadBuilder builder("measured", 512);
  for (const TraceRow& row : measured.rows) builder.add(row);
  const Workload workload = builder.build({"measured", "measured", {}});
  const Scenario scenario = load_scenario(JsonSource::from_text("measured.json", R"({
    "name": "measured", "model": "Llama-3.1-8B", "gpu": "RTX4090",
    "engine": {"preset": "vllm@0.19", "num_gpu_blocks": 2588, "max_num_seqs": 256,
               "max_num_batched_tokens": 2048, "max_model_len": 32768},
    "workload": {"trace": "unused.jsonl"}
  })"));
  const RunResult r = simulate(scenario, workload).result;
  REQUIRE(r.completed == 300);

  struct Row {
    const char* name;
    double measured;
    double simulated;
  };
  const Row rows[] = {
      {"mean_ttft_ms", mean(measured.ttft_ms), r.ttft.mean_ms},
      {"median_ttft_ms", percentile(measured.ttft_ms, 0.5), r.ttft.median_ms},
      {"p99_ttft_ms", percentile(measured.ttft_ms, 0.99), r.ttft.p99_ms},
      {"mean_tpot_ms", mean(measured.tpot_ms), r.tpot.mean_ms},
      {"median_tpot_ms", percentile(measured.tpot_ms, 0.5), r.tpot.median_ms},
      {"p99_tpot_ms", percentile(measured.tpot_ms, 0.99), r.tpot.p99_ms},
      {"mean_e2el_ms", mean(measured.e2el_ms), r.e2el.mean_ms},
      {"p99_e2el_ms", percentile(measured.e2el_ms, 0.99), r.e2el.p99_ms},
  };
  std::string table;
  for (const Row& row : rows) {
    table += fmt::format("{:15} measured {:9.1f}  simulated {:9.1f}  {:+.1f}%\n", row.name,
                         row.measured, row.simulated, 100 * (row.simulated / row.measured - 1));
  }
  UNSCOPED_INFO(table);  // the table is shown by `spillway_tests -s "a saturated RTX*"`
  // No parameter was fitted to this run. 5% is the bar; the worst row stood at -4% when written.
  for (const Row& row : rows) CHECK(row.simulated == Approx(row.measured).epsilon(0.05));
}

}  // namespace
}  // namespace spillway

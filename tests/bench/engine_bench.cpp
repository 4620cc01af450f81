// How fast the simulator is, and the table of tests/bench/CONVERSATION.md.
//
//   build/bench/spillway_bench              timings of reading, replaying and simulating
//   build/bench/spillway_bench "[table]"    the conversation trace, five pool sizes at three speeds
//
// The table runs the real program once per row, so its seconds hold start, reading and simulation;
// they are processor time, for a busy machine stretches the wall clock.
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "models/cache_replay.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"

namespace spillway {
namespace {

const char kTrace[] = "traces/mooncake_fast25_conversation.jsonl.gz";

Scenario scenario_of(const char* name, const std::string& trace) {
  JsonSource source =
      JsonSource::from_file(test::source_path(std::string("scenarios/library/") + name));
  source.set("workload.trace=" + trace);
  return load_scenario(source);
}

/// Processor time of all child processes so far.
double child_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_CASE("the bundled sample", "[bench]") {
  const std::string path = test::source_path("traces/samples/chat.jsonl.gz");
  const Scenario scenario = scenario_of("quickstart.json", path);
  const Workload workload = open_trace(path, {});
  BENCHMARK("read 2,000 requests") {
    return open_trace(path, {}).size();
  };
  BENCHMARK("simulate 2,000 requests, 64 GiB") {
    return simulate(scenario, workload).result.engine_steps;
  };
}

TEST_CASE("the Mooncake conversation trace", "[bench]") {
  const std::string path = test::material(kTrace).path;
  const Scenario scenario = scenario_of("mooncake-conversation.json", path);
  const Workload workload = open_trace(path, {});
  BENCHMARK(
      fmt::format("read {} requests, {} blocks, gzip", workload.size(), workload.references())) {
    return open_trace(path, {}).size();
  };
  BENCHMARK("simulate it at 0.35x, 1 TiB") {
    return simulate(scenario, workload).result.engine_steps;
  };
  const SimulationOutcome once = simulate(scenario, workload);
  fmt::print("one run: {:.3f} s; {:.0f} requests/s; {:.0f} engine steps/s; {:.0f} events/s\n",
             once.result.sim.wall_s, once.result.sim.requests_per_wall_s,
             once.result.sim.steps_per_wall_s,
             static_cast<double>(once.result.sim.events) / once.result.sim.wall_s);
}

TEST_CASE("table of the README", "[.table]") {
  const auto trace = test::published(kTrace);
  if (!trace) {
    fmt::print("the table of the README is of the published trace, which is not here\n");
    return;
  }
  fmt::print(
      "| speed | DRAM | HBM hits | DRAM hits | TTFT p50 / p99 s | TPOT p50 / p99 ms | queue p50 s "
      "| "
      "preempted | D2H / H2D busy | CPU s | RSS MB |\n"
      "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (const char* speed : {"0.2", "0.35", "1"}) {
    for (const char* size : {"0GiB", "64GiB", "256GiB", "1024GiB", "4096GiB"}) {
      const double before = child_cpu_s();
      const test::CliResult run =
          test::spillway({"run", test::source_path("scenarios/library/mooncake-conversation.json"),
                          "--quiet", "--json", "-", "--set", "workload.trace=" + *trace, "--set",
                          std::string("workload.speed=") + speed, "--set",
                          std::string("tiers.0.capacity=") + size});
      const double cpu_s = child_cpu_s() - before;
      REQUIRE(run.code == 0);
      const nlohmann::json r = nlohmann::json::parse(run.out)["results"];
      const auto& source = r["prompt_tokens_by_source"];
      const double prompt = r["total_input_tokens"];
      const auto share = [&](const char* name) { return 100 * source.value(name, 0.0) / prompt; };
      const auto busy = [&](std::size_t link) {
        return r["links"].size() > link ? 100 * r["links"][link]["busy_fraction"].get<double>() : 0;
      };
      const auto number = [&](const char* key) { return r[key].get<double>(); };
      fmt::print(
          "| {}x | {} | {:.1f}% | {:.1f}% | {:.1f} / {:.1f} | {:.0f} / {:.0f} | {:.1f} | {} | "
          "{:.1f}% / {:.1f}% | {:.2f} | {:.0f} |\n",
          speed, size, share("hbm"), share("dram"), number("median_ttft_ms") / 1e3,
          number("p99_ttft_ms") / 1e3, number("median_tpot_ms"), number("p99_tpot_ms"),
          r["queue_time_ms"]["p50"].get<double>() / 1e3, number("preemptions"), busy(0), busy(1),
          cpu_s, r["sim"]["peak_rss_bytes"].get<double>() / 1e6);
    }
  }
}

}  // namespace
}  // namespace spillway

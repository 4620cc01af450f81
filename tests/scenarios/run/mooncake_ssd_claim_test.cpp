// The committed page on Mooncake's SSD: what its rows say is what runs give.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kRounds = 9;        // the tenth is longer than the context
constexpr std::uint32_t kTurn = 4'096 + 1;  // a question and its answer

struct Round {
  std::uint64_t asked = 0;  // prompt tokens
  std::uint64_t found = 0;
  double ttft_s = 0;
  std::uint32_t requests = 0;

  std::string text() const {
    return fmt::format("{:.1f}% | {:.2f} s",
                       100 * static_cast<double>(found) / static_cast<double>(asked),
                       ttft_s / requests);
  }
};

std::array<Round, kRounds> rounds_of(const std::vector<std::string>& assignments) {
  JsonSource source =
      JsonSource::from_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/mooncake-ssd.json");
  for (const std::string& set : assignments) source.set(set);
  const Scenario scenario = load_scenario(source);
  Journal journal;
  SimulationOptions options;
  options.observers.push_back(&journal);
  simulate(scenario, open_workload(scenario, {}), options);
  std::array<Round, kRounds> out{};
  for (const RequestRecord& r : journal.requests) {
    if (r.status != RequestStatus::kCompleted) continue;
    Round& round = out.at((r.input_tokens + 1) / kTurn - 1);
    round.asked += r.input_tokens;
    round.found += std::accumulate(r.cached_tokens.begin(), r.cached_tokens.end(), 0U);
    round.ttft_s += seconds_of(r.first_token - r.arrival);
    ++round.requests;
  }
  return out;
}

void check_rows(const std::vector<std::string>& assignments, std::uint32_t first,
                std::uint32_t last) {
  const std::string page = read_text_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/mooncake-ssd.md");
  std::vector<std::string> memory_only = assignments;
  memory_only.push_back("tiers.1.store.enable_offload=false");
  const std::array<Round, kRounds> without = rounds_of(memory_only);
  const std::array<Round, kRounds> with = rounds_of(assignments);
  for (std::uint32_t i = first - 1; i < last; ++i) {
    const std::string line =
        fmt::format("| {} | {} | {} |", i + 1, without[i].text(), with[i].text());
    INFO(line);
    CHECK(without[i].requests == 20);
    CHECK(page.find(line) != std::string::npos);
  }
}

TEST_CASE("the page on Mooncake's SSD says what runs give", "[scenarios]") {
  check_rows({}, 1, kRounds);
  check_rows({"workload.benchmark.concurrency=8"}, 7, 8);
}

}  // namespace
}  // namespace spillway::test

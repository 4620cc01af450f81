// The committed page on hand-offs: what its rows say is what runs give, within 10% of what was
// published.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Row {
  std::uint32_t tokens;
  const char* published_size;
  double published_bytes;
  const char* published_time;
};
constexpr double kMib = 1 << 20;

struct HandOff {
  double bytes;
  double ms;
};

/// Of each request: it is alone, so its put takes nothing but its own time.
std::vector<HandOff> hand_offs(const std::vector<std::string>& sets) {
  JsonSource source = JsonSource::from_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/hand-off.json");
  for (const std::string& set : sets) source.set(set);
  const Scenario scenario = load_scenario(source);
  struct Puts final : Observer {
    std::vector<HandOff> all;
    void on_transfer(const TransferRecord& t) override {
      all.push_back(
          {static_cast<double>(t.payload.count()), seconds_of(t.ended - t.started) * 1e3});
    }
  } puts;
  SimulationOptions options;
  options.observers.push_back(&puts);
  simulate(scenario, open_workload(scenario, {}), options);
  return puts.all;
}

void check_row(const Row& row, const HandOff& found, const std::string& size) {
  const double published = std::stod(row.published_time);
  const double error = found.ms / published - 1;
  const std::string line =
      fmt::format("| {} | {} | {} | {:.2f} ms | {} ms | {:+.1f}% |", row.tokens, size,
                  row.published_size, found.ms, row.published_time, 100 * error);
  INFO(line);
  const std::string page = read_text_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/hand-off.md");
  CHECK(page.find(line) != std::string::npos);
  CHECK(std::abs(error) < 0.1);
  CHECK(std::abs(found.bytes / row.published_bytes - 1) < 0.1);
}

TEST_CASE("hand-offs of vLLM take the bytes and the time that were published", "[scenarios]") {
  constexpr std::array<Row, 9> kRows = {{{128, "20 MB", 20 * kMib, "0.54"},
                                         {256, "38 MB", 38 * kMib, "0.61"},
                                         {512, "74 MB", 74 * kMib, "0.92"},
                                         {1024, "146 MB", 146 * kMib, "1.50"},
                                         {2048, "290 MB", 290 * kMib, "2.51"},
                                         {4096, "578 MB", 578 * kMib, "4.75"},
                                         {8192, "1.13 GB", 1.13 * 1024 * kMib, "8.84"},
                                         {16384, "2.25 GB", 2.25 * 1024 * kMib, "16.43"},
                                         {32768, "4.50 GB", 4.5 * 1024 * kMib, "31.65"}}};
  const std::vector<HandOff> found = hand_offs({});
  REQUIRE(found.size() == kRows.size());
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    check_row(kRows[i], found[i], fmt::format("{:.1f} MiB", found[i].bytes / kMib));
  }
}

TEST_CASE("hand-offs of SGLang take the bytes and the time that were published", "[scenarios]") {
  constexpr std::array<std::pair<std::size_t, Row>, 3> kRows = {
      {{3, {1024, "394 MB", 394e6, "3.96"}},
       {6, {8192, "3.15 GB", 3.15e9, "20.3"}},
       {8, {32768, "12.62 GB", 12.62e9, "76.8"}}}};
  const std::vector<HandOff> found =
      hand_offs({R"(model={"kv_bytes_per_token":385024})", "engine.block_tokens=64",
                 "links.0.nics=4", "links.0.bandwidth=41.9GB/s", "links.0.latency_us=1600"});
  for (const auto& [at, row] : kRows) {
    check_row(row, found.at(at), fmt::format("{:.0f} MB", found.at(at).bytes / 1e6));
  }
}

TEST_CASE("nics are for affine links of the first tier", "[scenarios]") {
  const auto refused = [](const std::string& set) {
    JsonSource source =
        JsonSource::from_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/hand-off.json");
    source.set(set);
    try {
      load_scenario(source);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(refused("links.0.nics=0"), Catch::Contains("links.0.nics"));
  CHECK_THAT(refused("links.0.nics=65"), Catch::Contains("64"));
  CHECK_THAT(refused("links.0.slice=0B"), Catch::Contains("links.0.slice"));
  CHECK_THAT(refused(R"(links.0={"name":"put","from":"hbm","to":"peer","kind":"constant",)"
                     R"("bandwidth":"1GB/s","nics":2})"),
             Catch::Contains("only with kind affine"));
  CHECK_THAT(refused(R"(links.0={"name":"put","from":"hbm","to":"peer","kind":"affine",)"
                     R"("latency_us":1,"bandwidth":"1GB/s","slice":"1MiB"})"),
             Catch::Contains("only with nics"));
}

}  // namespace
}  // namespace spillway::test

// What links share: media, other clients, methods of copying, and transfers nobody measured.
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// The reference scenario whose two links are each given `more` keys, with `top` before them.
std::string with_links(const std::string& more, const std::string& top = "") {
  std::vector<std::string> lines = reference_lines();
  const auto end = [&](const char* name, const char* from, const char* to) {
    return fmt::format(R"({{"name": "{}", "from": "{}", "to": "{}", {}}})", name, from, to, more);
  };
  lines[kDownLine - 2] = top + lines[kDownLine - 2];
  lines[kDownLine - 1] = end("d2h", "hbm", "dram") + ",";
  lines[kUpLine - 1] = end("h2d", "dram", "hbm") + "],";
  return joined(lines);
}

const char kAffine[] = R"("kind": "affine", "latency_us": 10, "bandwidth": "25GB/s")";

/// Prompts that repeat behind a small HBM, so that both directions are used.
RunResult run_of(const std::string& text, Notes* warnings = nullptr) {
  JsonSource source = JsonSource::from_text("s.json", text);
  source.set("engine.num_gpu_blocks=128");
  const Scenario scenario = load_scenario(source);
  const SimulationOutcome out = simulate(scenario, repeating(200, 20, 20, 8));
  if (warnings != nullptr) *warnings = out.warnings;
  return out.result;
}

TEST_CASE("a wide medium changes no time, and every byte on it is shown", "[scenarios]") {
  const RunResult plain = run_of(with_links(kAffine));
  const RunResult wide =
      run_of(with_links(std::string(kAffine) + R"(, "through": ["root"])",
                        R"("media": [{"name": "root", "bandwidth": "100GB/s"}],)"));
  REQUIRE(plain.links.size() == 2);
  REQUIRE(wide.links.size() == 3);
  CHECK(wide.ttft.mean_ms == plain.ttft.mean_ms);
  CHECK(wide.duration_s == plain.duration_s);
  const LinkResult& root = wide.links[2];
  CHECK(root.name == "root");
  CHECK(root.medium);
  CHECK(root.bytes == wide.links[0].bytes + wide.links[1].bytes);
  CHECK(root.bytes > 0);
  CHECK(root.transfers == wide.links[0].transfers + wide.links[1].transfers);
  CHECK(root.capacity_bytes_per_s == 100e9);
  CHECK(root.peak_bytes_per_s <= 100e9);
  // A document of its own: what it says survives being written and read.
  const RunResult again = run_from_json(to_json(wide));
  CHECK(again.links[2].medium);
  CHECK_FALSE(again.links[0].medium);
}

TEST_CASE("a narrow medium is the bottleneck of both directions, fair or in order", "[scenarios]") {
  const RunResult plain = run_of(with_links(kAffine));
  for (const char* discipline : {"fair", "fifo"}) {
    const RunResult narrow =
        run_of(with_links(std::string(kAffine) + R"(, "through": ["root"])",
                          fmt::format(R"("media": [{{"name": "root", "bandwidth": "2GB/s",)"
                                      R"( "discipline": "{}"}}],)",
                                      discipline)));
    INFO(discipline);
    CHECK(narrow.ttft.mean_ms > plain.ttft.mean_ms);
    CHECK(narrow.links[2].bytes == narrow.links[0].bytes + narrow.links[1].bytes);
    CHECK(narrow.links[2].busy_fraction <= 1);
    CHECK(narrow.links[2].peak_bytes_per_s <= 2e9 * 1.000001);
  }
}

TEST_CASE("a load over a narrow medium takes its rate, or that and the link's own", "[scenarios]") {
  // HBM holds one document of 64 MiB. Document 0 comes again at 1 s, when nothing else moves: it is
  // loaded whole, 67,108,864 bytes, and one token is computed.
  const auto ttft = [](const std::string& text) {
    JsonSource source = JsonSource::from_text("s.json", text);
    source.set("engine.num_gpu_blocks=33");
    Journal journal;
    SimulationOptions options;
    options.observers = {&journal};
    simulate(load_scenario(source),
             workload_of({{0, 512, 1, {0}}, {500, 512, 1, {1}}, {1000, 512, 1, {0}}}, 512),
             options);
    CHECK(journal.requests[2].cached_tokens[1] == 512);
    return (journal.requests[2].first_token - journal.requests[2].arrival).count();
  };
  const auto narrow = [&](const char* discipline) {
    return ttft(with_links(std::string(kAffine) + R"(, "through": ["root"])",
                           fmt::format(R"("media": [{{"name": "root", "bandwidth": "2GB/s",)"
                                       R"( "discipline": "{}"}}],)",
                                       discipline)));
  };
  const std::int64_t link = 10'000 + (67'108'864 + 24) / 25;
  const std::int64_t medium = 67'108'864 / 2;
  CHECK(ttft(with_links(kAffine)) == link + step_ns(1, 512));
  // Fair shares are crossed with the link's own engine, at the lower of two rates; the 10 us are
  // part of the link's.
  CHECK(narrow("fair") == medium + step_ns(1, 512));
  // A medium that serves in order comes first, and the link behind it.
  CHECK(narrow("fifo") == medium + link + step_ns(1, 512));
}

TEST_CASE("clients that share a link load it, and the result says how", "[scenarios]") {
  Notes warnings;
  const RunResult alone = run_of(with_links(kAffine));
  const RunResult shared =
      run_of(with_links(std::string(kAffine) + R"(, "shared_by": 4)"), &warnings);
  CHECK(says(warnings, "Link d2h is shared by 4 clients."));
  REQUIRE(shared.links.size() == 4);
  CHECK(shared.links[3].name == "h2d shared");
  // Everybody's bytes cross it: four times this engine's.
  CHECK(shared.links[2].bytes == 4 * shared.links[0].bytes);
  CHECK(shared.links[3].bytes == 4 * shared.links[1].bytes);
  CHECK(shared.ttft.mean_ms >= alone.ttft.mean_ms);
  // Delays are drawn from the seed.
  CHECK(digest_of(to_json(run_of(with_links(std::string(kAffine) + R"(, "shared_by": 4)")))) ==
        digest_of(to_json(shared)));
}

TEST_CASE("a hop between sockets takes its factor of the rate", "[scenarios]") {
  const Scenario s = scenario_of(with_links(std::string(kAffine) + R"(, "numa_penalty": 0.5)"));
  // 10 us + 25,000 bytes at 12.5 GB/s.
  CHECK(s.up->make()->service_time(Bytes(25'000), 1) == Duration(12'000));
}

TEST_CASE("a method names the published link it takes", "[scenarios]") {
  std::vector<std::string> lines = gpu_lines();
  lines[kDownLine - 2] =
      R"("links": [{"name": "d2h", "from": "hbm", "to": "dram", "kind": "default",)"
      R"( "method": "dma"}],)";
  const Scenario s = scenario_of(joined(lines));
  CHECK(s.down->method == "dma");
  CHECK(s.down->submit == Duration(6000));
  CHECK_THAT(s.down->source, ContainsSubstring("a loop of copies at 6 us"));
  CHECK(s.up->method.empty());
  CHECK(s.up->submit == Duration(0));
}

TEST_CASE("a constant link is its rate alone", "[scenarios]") {
  const Scenario s = scenario_of(with_links(R"("kind": "constant", "bandwidth": "2GB/s")"));
  CHECK(s.up->make()->service_time(Bytes(2000), 5) == Duration(1000));
}

TEST_CASE("transfers that nobody measured are counted and explained", "[scenarios]") {
  Notes warnings;
  // The reference block is 2 MiB in one piece: beyond the table.
  const RunResult beyond = run_of(
      with_links(R"("kind": "table", "copy_bytes": ["4KiB", "1MiB"], "gbs": [5, 20])"), &warnings);
  CHECK(beyond.links[0].extrapolated.transfers == beyond.links[0].transfers);
  CHECK(beyond.links[0].extrapolated.least_piece == 2 << 20);
  CHECK(find_note(warnings, "beyond-calibration"));
  const RunResult across = run_of(
      with_links(R"("kind": "table", "copy_bytes": ["1MiB", "4MiB"], "gbs": [5, 20])"), &warnings);
  CHECK(across.links[1].across_step.transfers == across.links[1].transfers);
  CHECK(across.links[1].extrapolated.transfers == 0);
  CHECK(find_note(warnings, "between-rates"));
  CHECK(to_json(across)["links"][1]["across_step_transfers"] == across.links[1].transfers);
  CHECK_FALSE(to_json(across)["links"][1].contains("extrapolated_transfers"));
  const RunResult inside = run_of(
      with_links(R"("kind": "table", "copy_bytes": ["1MiB", "4MiB"], "gbs": [15, 20])"), &warnings);
  CHECK(inside.links[1].across_step.transfers == 0);
  CHECK_FALSE(says(warnings, "measured"));
}

TEST_CASE("malformed media and sharing are refused", "[scenarios]") {
  const auto message = [](const std::string& text) {
    const InputError error = error_of([&] { scenario_of(text); });
    CHECK(error.fault() == Fault::kUsage);
    return std::string(error.what());
  };
  const std::string root = R"("media": [{"name": "root", "bandwidth": "100GB/s"}],)";
  CHECK_THAT(message(with_links(std::string(kAffine) + R"(, "through": ["roof"])", root)),
             ContainsSubstring("unknown medium \"roof\"; known: root"));
  CHECK_THAT(message(with_links(std::string(kAffine) + R"(, "through": ["root"])")),
             ContainsSubstring("known: none (media lists them)"));
  CHECK_THAT(message(with_links(std::string(kAffine) + R"(, "through": ["root", "root"])", root)),
             ContainsSubstring("expected each medium once"));
  CHECK_THAT(message(with_links(std::string(kAffine) + R"(, "method": "dna")")),
             ContainsSubstring("unknown method \"dna\"; did you mean \"dma\"?"));
  CHECK_THAT(message(with_links(std::string(kAffine) + R"(, "shared_by": 0)")),
             ContainsSubstring("shared_by"));
  CHECK_THAT(message(with_links(R"("kind": "default")")),
             ContainsSubstring("expected a gpu in the scenario"));
  CHECK_THAT(message(with_links(kAffine, R"("media": [{"name": "root"}],)")),
             ContainsSubstring("bandwidth"));
  CHECK_THAT(message(with_links(kAffine, R"("media": [{"name": "a", "bandwidth": "1GB/s",)"
                                         R"( "discipline": "lifo"}],)")),
             ContainsSubstring("unknown discipline \"lifo\"; did you mean \"fifo\"?"));
  CHECK_THAT(message(with_links(kAffine, R"("media": [{"name": "a", "bandwidth": "1GB/s"},)"
                                         R"( {"name": "a", "bandwidth": "1GB/s"}],)")),
             ContainsSubstring("two media are called \"a\""));
}

}  // namespace
}  // namespace spillway::test

// Tiers and links: malformed ones, and the hop that nobody described.
#include <fmt/ranges.h>

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/defaults.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

std::string link_with(const std::string& fields) {
  return fmt::format(R"({{"name": "d2h", "from": "hbm", "to": "dram", {}}},)", fields);
}

std::string table_with(const std::string& sizes, const std::string& copies,
                       const std::string& gbs) {
  return link_with(fmt::format(R"("kind": "table", "copy_bytes": {}, "copies": {}, "gbs": {})",
                               sizes, copies, gbs));
}

TEST_CASE("malformed tiers", "[scenarios]") {
  const auto tier = [](const std::string& fields) {
    return fmt::format(R"("tiers": [{{"name": "dram", "kind": "dram", {}}}],)", fields);
  };
  refused(
      reference_lines(),
      {{kTierLine, R"("tiers": {},)", "tiers: expected an array of objects, found {}"},
       {kTierLine, R"("tiers": ["dram"],)",
        "tiers.0: expected an object for tiers[], found \"dram\""},
       {kTierLine, tier(R"("capacity": "1GiB", "size": 1)"),
        "tiers.0.size: unknown key of tiers[]"},
       {kTierLine, tier(R"("capacity": 64)"),
        "tiers.0.capacity: expected a size with its unit, e.g. \"64GiB\", found 64"},
       {kTierLine, tier(R"("capacity": "64")"), "tiers.0.capacity: expected a size with a unit"},
       {kTierLine, tier(R"("capacity": "-1GiB")"), "tiers.0.capacity: expected a size with a unit"},
       {kTierLine, tier(R"("scope": "node", "capacity": "1GiB")"),
        "tiers.0.scope: expected instance or rank, found \"node\": each engine pins a pool"},
       {kTierLine, tier(R"("capacity": "1GiB", "eviction": "lur")"),
        "tiers.0.eviction: unknown eviction policy \"lur\"; did you mean \"lru\"?"},
       {kTierLine, tier(R"("scope": "instance")"),
        "tiers.0.capacity: missing; expected a size with its unit"},
       {kTierLine, R"("tiers": [{"kind": "dram", "capacity": "1GiB"}],)",
        "tiers.0.name: missing; expected a string"},
       {kTierLine, R"("tiers": [{"name": "hbm", "kind": "dram", "capacity": "1GiB"}],)",
        "tiers.0.name: \"hbm\" is taken; hbm is the implicit first tier"},
       {kTierLine, R"("tiers": [{"name": "dram", "kind": "nmve", "capacity": "1GiB"}],)",
        "tiers.0.kind: unknown kind \"nmve\"; did you mean \"nvme\"?"},
       {kTierLine,
        R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "1GiB"},)"
        R"( {"name": "ssd", "kind": "nvme", "capacity": "0GiB"}],)",
        "tiers.1.capacity: expected room for a chunk, or inf"}});
}

TEST_CASE("a tier that holds no block, or more bytes than can be counted", "[scenarios]") {
  // A block of the reference has 16 x 131072 = 2,097,152 bytes; 2^62 bytes are 2^41 of them.
  const auto tier = [](const std::string& capacity) {
    return fmt::format(R"("tiers": [{{"name": "dram", "kind": "dram", "capacity": "{}"}}],)",
                       capacity);
  };
  const std::string at = "tiers.0.capacity: ";
  refused(reference_lines(),
          {{kTierLine, tier("2047KiB"), at + "2047KiB holds no block of 2097152 bytes"},
           {kTierLine, tier("2199023255553blocks"),
            at + "\"2199023255553blocks\" of 2097152 bytes each is too large"},
           {kPlanLine, R"("plan": {"sizes": ["0GiB", "1KiB"]},)",
            "plan.sizes: 1KiB holds no block of 2097152 bytes"}});
  const auto loaded = [&](const std::string& capacity) {
    return scenario_of(with_line(reference_lines(), kTierLine, tier(capacity)));
  };
  CHECK_NOTHROW(loaded("2048KiB"));
  CHECK_NOTHROW(loaded("2199023255552blocks"));
  CHECK_NOTHROW(loaded("0GiB"));
  CHECK_NOTHROW(loaded("inf"));
}

TEST_CASE("malformed links", "[scenarios]") {
  refused(
      reference_lines(),
      {{kDownLine, link_with(R"("kind": "affine", "latency_us": 10)"),
        "links.0.bandwidth: missing; expected a rate with its unit"},
       {kDownLine, link_with(R"("kind": "affine", "bandwidth": "25GB/s")"),
        "links.0.latency_us: missing; expected a number from 0 to 1000000000"},
       {kDownLine, link_with(R"("kind": "affine", "latency_us": -1, "bandwidth": "25GB/s")"),
        "links.0.latency_us: expected a number from 0 to 1000000000, found -1"},
       {kDownLine, link_with(R"("kind": "affine", "latency_us": 1, "bandwidth": "25GB")"),
        "links.0.bandwidth: expected a rate with a unit"},
       {kDownLine, link_with(R"("kind": "affine", "latency_us": 1, "bandwidth": 25)"),
        "links.0.bandwidth: expected a rate with its unit, e.g. \"25GB/s\", found 25"},
       {kDownLine, link_with(R"("kind": "linear")"),
        "links.0.kind: unknown kind \"linear\"; known: affine, constant"},
       {kDownLine, link_with(R"("kind": "affine", "latency_ms": 1)"),
        "links.0.latency_ms: unknown key of links[] \"latency_ms\"; did you mean \"latency_us\"?"},
       {kDownLine, link_with(R"("kind": "affine", "duplex_factor": 2)"),
        "links.0.duplex_factor: expected a number from 0.01 to 1, found 2"},
       {kDownLine,
        link_with(R"("kind": "affine", "latency_us": 1, "bandwidth": "1GB/s", "gbs": [1])"),
        "links.0.gbs: expected only with kind table"}});
}

TEST_CASE("links to nowhere", "[scenarios]") {
  const auto link = [](const std::string& from, const std::string& to) {
    return fmt::format(R"({{"name": "x", "from": "{}", "to": "{}", "kind": "affine",)"
                       R"( "latency_us": 1, "bandwidth": "1GB/s"}},)",
                       from, to);
  };
  refused(reference_lines(),
          {{kDownLine, link("hbm", "drma"), "links.0.to: unknown tier \"drma\"; known: hbm, dram"},
           {kDownLine, link("gpu", "dram"), "links.0.from: unknown tier \"gpu\"; known: hbm, dram"},
           {kDownLine, link("hbm", "hbm"), "links.0.to: expected two different ends"}});
  const std::string namesakes =
      with_line(reference_lines(), kDownLine,
                R"({"name": "h2d", "from": "hbm", "to": "dram", "kind": "affine",)"
                R"( "latency_us": 1, "bandwidth": "1GB/s"},)");
  CHECK_THAT(error_of([&] { scenario_of(namesakes); }).what(),
             ContainsSubstring("links.1.name: two links are called \"h2d\""));
  // Two links of one direction: the second is at fault, on its own line.
  const std::string twice = with_line(reference_lines(), kDownLine, link("dram", "hbm"));
  CHECK_THAT(error_of([&] { scenario_of(twice); }).what(),
             ContainsSubstring("s.json:10: links.1.name: a second link from dram to hbm"));
  const std::string untiered = with_line(reference_lines(), kTierLine, "");
  CHECK_THAT(error_of([&] { scenario_of(untiered); }).what(),
             ContainsSubstring("s.json:9: links.0.to: expected a tier for this link to lead to"));
}

TEST_CASE("malformed rate tables", "[scenarios]") {
  refused(reference_lines(),
          {{kDownLine, link_with(R"("kind": "table")"),
            "links.0.copy_bytes: missing; expected ascending copy sizes"},
           {kDownLine, table_with("[]", "[1]", "[]"),
            "links.0.copy_bytes: missing; expected ascending"},
           {kDownLine, table_with("[4096]", "[1]", "[1]"),
            "links.0.copy_bytes: expected an array, each item a size with its unit, e.g. "
            "\"64GiB\", found 4096"},
           {kDownLine, table_with(R"(["4096"])", "[1]", "[1]"),
            "links.0.copy_bytes: expected a size with a unit"},
           {kDownLine, table_with(R"(["2MiB", "4KiB"])", "[1]", "[1, 2]"),
            "links.0.copy_bytes: expected ascending sizes above 0"},
           {kDownLine, table_with(R"(["0B"])", "[1]", "[1]"),
            "links.0.copy_bytes: expected ascending sizes above 0"},
           {kDownLine, table_with(R"(["4KiB"])", "[2, 1]", "[1, 2]"),
            "links.0.copies: expected ascending counts"},
           {kDownLine, table_with(R"(["4KiB"])", "[]", "[]"),
            "links.0.copies: expected ascending counts"},
           {kDownLine, table_with(R"(["4KiB", "2MiB"])", "[1, 8]", "[1, 2, 3]"),
            "links.0.gbs: expected 2 x 2 rates, found 3"},
           {kDownLine, table_with(R"(["4KiB"])", "[1]", "[0]"),
            "links.0.gbs: expected an array of numbers from 1e-06 to 1000000, found 0"},
           {kDownLine, table_with(R"(["4KiB"])", "[1]", "null"),
            "links.0.gbs: missing; expected rates"},
           {kDownLine, link_with(R"("kind": "table", "bandwidth": "25GB/s")"),
            "links.0.bandwidth: expected only with kind affine"}});
}

/// gpu_lines() with one link, hbm to dram, given.
std::vector<std::string> half_linked() {
  std::vector<std::string> lines = gpu_lines();
  lines[kDownLine - 1] =
      R"("links": [{"name": "mine", "from": "hbm", "to": "dram", "kind": "affine",)"
      R"( "latency_us": 1.5, "bandwidth": "1GB/s"}],)";
  return lines;
}

TEST_CASE("a hop without a link and without a GPU is an error", "[scenarios]") {
  const auto message = [](int broken) {
    const std::string text = with_line(reference_lines(), broken, "");
    return std::string(error_of([&] { scenario_of(text); }).what());
  };
  std::vector<std::string> none = reference_lines();
  none[kDownLine - 2] = none[kDownLine - 1] = none[kUpLine - 1] = "";
  CHECK(std::string(error_of([&] { scenario_of(joined(none)); }).what()) ==
        "s.json:2: links: missing; expected a link hbm to dram (no gpu to take a default from)");
  CHECK_THAT(message(kDownLine), ContainsSubstring("links: missing; expected a link hbm to dram"));
}

TEST_CASE("with one direction given the error names the other", "[scenarios]") {
  std::vector<std::string> lines = reference_lines();
  lines[kDownLine - 1].pop_back();  // the comma
  lines[kUpLine - 1] = "],";
  CHECK_THAT(error_of([&] { scenario_of(joined(lines)); }).what(),
             ContainsSubstring("links: missing; expected a link dram to hbm"));
}

TEST_CASE("without a tier no link is needed", "[scenarios]") {
  std::vector<std::string> lines = reference_lines();
  lines[kTierLine - 1] = lines[kDownLine - 2] = lines[kDownLine - 1] = lines[kUpLine - 1] = "";
  lines[kPlanLine - 1] = "";
  const Scenario s = scenario_of(joined(lines));
  CHECK_FALSE(s.tier);
  CHECK_FALSE(s.down);
}

TEST_CASE("with a GPU each missing link takes its default, which is named", "[scenarios]") {
  const Scenario s = scenario_of(joined(gpu_lines()));
  const HostLinkDefault defaults = default_host_link(*s.gpu);
  REQUIRE((s.down && s.up));
  CHECK(s.down->source == defaults.down.source);
  CHECK(s.up->source == defaults.up.source);
  CHECK(says(s.notes, "Link hbm to dram is a default of the GPU (" + defaults.down.source));
  CHECK(says(s.notes, "Link dram to hbm is a default of the GPU (" + defaults.up.source));
}

TEST_CASE("only the missing direction takes a default", "[scenarios]") {
  const Scenario s = scenario_of(joined(half_linked()));
  REQUIRE((s.down && s.up));
  CHECK(s.down->name == "mine");
  CHECK(s.down->source == "scenario");
  CHECK(s.down->latency == Duration(1500));  // 1.5 us
  CHECK(s.down->bytes_per_second == 1'000'000'000);
  CHECK(std::ranges::count(s.notes, "link-default", &Note::code) == 1);
  CHECK(says(s.notes, "Link dram to hbm is a default"));
}

TEST_CASE("a link's latency is rounded up to a nanosecond", "[scenarios]") {
  const std::string text =
      with_line(reference_lines(), kDownLine,
                link_with(R"("kind": "affine", "latency_us": 0.0011, "bandwidth": "1GB/s")"));
  CHECK(scenario_of(text).down->latency == Duration(2));  // 1.1 ns
}

TEST_CASE("the order of links does not matter", "[scenarios]") {
  std::vector<std::string> lines = reference_lines();
  lines[kDownLine - 1].swap(lines[kUpLine - 1]);
  lines[kUpLine - 1].pop_back();
  lines[kUpLine - 1] += "],";
  std::string& first = lines[kDownLine - 1];
  first.erase(first.rfind(']'));
  first += ",";
  const Scenario s = scenario_of(joined(lines));
  CHECK(s.down->name == "d2h");
  CHECK(s.up->name == "h2d");
}

}  // namespace
}  // namespace spillway::test

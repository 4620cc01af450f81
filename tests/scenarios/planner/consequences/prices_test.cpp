// Prices files and what a cell costs by them, with sums small enough to do by hand.
#include "scenarios/planner/consequences/prices.hpp"

#include "models/catalogue/gpu_spec.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"
#include "tests/scenarios/planner/planned_cells.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

Prices prices_of(std::string_view text) {
  return read_prices(JsonSource::from_text("p.json", text));
}

std::string refusal(std::string_view text) {
  const InputError error = error_of([&] { prices_of(text); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

/// A run of 1,000 s at 100 tokens/s, 2 requests/s within the SLO.
RunResult thousand_seconds() {
  RunResult run;
  run.requests = 2500;
  run.duration_s = 1000;
  run.total_token_throughput = 100;
  run.goodput = 2;
  return run;
}

TEST_CASE("a price is an hour's, a month's, or a purchase over its months",
          "[scenarios][planner]") {
  const Prices prices = prices_of(R"({
    // comments are welcome
    "currency": "EUR", "source": "a price list",
    "gpu_hour": {"H100": 2.5, "L40S": {"purchase": 7200, "months": 36, "monthly": 50},
                 "default": 1},
    "dram_gib_month": {"purchase": 4.8, "months": 48}, "nvme_gib_month": 0.08})");
  CHECK(prices.gpu(&find_gpu("H100", {})) == Approx(2.5 * 730));
  CHECK(prices.gpu(&find_gpu("L40S", {})) == Approx(7200.0 / 36 + 50));  // 250 a month
  CHECK(prices.gpu(nullptr) == Approx(730));
  CHECK(prices.dram_gib_month == Approx(0.1));
  CHECK(prices.storage_gib_month[0] == Approx(0.08));
  CHECK_FALSE(prices.network_gb);
  REQUIRE(prices.notes.size() == 2);
  CHECK_THAT(prices.notes[0].text,
             ContainsSubstring("gpu_hour.L40S: 7,200 EUR written off over 36.0 months"));
}

TEST_CASE("a price for any GPU is a number", "[scenarios][planner]") {
  const Prices prices = prices_of(R"({"currency": "USD", "gpu_hour": 2, "network": 0.01})");
  CHECK(prices.gpu(&find_gpu("A100", {})) == Approx(1460));
  CHECK(prices.network_gb == Approx(0.01));
}

TEST_CASE("what a prices file gets wrong is named with its line", "[scenarios][planner]") {
  CHECK_THAT(refusal("{\n\"gpu_hour\": 2}"), ContainsSubstring("p.json:1: currency: missing"));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"dram_gib_moth\": 2}"),
             ContainsSubstring("p.json:2: dram_gib_moth: unknown key of the prices file"));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"gpu_hour\": {\"H1000\": 2}}"),
             ContainsSubstring("p.json:2: gpu_hour.H1000: unknown GPU"));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"dram_gib_month\": -1}"),
             ContainsSubstring("p.json:2: dram_gib_month: expected a number"));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"dram_gib_month\": \"4 dollars\"}"),
             ContainsSubstring("p.json:2: dram_gib_month: expected a price, or {\"purchase\""));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"nvme_gib_month\": {\"purchase\": 4}}"),
             ContainsSubstring("p.json:2: nvme_gib_month.months: missing"));
  CHECK_THAT(refusal("{\"currency\": \"USD\",\n\"gpu_hour\": {\"H100\": 2, \"h100\": 3}}"),
             ContainsSubstring("has a price already under another name"));
}

TEST_CASE("a cell costs its GPUs, its memory and its host", "[scenarios][planner]") {
  // 2 ranks x 2 engines x 3 replicas = 12 GPUs at 1 x 730; 1 GiB for each of 6 engines at 5; a host
  // for each of them at 10.
  Scenario s = reference_with({"engine.num_gpu_blocks=65"});
  s = with_capacity(s, "1GiB");
  s.engine.tensor_parallel = 2;
  s.engine.block_bytes = Bytes(s.engine.block_bytes.count() / 2);
  s.engine.data_parallel = 2;
  s.fleet->replicas = 3;
  const Prices prices =
      prices_of(R"({"currency": "USD", "gpu_hour": 1, "dram_gib_month": 5, "host_month": 10})");
  const CellPrice price = price_of(s, thousand_seconds(), prices);
  REQUIRE(price.items.size() == 3);
  CHECK(price.items[0].per_month == Approx(12 * 730));
  CHECK(price.items[1].name == "dram");
  CHECK(price.items[1].quantity == Approx(6));
  CHECK(price.items[1].per_month == Approx(30));
  CHECK(price.items[2].per_month == Approx(60));
  CHECK(price.per_month == Approx(12 * 730 + 30 + 60));
  CHECK(price.missing.empty());
}

TEST_CASE("what has no price is named, and refused where the objective needs it",
          "[scenarios][planner]") {
  const Scenario s = with_capacity(reference_with(), "1GiB");
  const Prices prices = prices_of(R"({"currency": "USD", "nvme_gib_month": 1})");
  const CellPrice price = price_of(s, thousand_seconds(), prices);
  CHECK(price.missing == std::vector<std::string>{"gpu_hour.default", "dram_gib_month"});
  const InputError error = error_of([&] { require_prices(price, prices, "least-cost"); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("the objective least-cost needs the prices "
                                             "gpu_hour.default, dram_gib_month"));
}

TEST_CASE("the default price never undercuts a slower GPU", "[scenarios][planner]") {
  const Prices prices =
      prices_of(R"({"currency": "USD", "gpu_hour": {"H100": 3, "L40S": 1.2, "default": 2},)"
                R"( "dram_gib_month": 1})");
  const auto priced = [&](const char* gpu) {
    Scenario s = with_capacity(reference_with(), "1GiB");
    s.gpu = &find_gpu(gpu, {});
    return price_of(s, thousand_seconds(), prices);
  };
  // An H200 computes as much as an H100 and reads faster; an A100 is slower than both.
  const CellPrice h200 = priced("H200");
  REQUIRE(h200.missing.size() == 1);
  CHECK_THAT(h200.missing[0], ContainsSubstring("gpu_hour.") && ContainsSubstring("H200"));
  CHECK(priced("A100").missing.empty());
  CHECK(priced("H100").missing.empty());
  const InputError error = error_of([&] { require_prices(h200, prices, "least-cost"); });
  CHECK_THAT(error.what(),
             ContainsSubstring("the default, 2.00 USD an hour, is less than that of") &&
                 ContainsSubstring("3.00, which is slower"));
  // One price for all GPUs is what somebody said.
  CHECK(prices_of(R"({"currency": "USD", "gpu_hour": 2})").gpu(&find_gpu("H200", {})));
}

TEST_CASE("an unbounded tier costs what the workload held there", "[scenarios][planner]") {
  const Scenario s = with_capacity(reference_with(), "inf");
  RunResult run = thousand_seconds();
  TierResult tier;
  tier.name = "dram";
  tier.peak_bytes = std::int64_t{3} << 30;
  run.tiers = {tier};
  const CellPrice price =
      price_of(s, run, prices_of(R"({"currency": "USD", "gpu_hour": 0, "dram_gib_month": 2})"));
  CHECK(price.per_month == Approx(6));
  REQUIRE(price.notes.size() == 1);
  CHECK(figure(price.notes[0], "held_bytes") == 3.0 * (1 << 30));
}

TEST_CASE("bytes to remote storage cost by the GB, those of a local drive nothing",
          "[scenarios][planner]") {
  // 2 GB in 1,000 s are 2 x 2628 = 5,256 GB in a month of 2,628,000 s.
  const auto traffic = [](const char* kind) {
    Scenario s = reference_with();
    s.tier->storage.emplace();
    s.tier->storage->spec.kind = kind == std::string("fs") ? StorageKind::kFs : StorageKind::kNvme;
    s = with_capacity(s, "0GiB");
    RunResult run = thousand_seconds();
    LinkResult link;
    link.name = "dram-write";
    link.bytes = 2'000'000'000;
    run.links = {link};
    return price_of(s, run, prices_of(R"({"currency": "USD", "gpu_hour": 0, "network": 0.01})"))
        .per_month;
  };
  CHECK(traffic("fs") == Approx(52.56));
  CHECK(traffic("nvme") == 0);
}

TEST_CASE("the shipped prices can be read and say where they are from", "[scenarios][planner]") {
  const Prices prices = load_prices(source_path("scenarios/library/prices/list-2025.json"));
  CHECK(prices.dram_gib_month);
  CHECK(prices.gpu(&find_gpu("H100", {})));
  CHECK(prices.gpu(&find_gpu("L40S", {})));
  CHECK_FALSE(prices.source.empty());
}

TEST_CASE("a plan names the shipped prices, or a file", "[scenarios][planner]") {
  const auto read = [](const std::string& prices) {
    JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
    source.set("plan.prices=" + prices);
    return load_scenario(source).plan->prices;
  };
  CHECK(read("list-2025") == "list-2025");
  CHECK(load_prices("list-2025").gpu(&find_gpu("H100", {})));
  CHECK(read("mine.json") == "mine.json");
  CHECK_THROWS_WITH(read("list-2024"),
                    ContainsSubstring("plan.prices: unknown price list \"list-2024\"; did you mean "
                                      "\"list-2025\"?"));
}

}  // namespace
}  // namespace spillway::test

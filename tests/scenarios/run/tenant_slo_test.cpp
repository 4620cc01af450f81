// Targets of one tenant's requests.
#include "scenarios/run/tenant_figures.hpp"

#include <algorithm>

#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// Ten chats of 64 tokens and ten documents of 512, a second apart, so that nobody waits. The first
/// token of a chat takes 2 ms + 64 x 20 us + 64 x 5 ns = 3.28032 ms, that of a document 2 ms +
/// 10.24 ms + 2.56 us = 12.24256 ms.
Workload two_tenants() {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const bool chat = i % 2 == 0;
    rows.push_back({static_cast<std::int64_t>(i) * 1000,
                    chat ? 64U : 512U,
                    2,
                    {i},
                    chat ? "chat" : "documents"});
  }
  return workload_of(rows, 512);
}

Scenario with_slo(const std::string& slo, std::vector<std::string> more = {}) {
  more.push_back("slo=" + slo);
  return reference_with(more);
}

TEST_CASE("a tenant's target is about its requests", "[scenarios]") {
  const std::vector<SloResult> slo =
      simulate(with_slo(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": "chat"},
                            {"metric": "p99_ttft_ms", "max": 5, "tenant": "documents"},
                            {"metric": "p99_ttft_ms", "max": 13}])"),
               two_tenants())
          .result.slo;
  REQUIRE(slo.size() == 3);
  CHECK(slo[0].tenant == "chat");
  CHECK(slo[0].value == Approx(3.28032));
  CHECK(slo[0].passed);
  CHECK(slo[1].value == Approx(12.24256));
  CHECK_FALSE(slo[1].passed);
  CHECK(slo[2].tenant.empty());
  CHECK(slo[2].passed);
}

TEST_CASE("rates of tenants add up to the run's", "[scenarios]") {
  const RunResult run =
      simulate(with_slo(R"([{"metric": "request_throughput", "min": 0.1, "tenant": "chat"},
                            {"metric": "request_throughput", "min": 0.1, "tenant": "documents"},
                            {"metric": "output_throughput", "min": 100, "tenant": "chat"}])"),
               two_tenants())
          .result;
  CHECK(run.slo[0].value + run.slo[1].value == Approx(run.request_throughput));
  CHECK(run.slo[0].passed);
  CHECK_FALSE(run.slo[2].passed);
}

TEST_CASE("goodput holds each request to its own tenant's targets", "[scenarios]") {
  // Chats within 5 ms, documents within 13: all twenty are good. With 5 ms for everyone half is.
  const auto good = [](const std::string& slo) {
    const RunResult run = simulate(with_slo(slo), two_tenants()).result;
    return run.goodput * run.duration_s;
  };
  CHECK(good(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": "chat"},
                 {"metric": "p99_ttft_ms", "max": 13, "tenant": "documents"}])") == Approx(20));
  CHECK(good(R"([{"metric": "p99_ttft_ms", "max": 5}])") == Approx(10));
  // A tenant's own and everyone's: the stricter counts.
  CHECK(good(R"([{"metric": "p99_ttft_ms", "max": 5},
                 {"metric": "p99_ttft_ms", "max": 13, "tenant": "documents"}])") == Approx(10));
}

TEST_CASE("a tenant with no completed request has missed its targets", "[scenarios]") {
  // Documents are longer than the model takes.
  const RunResult run =
      simulate(with_slo(R"([{"metric": "p99_ttft_ms", "max": 1000, "tenant": "documents"},
                            {"metric": "p99_ttft_ms", "max": 1000, "tenant": "chat"}])",
                        {"engine.max_model_len=100"}),
               two_tenants())
          .result;
  CHECK(run.failed == 10);
  CHECK_FALSE(run.slo[0].passed);
  CHECK(run.slo[1].passed);
}

TEST_CASE("a tenant that the workload does not name is an error", "[scenarios]") {
  const auto unknown = [](const std::string& tenant, const Workload& workload) {
    const Scenario s =
        with_slo(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": ")" + tenant + R"("}])");
    const InputError error = error_of([&] { simulate(s, workload); });
    CHECK(error.fault() == Fault::kUsage);
    return std::string(error.what());
  };
  CHECK_THAT(unknown("chats", two_tenants()),
             ContainsSubstring("unknown tenant \"chats\"") && ContainsSubstring("chat, documents"));
  CHECK_THAT(unknown("chat", repeating(2, 1, 10, 1)), ContainsSubstring("names no tenants"));
}

TEST_CASE("figures that are told for all requests at once have no tenant", "[scenarios]") {
  const auto fault = [](const std::string& slo) {
    return std::string(error_of([&] { with_slo(slo); }).what());
  };
  CHECK_THAT(fault(R"([{"metric": "p99_itl_ms", "max": 5, "tenant": "chat"}])"),
             ContainsSubstring("known for all requests together"));
  CHECK_THAT(fault(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": ""}])"),
             ContainsSubstring("expected the name of a tenant"));
}

TEST_CASE("a tenant's target is in the results and in the configuration", "[scenarios]") {
  const Scenario s = with_slo(R"([{"metric": "p99_ttft_ms", "max": 5, "tenant": "chat"},
                                  {"metric": "p99_ttft_ms", "max": 13}])");
  const nlohmann::json result = to_json(simulate(s, two_tenants()).result);
  CHECK(result["slo"][0]["tenant"] == "chat");
  CHECK_FALSE(result["slo"][1].contains("tenant"));
  CHECK(run_from_json(result).slo[0].tenant == "chat");
  CHECK(resolved_configuration(s)["slo"][0]["tenant"] == "chat");
}

}  // namespace
}  // namespace spillway::test

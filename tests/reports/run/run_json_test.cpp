// Results as JSON: complete in both directions, finite, and told apart by their digest.
#include "reports/run/run_json.hpp"
#include "reports/plan/plan_json.hpp"

#include <limits>

#include "reports/document.hpp"
#include "sim/error.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

bool has_null(const json& value) {
  if (value.is_null()) return true;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), [](const json& part) { return has_null(part); });
}

/// Calls `visit` with the pointer of every leaf.
template <class Visit>
void each_leaf(const json& value, const json::json_pointer& at, Visit visit) {
  if (!value.is_structured() || value.empty()) {
    visit(at);
    return;
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) each_leaf(value[i], at / i, visit);
    return;
  }
  for (const auto& item : value.items()) each_leaf(item.value(), at / item.key(), visit);
}

json changed(json leaf) {
  if (leaf.is_boolean()) return !leaf.get<bool>();
  if (leaf.is_string()) return leaf.get<std::string>() + "x";
  if (leaf.is_number_float()) return leaf.get<double>() + 1;
  if (leaf.is_number()) return leaf.get<std::int64_t>() + 1;
  leaf.push_back(1);  // empty array or object
  return leaf;
}

TEST_CASE("a run read back from its document is the same document", "[reports]") {
  const json out = to_json(sample_run());
  CHECK(to_json(run_from_json(out)) == out);
  CHECK(to_json(run_from_json(json::parse(out.dump()))) == json::parse(out.dump()));
}

TEST_CASE("every value of a run's document is read back", "[reports]") {
  // Whatever leaf is changed, the change survives reading and writing: no member is forgotten.
  const json out = to_json(sample_run());
  each_leaf(out, json::json_pointer(), [&](const json::json_pointer& at) {
    const std::string path = at.to_string();
    INFO(path);
    if (out[at].is_structured()) return;  // an empty object has nothing to change
    // Enumerations, and the capacity of the unbounded tier, take no other text.
    if (path.ends_with("/bound") || path.starts_with("/tiers/1/capacity")) return;
    if (path.starts_with("/tiers/") && path.ends_with("/name")) return;  // keys of the sources
    json other = out;
    other[at] = changed(out[at]);
    CHECK(to_json(run_from_json(other)) == other);
  });
}

TEST_CASE("a plan read back from its document is the same document", "[reports]") {
  const json out = to_json(sample_plan());
  CHECK(to_json(plan_from_json(out)) == out);
  PlanResult none = sample_plan();
  none.recommended = none.knee = -1;
  const json without = to_json(none);
  CHECK(to_json(plan_from_json(without)) == without);
  CHECK(without["feasible"] == false);
  CHECK_FALSE(without.contains("recommended"));
  CHECK_FALSE(without.contains("knee"));
}

TEST_CASE("a missing or mistyped member is an error, not a zero", "[reports]") {
  const json out = to_json(sample_run());
  for (const auto& item : out.items()) {
    if (item.key() == "sim") continue;  // optional
    INFO(item.key());
    json other = out;
    other.erase(item.key());
    // The stages of first tokens are not in results of earlier builds.
    const bool optional = item.key() == "load_choice" || item.key() == "load_wait" ||
                          item.key() == "copy_harm_s" || item.key() == "ttft_bands" ||
                          item.key() == "slowest" || item.key() == "peak_waiting";
    if (!optional) CHECK_THROWS_AS(run_from_json(other), json::exception);
    other[item.key()] = "text";
    CHECK_THROWS_AS(run_from_json(other), json::exception);
  }
}

TEST_CASE("documents hold no null, NaN or infinity", "[reports]") {
  CHECK_FALSE(has_null(to_json(sample_run())));
  CHECK_FALSE(has_null(to_json(RunResult{})));
  CHECK_FALSE(has_null(to_json(sample_plan())));
  CHECK_FALSE(has_null(to_json(PlanResult{})));
}

TEST_CASE("unbounded capacities are the text inf, in bytes and in blocks", "[reports]") {
  const json out = to_json(sample_run());
  CHECK(out["tiers"][1]["capacity_bytes"] == "inf");
  CHECK(out["tiers"][1]["capacity_blocks"] == "inf");
  CHECK(to_json(sample_plan())["points"][2]["capacity_bytes"] == "inf");
}

TEST_CASE("percentiles are published under their names of the contract", "[reports]") {
  // numpy.percentile([1, 2, 3, 4, 10], [50, 90, 95, 99]) = 3, 7.6, 8.8, 9.76; population std.
  LatencySamples samples;
  for (const int ms : {10, 1, 3, 2, 4}) samples.add(std::chrono::milliseconds(ms));
  RunResult run = sample_run();
  run.ttft = samples.stats();
  const json out = to_json(run);
  CHECK(out["mean_ttft_ms"].get<double>() == Approx(4));
  CHECK(out["median_ttft_ms"].get<double>() == Approx(3));
  CHECK(out["p90_ttft_ms"].get<double>() == Approx(7.6));
  CHECK(out["p95_ttft_ms"].get<double>() == Approx(8.8));
  CHECK(out["p99_ttft_ms"].get<double>() == Approx(9.76));
  CHECK(out["max_ttft_ms"].get<double>() == Approx(10));
  CHECK(out["std_ttft_ms"].get<double>() == Approx(3.1622776601683795));
}

TEST_CASE("the error of quantiles is stated where there is one", "[reports]") {
  CHECK(to_json(sample_run())["quantile_error"] == json({{"itl", 1.0 / 2048}}));
  CHECK(to_json(RunResult{})["quantile_error"] == json::object());
}

TEST_CASE("the digest changes with every result, and not with sim", "[reports]") {
  const json out = to_json(sample_run());
  const std::string digest = digest_of(out);
  CHECK(digest.size() == 16);
  each_leaf(out, json::json_pointer(), [&](const json::json_pointer& at) {
    INFO(at.to_string());
    json other = out;
    other[at] = out[at].is_object() ? json({{"x", 1}}) : changed(out[at]);
    CHECK((digest_of(other) == digest) == at.to_string().starts_with("/sim"));
  });
  json other = out;
  other.erase("sim");
  CHECK(digest_of(other) == digest);
}

TEST_CASE("a plan's digest is blind to the cost of each of its runs", "[reports]") {
  PlanResult plan = sample_plan();
  const std::string digest = digest_of(to_json(plan));
  plan.points[1].run.sim = {1, 2, 3, 4, 5};
  CHECK(digest_of(to_json(plan)) == digest);
  plan.points[1].run.goodput += 1;
  CHECK(digest_of(to_json(plan)) != digest);
}

TEST_CASE("the digest can be checked from the published text", "[reports]") {
  // Writing and reading turns signed integers into unsigned ones and keeps doubles to the bit.
  const json out = to_json(sample_run());
  CHECK(digest_of(json::parse(out.dump())) == digest_of(out));
  CHECK(digest_of(json(std::int64_t{3})) == digest_of(json(std::uint64_t{3})));
  CHECK(digest_of(json(std::int64_t{-3})) != digest_of(json(std::int64_t{3})));
}

TEST_CASE("the digest sees shape: moved, nested and renamed members", "[reports]") {
  CHECK(digest_of({{"a", {1, 2}}, {"b", json::array()}}) !=
        digest_of({{"a", {1}}, {"b", json::array({2})}}));
  CHECK(digest_of({{"a", {{"b", 1}}}}) != digest_of({{"a", json::object()}, {"b", 1}}));
  CHECK(digest_of({{"a", 1}}) != digest_of({{"b", 1}}));
  CHECK(digest_of(json("1")) != digest_of(json(1)));
  CHECK(digest_of(json(1)) != digest_of(json(true)));
}

TEST_CASE("a document has its members in the order of the contract", "[reports]") {
  Document document{"run", {{"seed", 1}}, to_json(sample_run()), {"a warning"}};
  const std::string text = render_document(document);
  const auto parsed = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (const auto& item : parsed.items()) keys.push_back(item.key());
  CHECK(keys == std::vector<std::string>{"schema_version", "kind", "tool", "inputs", "results",
                                         "warnings", "notes", "digest"});
  CHECK(parsed["warnings"][0] == "a warning");
  CHECK(parsed["notes"][0]["text"] == "a warning");
  CHECK(parsed["digest"] == digest_of(document.results));
  CHECK(parsed["tool"]["name"] == "spillway");
  CHECK(text.ends_with("}\n"));
}

TEST_CASE("a number that is not finite is a defect, never a null", "[reports]") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    Document document{"run", json::object(), {{"x", {1.0, bad}}}, {}};
    CHECK_THROWS_AS(render_document(document), InternalError);
    CHECK_THROWS_AS(render_document({"run", {{"x", bad}}, json::object(), {}}), InternalError);
    CHECK_THROWS_AS(render_document({"run", {}, {{"sim", {{"wall_s", bad}}}}, {}}), InternalError);
  }
}

TEST_CASE("a null among the results is a defect", "[reports]") {
  CHECK_THROWS_AS(render_document({"run", json::object(), {{"x", nullptr}}, {}}), InternalError);
}

TEST_CASE("text that is not UTF-8 becomes a replacement character, not an exception", "[reports]") {
  const std::string text = render_document({"run", {{"path", "a\xff"}}, json::object(), {"\xfe"}});
  CHECK_THAT(text, ContainsSubstring("a\xef\xbf\xbd"));
}

}  // namespace
}  // namespace spillway::test

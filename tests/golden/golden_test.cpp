// Whole scenarios against committed results: the digest, and a few figures that say what moved when
// it does not match. SPILLWAY_UPDATE_GOLDEN=1 rewrites the files; review the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Scenarios of the library and of this folder, by name.
std::vector<fs::path> scenarios() {
  std::vector<fs::path> out;
  for (const char* folder : {"scenarios/library", "tests/golden/scenarios"}) {
    for (const auto& entry : fs::directory_iterator(test::source_path(folder))) {
      if (entry.path().extension() == ".json") out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string golden_path(const std::string& name) {
  return test::source_path("tests/golden/" + name + ".json");
}

/// Traces that are not bundled, and where the shared material has them.
struct Outside {
  std::string scenario, trace;
  bool plan;  ///< false: too slow to plan as well
};
const std::vector<Outside> kOutside = {
    {"mooncake-conversation", "traces/mooncake_fast25_conversation.jsonl.gz", false}};

struct Case {
  std::string name;
  std::vector<std::string> arguments;  ///< behind the verb
  bool plan = true;
};

/// How to run a scenario, or nothing where its trace is absent.
std::optional<Case> case_of(const fs::path& file) {
  Case out{file.stem().string(), {file.string()}, true};
  for (const Outside& outside : kOutside) {
    if (outside.scenario != out.name) continue;
    const auto trace = test::shared_path(outside.trace);
    if (!trace) return std::nullopt;
    out.arguments.insert(out.arguments.end(), {"--set", "workload.trace=" + *trace});
    out.plan = outside.plan;
  }
  return out;
}

json document_of(const char* verb, const Case& c, const char* threads) {
  std::vector<std::string> call = {verb};
  call.insert(call.end(), c.arguments.begin(), c.arguments.end());
  call.insert(call.end(), {"--json", "-", "--threads", threads});
  // The workload itself: replicates are tested on smaller plans, where they take less time.
  if (std::string(verb) == "plan") call.insert(call.end(), {"--replications", "1"});
  const test::CliResult result = test::spillway(call);
  INFO(c.name << ": " << result.err);
  REQUIRE((result.code == 0 || result.code == 4));  // a plan may find no size
  return json::parse(result.out);
}

/// The figures that tell a reader where to look.
json run_figures(const json& r) {
  json out = json::object();
  for (const char* key :
       {"completed", "failed", "rejected", "stuck", "duration_s", "mean_ttft_ms", "p99_ttft_ms",
        "mean_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "p99_itl_ms", "mean_e2el_ms", "preemptions",
        "recomputed_tokens", "engine_steps", "prompt_tokens_by_source"}) {
    out[key] = r[key];
  }
  for (const json& tier : r["tiers"]) {
    const auto name = tier["name"].get<std::string>();
    for (const char* key : {"capacity_blocks", "hits", "stores", "evictions"}) {
      out[name + " " + key] = tier[key];
    }
  }
  for (const json& link : r["links"]) {
    out[link["name"].get<std::string>() + " bytes"] = link["bytes"];
  }
  return out;
}

json plan_figures(const json& r) {
  json out = {{"verdict", r["verdict"]}, {"binding", r["binding"]}};
  for (const char* key : {"recommended", "knee"}) out[key] = r.value(key, "none");
  for (const json& point : r["points"]) {
    const auto size = point["capacity"].get<std::string>();
    out["p99_ttft_ms at " + size] = point["run"]["p99_ttft_ms"];
    out["digest at " + size] = point["digest"];
  }
  return out;
}

/// The scenario's results, after checking that threads and repetition change nothing.
json results_of(const Case& c) {
  json out = json::object();
  const auto add = [&](const char* verb, json (*figures)(const json&)) {
    const json first = document_of(verb, c, "1");
    std::vector<const char*> again = {"4", "1", "4"};
    if (!c.plan) again.pop_back();  // the slow one
    for (const char* threads : again) {
      INFO(c.name << ": " << verb << " at " << threads << " threads, against the first at 1");
      CHECK(document_of(verb, c, threads)["digest"] == first["digest"]);
    }
    out[verb] = {{"digest", first["digest"]}, {"figures", figures(first["results"])}};
    return first;
  };
  const json run = add("run", run_figures);
  if (c.plan && run["inputs"]["configuration"].contains("plan")) add("plan", plan_figures);
  return out;
}

/// One line per figure that is not what it was.
std::string moved(const json& before, const json& after, const std::string& where = "") {
  if (before == after) return "";
  if (!before.is_object() || !after.is_object()) {
    return fmt::format("  {}: {} -> {}\n", where, before.dump(), after.dump());
  }
  std::set<std::string> keys;
  for (const auto& item : before.items()) keys.insert(item.key());
  for (const auto& item : after.items()) keys.insert(item.key());
  std::string out;
  for (const std::string& key : keys) {
    out += moved(before.value(key, json("absent")), after.value(key, json("absent")),
                 where.empty() ? key : where + ": " + key);
  }
  return out;
}

TEST_CASE("whole scenarios give their committed results", "[golden]") {
  const bool update = std::getenv("SPILLWAY_UPDATE_GOLDEN") != nullptr;
  const auto files = scenarios();
  REQUIRE(files.size() >= 7);
  for (const fs::path& file : files) {
    const auto c = case_of(file);
    if (!c) continue;
    const json after = results_of(*c);
    const std::string path = golden_path(c->name);
    if (update) {
      std::ofstream(path) << after.dump(2) << "\n";
      continue;
    }
    if (!fs::exists(path)) {
      FAIL_CHECK(c->name << ": no committed results; SPILLWAY_UPDATE_GOLDEN=1 writes " << path);
      continue;
    }
    const std::string difference = moved(json::parse(test::read_file(path)), after);
    INFO(c->name << " moved, committed -> now:\n" << difference);
    INFO("if that is meant, SPILLWAY_UPDATE_GOLDEN=1 rewrites " << path);
    CHECK(difference.empty());
  }
}

TEST_CASE("every committed result has its scenario, and is small", "[golden]") {
  std::set<std::string> names;
  for (const fs::path& file : scenarios()) {
    CHECK(names.insert(file.stem().string()).second);  // one namespace for both folders
  }
  for (const auto& entry : fs::directory_iterator(test::source_path("tests/golden"))) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().string());
    CHECK(names.count(entry.path().stem().string()) == 1);
    CHECK(fs::file_size(entry.path()) < (std::uintmax_t{1} << 20));
  }
}

json committed(const std::string& name) {
  return json::parse(test::read_file(golden_path(name)))["run"]["figures"];
}

TEST_CASE("the golden scenarios reach what they are for", "[golden]") {
  const json preempted = committed("preemption-offload");
  CHECK(preempted["preemptions"].get<int>() > 10);
  CHECK(preempted["prompt_tokens_by_source"]["dram"].get<int>() > 0);
  CHECK(preempted["dram evictions"].get<int>() > 0);
  // Answers go down as well: more blocks are stored than prompts have that were computed.
  const json all = committed("prompt-only-off");
  CHECK(all["dram stores"].get<int>() >
        all["prompt_tokens_by_source"]["local_compute"].get<int>() / 16);
  CHECK(all["dram evictions"].get<int>() > 0);
  CHECK_FALSE(committed("no-tiers").contains("dram stores"));
  CHECK(committed("no-tiers")["prompt_tokens_by_source"]["hbm"].get<int>() > 0);
  CHECK(committed("swap-space")["preemptions"].get<int>() > 10);
  CHECK(committed("swap-space")["recomputed_tokens"] == 0);
  CHECK(committed("swap-space")["swap-in bytes"].get<std::int64_t>() > 0);
  // Asynchronous scheduling alone sets the twins apart.
  CHECK(committed("async-on")["duration_s"] != committed("async-off")["duration_s"]);
  for (const char* name :
       {"preemption-offload", "prompt-only-off", "no-tiers", "async-on", "async-off"}) {
    CHECK(committed(name)["completed"] == 300);
  }
}

TEST_CASE("admission cuts the tail of the overloaded scenario", "[golden]") {
  const auto run = [](const char* admission) {
    const std::string file = test::source_path("scenarios/library/overload-admission.json");
    return json::parse(test::spillway({"run", file, "--json", "-", "--set",
                                       std::string("policies.admission=") + admission})
                           .out)["results"];
  };
  const json all = run("always");
  const json admitted = run("all-tiers");
  CHECK(all["completed"] == 1500);
  CHECK(admitted["completed"].get<int>() + admitted["rejected"].get<int>() == 1500);
  CHECK(admitted["reasons"]["rejected"]["tiers_full"] == admitted["rejected"]);
  // The tail of those that are served is shorter by an order of magnitude, and more are served in
  // time in all.
  CHECK(10 * admitted["p99_ttft_ms"].get<double>() < all["p99_ttft_ms"].get<double>());
  CHECK(admitted["goodput"] > all["goodput"]);
}

TEST_CASE("figures that moved are named", "[golden]") {
  const json before = {{"run", {{"digest", "a"}, {"figures", {{"x", 1}, {"y", 2}}}}}};
  const json after = {{"run", {{"digest", "b"}, {"figures", {{"x", 1}, {"y", 3}}}}}};
  CHECK(moved(before, before).empty());
  CHECK(moved(before, after) == "  run: digest: \"a\" -> \"b\"\n  run: figures: y: 2 -> 3\n");
  CHECK(moved(before, json::object()) == "  run: " + before["run"].dump() + " -> \"absent\"\n");
}

}  // namespace
}  // namespace spillway

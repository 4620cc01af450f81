// Whole scenarios against committed results: a fingerprint of all codes and numbers, and a few
// figures that say what moved when it does not match. Sentences are held apart, in words.json, so
// that a change of wording moves no result and a result that moved is no change of wording.
// SPILLWAY_UPDATE_GOLDEN=1 rewrites the files; review the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/digest.hpp"
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

const std::string kWords = "words";

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
    // The committed figures are of the published trace: a stand-in has others.
    const auto trace = test::published(outside.trace);
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

/// What a document says in codes and numbers: without its sentences, which have spaces, without the
/// digests that cover them, and without what the run itself cost.
json facts_of(const json& value) {
  if (value.is_array()) {
    json out = json::array();
    for (const json& item : value) out.push_back(facts_of(item));
    return out;
  }
  if (value.is_string() && value.get<std::string>().find(' ') != std::string::npos) return nullptr;
  if (!value.is_object()) return value;
  json out = json::object();
  for (const auto& [key, item] : value.items()) {
    if (key != "sim" && key != "digest") out[key] = facts_of(item);
  }
  return out;
}

std::string fingerprint(const json& results) {
  Digest digest;
  digest.text(facts_of(results).dump());
  return digest.hex();
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
  json out = json::object();
  for (const char* key : {"recommended", "knee"}) out[key] = r.value(key, "none");
  for (const json& point : r["points"]) {
    const auto size = point["capacity"].get<std::string>();
    out["p99_ttft_ms at " + size] = point["run"]["p99_ttft_ms"];
    out["facts at " + size] = fingerprint(point["run"]);
  }
  return out;
}

struct Golden {
  json results = json::object();  ///< by verb
  json words;                     ///< null where no plan is made
};

/// The scenario's results, after checking that threads and repetition change nothing.
Golden results_of(const Case& c) {
  Golden out;
  const auto add = [&](const char* verb, json (*figures)(const json&)) {
    const json first = document_of(verb, c, "1");
    std::vector<const char*> again = {"4", "1", "4"};
    if (!c.plan) again.pop_back();  // the slow one
    for (const char* threads : again) {
      INFO(c.name << ": " << verb << " at " << threads << " threads, against the first at 1");
      CHECK(document_of(verb, c, threads)["digest"] == first["digest"]);
    }
    out.results[verb] = {{"facts", fingerprint(first["results"])},
                         {"figures", figures(first["results"])}};
    return first;
  };
  const json run = add("run", run_figures);
  if (c.plan && run["inputs"]["configuration"].contains("plan")) {
    const json plan = add("plan", plan_figures)["results"];
    out.words = {{"verdict", plan["verdict"]}, {"binding", plan["binding"]}};
  }
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

void check(const std::string& name, const json& before, const json& after) {
  const std::string difference = moved(before, after);
  INFO(name << " moved, committed -> now:\n" << difference);
  INFO("if that is meant, SPILLWAY_UPDATE_GOLDEN=1 rewrites " << golden_path(name));
  CHECK(difference.empty());
}

json read_golden(const std::string& name) {
  return json::parse(test::read_file(golden_path(name)));
}

TEST_CASE("whole scenarios give their committed results, in the committed words", "[golden]") {
  const bool update = std::getenv("SPILLWAY_UPDATE_GOLDEN") != nullptr;
  const auto files = scenarios();
  REQUIRE(files.size() >= 7);
  json words = json::object();
  for (const fs::path& file : files) {
    const auto c = case_of(file);
    if (!c) continue;
    const Golden now = results_of(*c);
    if (!now.words.is_null()) words[c->name] = now.words;
    if (update) {
      std::ofstream(golden_path(c->name)) << now.results.dump(2) << "\n";
    } else if (!fs::exists(golden_path(c->name))) {
      FAIL_CHECK(c->name << ": no committed results; SPILLWAY_UPDATE_GOLDEN=1 writes "
                         << golden_path(c->name));
    } else {
      check(c->name, read_golden(c->name), now.results);
    }
  }
  if (update) {
    std::ofstream(golden_path(kWords)) << words.dump(2) << "\n";
  } else {
    check(kWords, read_golden(kWords), words);
  }
}

TEST_CASE("every committed result has its scenario, and is small", "[golden]") {
  std::set<std::string> names;
  for (const fs::path& file : scenarios()) {
    CHECK(names.insert(file.stem().string()).second);  // one namespace for both folders
  }
  for (const auto& entry : fs::directory_iterator(test::source_path("tests/golden"))) {
    if (entry.path().extension() != ".json" || entry.path().stem() == kWords) continue;
    INFO(entry.path().string());
    CHECK(names.count(entry.path().stem().string()) == 1);
    CHECK(fs::file_size(entry.path()) < (std::uintmax_t{1} << 20));
  }
}

json committed(const std::string& name) {
  return read_golden(name)["run"]["figures"];
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

TEST_CASE("wording moves no result, and a number does", "[golden]") {
  const json before = {{"verdict", "Use 64 GiB."}, {"status", "meets"}, {"sizes", {1, 2.5}}};
  json reworded = before;
  reworded["verdict"] = "64 GiB are enough.";
  reworded["digest"] = "0123456789abcdef";
  reworded["sim"]["wall_s"] = 3;
  CHECK(fingerprint(before) == fingerprint(reworded));
  json recoded = before;
  recoded["status"] = "misses";
  CHECK(fingerprint(before) != fingerprint(recoded));
  json renumbered = before;
  renumbered["sizes"][1] = 2.6;
  CHECK(fingerprint(before) != fingerprint(renumbered));
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

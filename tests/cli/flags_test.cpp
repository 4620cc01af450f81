// Each flag has one help line and one test. This file knows which test covers which flag; a flag
// that `--help` shows and no row names, or a row whose test does not use the flag, fails here.
#include <map>
#include <set>
#include <sstream>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::Scene;

struct Covered {
  std::string verb;  ///< as typed; "*" for every verb
  std::string flag;  ///< or the name of a positional argument
  std::string test;  ///< name of a test case in tests/cli
};

const std::vector<Covered>& own_flags() {
  static const std::vector<Covered> rows = {
      {"*", "--help", "help lists every verb, and every verb has examples and exit codes"},
      {"*", "--set", "--seed is taken by every verb, --set by those that read a scenario"},
      {"*", "--seed", "--seed is taken by every verb, --set by those that read a scenario"},
      {"*", "--threads", "the digest is the same on every run and at every number of threads"},
      {"*", "--json", "--json - leaves exactly one document on stdout"},
      {"*", "--out", "--out DIR takes the document, and makes the directory"},
      {"*", "--quiet", "--quiet silences notes and changes nothing else"},
      {"*", "--color", "--color always marks the text, auto and never do not without a terminal"},
      {"", "--version", "the version"},
      {"", "--help", "help lists every verb, and every verb has examples and exit codes"},
      {"trace", "--help", "trace alone lists its verbs"},
      {"init", "FILE", "init reads a file, and says what became of each part"},
      {"init", "--vllm", "init prints a scenario that runs as it is"},
      {"init", "--gpu", "init prints a scenario that runs as it is"},
      {"init", "--model", "init takes what the input does not say"},
      {"init", "--config", "init takes what the input does not say"},
      {"init", "--release", "init takes what the input does not say"},
      {"init", "--trace", "init takes what the input does not say"},
      {"init", "--pick", "init --pick chooses among several starts"},
      {"init", "--force", "init never writes over a scenario that somebody changed"},
      {"run", "--vllm", "plan and run take a command line"},
      {"run", "--gpu", "plan and run take a command line"},
      {"run", "--trace", "plan and run take a command line"},
      {"run", "--config", "plan and run take a command line"},
      {"run", "--release", "plan and run take a command line"},
      {"plan", "--vllm", "plan and run take a command line"},
      {"plan", "--gpu", "plan and run take a command line"},
      {"plan", "--trace", "plan and run take a command line"},
      {"plan", "--config", "plan and run take a command line"},
      {"plan", "--release", "plan and run take a command line"},
      {"run", "--details", "--details prints all that is known, and every note"},
      {"plan", "--details", "--details prints all that is known, and every note"},
      {"compare", "--details", "--details prints all that is known, and every note"},
      {"report", "--matcher",
       "alert rules take a matcher and a runbook, checked before anything is written"},
      {"report", "--runbook-url",
       "alert rules take a matcher and a runbook, checked before anything is written"},
      {"run", "SCENARIO", "a required argument that is missing is named"},
      {"run", "--output", "--output renders each kind, to a file or to stdout"},
      {"run", "--trace-window", "--output kind=perfetto writes a part of the run under a cap"},
      {"run", "--trace-cap", "--output kind=perfetto writes a part of the run under a cap"},
      {"run", "--gate", "--gate is exit 99 when an SLO is missed, and the results are still there"},
      {"run", "--strict", "--strict refuses a profile of another machine"},
      {"plan", "--strict", "--strict refuses a profile of another machine"},
      {"compare", "--strict", "--strict refuses a profile of another machine"},
      {"calibrate", "--verify", "calibrate --verify says whether a profile still holds"},
      {"calibrate", "--harness", "calibrate --harness names what measures the GPU"},
      {"calibrate", "--replay", "calibrate --replay plays a run's transfers and compares"},
      {"calibrate", "--window", "calibrate --window chooses the part to replay"},
      {"calibrate", "--api", "calibrate --api chooses how to copy"},
      {"replay", "--trace", "replay rows have the keys of the contract"},
      {"replay", "--policy", "replay rows have the keys of the contract"},
      {"replay", "--capacity", "replay rows have the keys of the contract"},
      {"replay", "--semantics", "--semantics changes what is counted, not what is evicted"},
      {"replay", "--touch-order", "replay counts what can be counted by hand"},
      {"replay", "--atomic", "--atomic reference finds what the same request has just brought"},
      {"replay", "--block-tokens", "--block-tokens says how long the blocks of a trace are"},
      {"trace convert", "--to",
       "trace convert --to names the form of JSON lines, and says what that loses"},
      {"trace convert", "--speed", "trace convert --speed divides recorded times as a run does"},
      {"replay", "--limit", "replay counts what can be counted by hand"},
      {"replay", "--tiers", "--tiers counts by tier, and --inclusion says how blocks move"},
      {"replay", "--inclusion", "--tiers counts by tier, and --inclusion says how blocks move"},
      {"replay", "--kv-bytes-per-block",
       "--tiers counts by tier, and --inclusion says how blocks move"},
      {"replay", "--bounds", "--bounds puts what is possible beside each result"},
      {"replay", "--output", "replay --output renders each kind, and report does so later"},
      {"mrc", "--trace", "mrc equals a replay at every capacity"},
      {"mrc", "--semantics", "mrc equals a replay at every capacity"},
      {"mrc", "--touch-order", "mrc equals a replay at every capacity"},
      {"mrc", "--atomic", "mrc equals a replay at every capacity"},
      {"mrc", "--at", "mrc --at lists capacities whatever else is left out"},
      {"mrc", "--points", "mrc --points thins the curve and keeps its shape"},
      {"mrc", "--sample", "mrc --sample estimates the curve and says how well"},
      {"mrc", "--output", "mrc --output renders each kind"},
      {"mrc", "--limit", "mrc reads its trace as other verbs do"},
      {"mrc", "--block-tokens", "mrc reads its trace as other verbs do"},
      {"plan", "SCENARIO", "a required argument that is missing is named"},
      {"plan", "--recipe", "--recipe fills in a plan and says what it set"},
      {"plan", "--objective", "--objective replaces the scenario's"},
      {"plan", "--replications",
       "--replications backs the answer, and the cache answers the second time"},
      {"plan", "--cache", "--replications backs the answer, and the cache answers the second time"},
      {"plan", "--max-runs", "budgets too small to decide end undecided and say what would decide"},
      {"plan", "--budget", "budgets too small to decide end undecided and say what would decide"},
      {"plan", "--no-sensitivity", "--no-sensitivity leaves it out"},
      {"plan", "--other-recordings", "--other-recordings asks for more than replicates can tell"},
      {"plan", "--output", "plan --output renders each kind"},
      {"compare", "SCENARIO", "compare refuses what it cannot vary, before anything runs"},
      {"compare", "--vary", "compare ranks variants by differences on the same workloads"},
      {"compare", "--baseline", "compare --baseline names a value, or a key and its value"},
      {"compare", "--replications", "compare without replications prints points"},
      {"compare", "--metric", "compare --metric ranks by any metric of a run"},
      {"compare", "--output", "compare --output renders each kind, and report does so later"},
      {"sweep", "--help", "sweep alone lists its verbs"},
      {"sweep plan", "EXPERIMENT", "a required argument that is missing is named"},
      {"sweep plan", "--campaign",
       "sweep plan shows cells and cost, and makes the campaign at once or not at all"},
      {"sweep plan", "--dry-run",
       "sweep plan shows cells and cost, and makes the campaign at once or not at all"},
      {"sweep run", "CAMPAIGN", "a required argument that is missing is named"},
      {"sweep run", "--jobs", "one worker, two, and shards one by one merge to the same"},
      {"sweep run", "--runner",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--shards",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--max-running",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--partition",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--mem",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--time",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--submit-only",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--arrays",
       "sweep run --runner slurm submits what is missing, in the words of its options"},
      {"sweep run", "--sbatch", "an engine of a sweep refuses what only another one takes"},
      {"sweep emit", "CAMPAIGN", "a required argument that is missing is named"},
      {"sweep emit", "--scheduler", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--file", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--program", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--image", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--claim", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--claim-path", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--shards", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--max-running", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--partition", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--mem", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--time", "sweep emit writes a campaign for another scheduler"},
      {"sweep emit", "--sbatch", "an engine of a sweep refuses what only another one takes"},
      {"sweep worker", "CAMPAIGN", "a required argument that is missing is named"},
      {"sweep worker", "--shard", "one worker, two, and shards one by one merge to the same"},
      {"sweep worker", "--steal",
       "sweep status tells what is done, and --watch stays until all is"},
      {"sweep status", "CAMPAIGN", "a required argument that is missing is named"},
      {"sweep status", "--watch",
       "sweep status tells what is done, and --watch stays until all is"},
      {"sweep merge", "CAMPAIGN", "a required argument that is missing is named"},
      {"sweep merge", "--database",
       "sweep merge writes one row for each run, in a database and as CSV"},
      {"sweep merge", "--csv", "sweep merge writes one row for each run, in a database and as CSV"},
      {"trace stats", "TRACE", "a required argument that is missing is named"},
      {"trace stats", "--output", "trace stats --output renders each kind"},
      {"trace stats", "--limit", "trace stats --limit reads the first requests only"},
      {"trace stats", "--block-tokens",
       "trace stats --block-tokens reads traces of other block sizes"},
      {"trace check", "TRACE", "a required argument that is missing is named"},
      {"trace check", "--problems",
       "trace check --problems N shows that many; the document lists all"},
      {"trace check", "--limit", "trace check takes --limit and --block-tokens"},
      {"trace check", "--block-tokens", "trace check takes --limit and --block-tokens"},
      {"trace convert", "IN",
       "every form of a trace converts to every other with its content hash"},
      {"trace convert", "OUT", "a required argument that is missing is named"},
      {"trace convert", "--limit", "trace convert takes --limit and --block-tokens"},
      {"trace convert", "--block-tokens", "trace convert takes --limit and --block-tokens"},
      {"trace generate", "--requests", "each option of trace generate changes the trace"},
      {"trace generate", "--sessions-per-s", "each option of trace generate changes the trace"},
      {"trace generate", "--turns", "each option of trace generate changes the trace"},
      {"trace generate", "--think-s", "each option of trace generate changes the trace"},
      {"trace generate", "--system-prompts", "each option of trace generate changes the trace"},
      {"trace generate", "--system-zipf", "each option of trace generate changes the trace"},
      {"trace generate", "--system-tokens", "each option of trace generate changes the trace"},
      {"trace generate", "--user-tokens", "each option of trace generate changes the trace"},
      {"trace generate", "--answer-tokens", "each option of trace generate changes the trace"},
      {"trace generate", "--burst-factor", "each option of trace generate changes the trace"},
      {"trace generate", "--burst-every-s", "each option of trace generate changes the trace"},
      {"trace generate", "--burst-length-s", "each option of trace generate changes the trace"},
      {"trace generate", "--max-context", "each option of trace generate changes the trace"},
      {"trace generate", "--block-tokens", "each option of trace generate changes the trace"},
      {"trace sample", "TRACE", "a required argument that is missing is named"},
      {"trace sample", "--share",
       "trace sample writes a share and says how near its hit ratios are"},
      {"trace sample", "--max-difference",
       "trace sample writes a share and says how near its hit ratios are"},
      {"trace sample", "--limit", "trace sample reads its trace as other verbs do"},
      {"trace sample", "--block-tokens", "trace sample reads its trace as other verbs do"},
      {"trace import", "MEASURED", "trace import writes a run's requests as a trace"},
      {"trace import", "--skip-warmup", "trace import leaves warm-up out where it is asked to"},
      {"trace import", "--allow-missing", "trace import notes missing requests instead"},
      {"trace merge", "TRACES", "trace merge makes each trace a tenant"},
      {"trace merge", "--tenant", "trace merge names tenants and moves them in time"},
      {"trace merge", "--offset", "trace merge names tenants and moves them in time"},
      {"trace merge", "--shared-blocks", "trace merge names tenants and moves them in time"},
      {"trace merge", "--align",
       "trace merge aligns traces by their origin or their first request"},
      {"trace merge", "--limit", "trace merge reads its traces as other verbs do"},
      {"trace merge", "--block-tokens", "trace merge reads its traces as other verbs do"},
      {"trace generate", "--arrivals", "each option of trace generate changes the trace"},
      {"trace generate", "--arrival-cv", "each option of trace generate changes the trace"},
      {"trace generate", "--rates", "each option of trace generate changes the trace"},
      {"trace generate", "--rate-scale", "each option of trace generate changes the trace"},
      {"trace generate", "--day-amplitude", "each option of trace generate changes the trace"},
      {"trace generate", "--day-peak-hour", "each option of trace generate changes the trace"},
      {"trace generate", "--day-factors", "each option of trace generate changes the trace"},
      {"trace generate", "--tenants", "each option of trace generate changes the trace"},
      {"trace generate", "--tenant-zipf", "each option of trace generate changes the trace"},
      {"trace generate", "--system-sigma", "each option of trace generate changes the trace"},
      {"trace generate", "--turn-counts", "each option of trace generate changes the trace"},
      {"trace generate", "--turn-tail", "each option of trace generate changes the trace"},
      {"trace generate", "--think-times", "each option of trace generate changes the trace"},
      {"trace generate", "--think-sigma", "each option of trace generate changes the trace"},
      {"trace generate", "--user-sigma", "each option of trace generate changes the trace"},
      {"trace generate", "--user-quantiles", "each option of trace generate changes the trace"},
      {"trace generate", "--answer-sigma", "each option of trace generate changes the trace"},
      {"trace generate", "--answer-quantiles", "each option of trace generate changes the trace"},
      {"trace generate", "--answer-tokens-per-s",
       "each option of trace generate changes the trace"},
      {"trace generate", "--context", "each option of trace generate changes the trace"},
      {"trace generate", "--summary-tokens", "each option of trace generate changes the trace"},
      {"trace generate", "--like", "trace generate --like says how like the trace came out"},
      {"calibrate", "--budget",
       "calibrate measures this machine within its budget and leaves only the profile"},
      {"calibrate", "--memory",
       "calibrate --budget and --memory are quantities that the machine can meet"},
      {"calibrate", "--scratch", "calibrate refuses a scratch folder that cannot be written"},
      {"calibrate", "--only", "calibrate --only measures the sections that it names"},
      {"calibrate", "--host-only", "calibrate without --host-only says what its GPU part lacks"},
      {"calibrate", "--dry-run", "calibrate --dry-run shows the plan and writes nothing"},
      {"calibrate", "--resume", "calibrate --resume knows its machine, and needs a place"},
      {"validate", "CASE", "validate sets a measured run beside its simulation"},
      {"validate", "--data",
       "validate finds measured files under --data, and skips a case without"},
      {"validate", "--profiles", "validate --profiles adds the scores of compute profiles"},
      {"validate", "--gate", "validate --gate exits with 99 where a tolerance is exceeded"},
      {"fit", "DATA", "fit makes a profile that a scenario takes"},
      {"fit", "--gpu", "fit makes a profile that a scenario takes"},
      {"fit", "--model", "fit --model and --tp say whose layers a table is of"},
      {"fit", "--tp", "fit --model and --tp say whose layers a table is of"},
      {"fit", "--weights", "fit --weights chooses the products to fit"},
      {"fit", "--scenario", "fit --scenario and --first fit a request log"},
      {"fit", "--first", "fit --scenario and --first fit a request log"},
      {"fit", "--name", "fit --name and --source are the profile's"},
      {"fit", "--source", "fit --name and --source are the profile's"},
      {"fit", "--explain", "fit --explain shows the points furthest off"},
      {"flags", "SCENARIO", "flags of the small scenario run in a shell as they are"},
      {"flags", "--engine", "flags --engine takes any preset, and names them for another engine"},
      {"flags", "--tier-size", "flags --tier-size changes the size and nothing else"},
      {"kvsize", "--model", "kvsize of Llama-3.1-70B at 8,192 tokens"},
      {"kvsize", "--tokens", "kvsize of Llama-3.1-70B at 8,192 tokens"},
      {"kvsize", "--kv-dtype", "kvsize --kv-dtype changes the bits"},
      {"kvsize", "--gpu", "kvsize --gpu shows what is left for KV, as a run would size its pool"},
      {"kvsize", "--preset", "kvsize takes the engine's sizes for the GPU's share"},
      {"kvsize", "--gpu-memory-utilization", "kvsize takes the engine's sizes for the GPU's share"},
      {"kvsize", "--max-num-seqs", "kvsize takes the engine's sizes for the GPU's share"},
      {"kvsize", "--max-num-batched-tokens", "kvsize takes the engine's sizes for the GPU's share"},
      {"list", "CATALOGUE", "list shows every catalogue, as text and as a document"},
      {"list", "--engine", "list metrics shows what one release exports"},
      {"schema", "KIND", "schema prints what the tables say; copies lie in the tree"},
      {"completion", "SHELL", "completion is a script that its shell can read"},
      {"man", "VERB", "every page of the manual is sound roff"},
      {"report", "RESULT", "what is no result document is exit 2"},
      {"report", "--format", "report --out writes every format and names the files"},
      {"report", "--sections",
       "--sections keeps the pages that are named, of every kind of report"},
      {"report", "--engine", "the metrics of another engine can be asked for"},
  };
  return rows;
}

/// What add_trace_options() gives to every verb that reads a trace.
std::vector<Covered> shared_by_trace_verbs() {
  std::vector<Covered> out;
  for (const char* verb : {"replay", "mrc", "trace stats", "trace check", "trace convert",
                           "trace sample", "trace merge"}) {
    out.push_back({verb, "--lenient", "--lenient leaves one row in a hundred out and no more"});
    out.push_back({verb, "--infer-sessions", "--infer-sessions finds the turns of chats"});
    out.push_back({verb, "--session-window", "--infer-sessions finds the turns of chats"});
    out.push_back({verb, "--reuse", "--reuse names what the requests of a trace share"});
    out.push_back({verb, "--session-interval",
                   "--session-interval places the sessions of a trace without a clock"});
  }
  return out;
}

const std::vector<Covered>& table() {
  static const std::vector<Covered> rows = [] {
    std::vector<Covered> out = own_flags();
    for (Covered& row : shared_by_trace_verbs()) out.push_back(std::move(row));
    return out;
  }();
  return rows;
}

/// One entry of a help page: the name of an option or positional, and its lines of description.
struct HelpEntry {
  std::string name;
  std::vector<std::string> description;
};

/// A page has "  NAME WORDS   description", the description from column 30 or on the next line.
std::vector<HelpEntry> help_entries(const Args& verb) {
  constexpr std::size_t kColumn = 30;
  const auto help = test::spillway(verb + Args{"--help"});
  REQUIRE(help.code == 0);
  std::vector<HelpEntry> out;
  std::istringstream text(help.out);
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    const bool heading = !line.empty() && line[0] != ' ';
    if (heading) {
      static const std::set<std::string> kOther = {"Examples:", "Verbs:", "Values:"};
      inside = line.ends_with(':') && !kOther.contains(line);
    } else if (inside && line.size() > 2 && line[2] != ' ') {
      std::string name = line.substr(2, line.find(' ', 2) - 2);
      name.erase(0, name.find(',') == std::string::npos ? 0 : name.find(',') + 1);  // -h,--help
      if (name.ends_with("...")) name.erase(name.size() - 3);                       // DATA...
      out.push_back({name, {}});
      const bool here = line.size() > kColumn && line.find("  ", 2) < kColumn;  // padded
      if (here) out.back().description.push_back(line.substr(kColumn));
    } else if (inside && line.size() > kColumn) {
      REQUIRE_FALSE(out.empty());
      out.back().description.push_back(line.substr(kColumn));
    }
  }
  return out;
}

/// Every verb, with the words that lead to it; "", "trace" and "sweep" have options of their own.
std::vector<std::pair<std::string, Args>> pages(const Scene& scene) {
  std::vector<std::pair<std::string, Args>> out = {
      {"", {}}, {"trace", {"trace"}}, {"sweep", {"sweep"}}};
  for (const test::Verb& verb : verbs(scene)) {
    Args words = {verb.call[0]};
    if (verb.name.find(' ') != std::string::npos) words.push_back(verb.call[1]);
    out.emplace_back(verb.name, words);
  }
  return out;
}

TEST_CASE("trace alone lists its verbs", "[cli]") {
  const auto help = test::spillway({"trace", "--help"});
  CHECK(help.code == 0);
  for (const char* verb : {"stats", "check", "convert", "generate", "sample", "merge", "import"}) {
    CHECK_THAT(help.out, ContainsSubstring(std::string("\n  ") + verb + " "));
  }
}

TEST_CASE("sweep alone lists its verbs", "[cli]") {
  const auto help = test::spillway({"sweep", "--help"});
  CHECK(help.code == 0);
  for (const char* verb : {"plan", "run", "worker", "status", "merge", "emit"}) {
    CHECK_THAT(help.out, ContainsSubstring(std::string("\n  ") + verb + " "));
  }
}

TEST_CASE("every verb of the program has a page here", "[cli]") {
  const Scene scene;
  std::set<std::string> known;
  for (const auto& [name, words] : pages(scene)) known.insert(name);
  for (const Args& parent : {Args{}, Args{"trace"}, Args{"sweep"}}) {
    std::istringstream help(test::spillway(parent + Args{"--help"}).out);
    bool inside = false;
    for (std::string line; std::getline(help, line);) {
      if (!line.empty() && line[0] != ' ') inside = line == "Verbs:";
      if (!inside || line.size() < 3 || line[0] != ' ' || line[2] == ' ') continue;
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      INFO(name);
      CHECK(known.count(parent.empty() ? name : parent[0] + " " + name) == 1);
    }
  }
}

TEST_CASE("every flag that --help shows has a test, and no other has", "[cli]") {
  const Scene scene;
  for (const auto& [name, words] : pages(scene)) {
    std::set<std::string> shown;
    for (const HelpEntry& entry : help_entries(words)) shown.insert(entry.name);
    std::set<std::string> covered;
    for (const Covered& row : table()) {
      const bool leaf = !name.empty() && name != "trace" && name != "sweep";
      if (row.verb == name || (row.verb == "*" && leaf)) covered.insert(row.flag);
    }
    INFO("verb: " << name);
    CHECK(shown == covered);
  }
}

TEST_CASE("every flag has one help line", "[cli]") {
  const Scene scene;
  for (const auto& [name, words] : pages(scene)) {
    for (const HelpEntry& entry : help_entries(words)) {
      INFO(name << " " << entry.name);
      CHECK(entry.description.size() == 1);
      if (!entry.description.empty()) CHECK(entry.description[0].size() > 5);
    }
  }
}

/// Bodies of the test cases in tests/cli, by name.
std::map<std::string, std::string> test_bodies() {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("tests/cli"))) {
    const std::string file = entry.path().string();
    if (file.size() < 9 || file.substr(file.size() - 9) != "_test.cpp") continue;
    const std::string text = test::read_file(file);
    const std::string start = "\nTEST_CASE(\"";
    for (std::size_t at = text.find(start); at != std::string::npos;) {
      const std::size_t from = at + start.size();
      const std::size_t end = text.find("\n}\n", from);
      out[text.substr(from, text.find('"', from) - from)] = text.substr(from, end - from);
      at = text.find(start, end);
    }
  }
  return out;
}

TEST_CASE("the test that a row names exists and uses the flag", "[cli]") {
  const auto bodies = test_bodies();
  REQUIRE(bodies.size() > 80);
  for (const Covered& row : table()) {
    INFO(row.verb << " " << row.flag << ": " << row.test);
    const auto found = bodies.find(row.test);
    REQUIRE(found != bodies.end());
    const bool flag = row.flag.rfind("--", 0) == 0;
    const std::string body = found->second.substr(found->second.find('{'));
    if (flag) CHECK(body.find("\"" + row.flag + "\"") != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway

// What ends the program early, or keeps it from writing: signals, budgets, streams that are closed
// or full, files that may not grow, files that shrink.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/sweep_scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::refused;
using test::Scene;
using test::Started;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The program by the shell, with what stands behind it.
int in_shell(const std::string& words) {
  const int status = std::system(("'" SPILLWAY_BINARY "' " + words).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Two answers of ten million tokens: one run takes longer than anybody waits for a signal.
std::string long_answers(const Scene& scene) {
  const std::string row =
      R"({"timestamp": 0, "input_length": 100, "output_length": 10000000, "hash_ids": [1]})";
  return scene.file("long.jsonl", row + "\n" + row + "\n");
}

Args long_plan(const Scene& scene) {
  return {"plan",  SPILLWAY_SOURCE_DIR "/scenarios/library/link-bound.json",
          "--set", "workload={\"trace\": \"" + long_answers(scene) + "\"}",
          "--set", "engine.num_gpu_blocks=2000000",
          "--set", "engine.max_model_len=20000000"};
}

bool has_temporaries(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename().string().find(".tmp") != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a standard error that cannot be written changes nothing", "[cli]") {
  const Scene scene;
  const std::string run = "run '" + scene.scenario + "' ";
  for (const char* error : {"2>/dev/full", "2>&-"}) {
    INFO(error);
    CHECK(in_shell(run + error + " >/dev/null") == 0);
    CHECK(in_shell(std::string("run nosuch.json ") + error) == 7);
    // Nothing that is opened later takes the closed stream's place.
    const std::string out = scene.path("out.json");
    CHECK(in_shell(run + "--json '" + out + "' " + error + " >/dev/null") == 0);
    test::parse_document(test::read_file(out));
  }
}

TEST_CASE("help and version that nobody can read are exit 7", "[cli]") {
  for (const char* words : {"--help", "--version", "plan --help"}) {
    CHECK(in_shell(std::string(words) + " >/dev/full 2>/dev/null") == 7);
    CHECK(in_shell(std::string(words) + " >&- 2>/dev/null") == 7);
  }
}

TEST_CASE("a plan ends within a second of a signal, in the middle of a run", "[cli]") {
  const Scene scene;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Started plan(long_plan(scene) + Args{"--out", scene.path("out"), "--quiet"});
    test::pause(400);
    REQUIRE(plan.running());
    const auto begin = std::chrono::steady_clock::now();
    plan.signal(signal);
    CHECK(plan.wait() == 128 + signal);
    CHECK(seconds_since(begin) < 1);
    CHECK_FALSE(has_temporaries(scene.path("")));
  }
}

TEST_CASE("a budget ends a plan in the middle of a run, and says what was not done", "[cli]") {
  const Scene scene;
  const auto begin = std::chrono::steady_clock::now();
  refused(long_plan(scene) + Args{"--budget", "0.2s", "--set", "plan.sizes=[\"0GiB\",\"4GiB\"]"}, 5,
          "--budget: 0.2 s ended before each of 2 sizes had run once (");
  CHECK(seconds_since(begin) < 1.2);  // half a second more for what an answer cannot lack
}

TEST_CASE("an interrupted writer leaves nothing under any name", "[cli]") {
  const Scene scene;
  for (const int wait : {5, 20, 80}) {
    Started generate({"trace", "generate", "--requests", "400000", "--out", scene.path("g.jsonl")});
    test::pause(static_cast<std::uint64_t>(wait));
    generate.signal(SIGTERM);
    const int code = generate.wait();
    if (code == 0) continue;  // it was quicker
    CHECK(code == 128 + SIGTERM);
    CHECK_FALSE(has_temporaries(scene.path("")));
    CHECK_FALSE(std::filesystem::exists(scene.path("g.jsonl")));
  }
}

TEST_CASE("a file that may not grow is exit 7, and is gone", "[cli]") {
  const Scene scene;
  const std::string before = scene.listing();
  Started generate({"trace", "generate", "--requests", "5000", "--out", scene.path("g.jsonl")},
                   8192);
  CHECK(generate.wait() == 7);
  CHECK(scene.listing() == before);
}

TEST_CASE("a binary trace that shrinks while it is read is exit 7", "[cli]") {
  const Scene scene;
  const std::string trace = scene.path("t.bin");
  REQUIRE(test::spillway({"trace", "generate", "--requests", "300000", "--out", trace, "--quiet"})
              .code == 0);
  bool met = false;
  for (int tries = 0; tries < 20 && !met; ++tries) {
    const std::string copy = scene.path("copy.bin");
    std::filesystem::copy_file(trace, copy, std::filesystem::copy_options::overwrite_existing);
    Started replay({"replay", "--trace", copy, "--policy", "lru,arc,fifo"});
    test::pause(static_cast<std::uint64_t>(20 + 10 * tries));
    std::filesystem::resize_file(copy, 100'000);
    const int code = replay.wait();
    // Too early it is no trace (3), or shorter than it says (7); too late it is over.
    CHECK((code == 0 || code == 3 || code == 7));
    met = code == 7;
  }
  CHECK(met);
}

TEST_CASE("rates at which a run outlasts the clock are refused with the key", "[cli]") {
  const std::string library = SPILLWAY_SOURCE_DIR "/scenarios/library/";
  refused({"run", library + "link-bound.json", "--set", "links.0.bandwidth=1KB/s"}, 2,
          "links: a run of this has a transfer of ");
  refused({"run", library + "fs-tier.json", "--set", "tiers.1.device.client_limit=1B/s"}, 2,
          "lasts longer than the 73 years of the clock; expected higher rates: the slowest is the "
          "device of tier ");
  refused({"plan", library + "link-bound.json", "--set",
           R"(slo=[{"metric": "p99_ttft_ms", "max": 1e-320}])"},
          2, "max: expected 0, or 1e-09 or more, found ");
}

TEST_CASE("what is no text, and never ends, is refused at once", "[cli]") {
  refused({"run", "/dev/zero"}, 2, "/dev/zero:1: contains a NUL byte");
  refused({"report", "/dev/zero"}, 2, "/dev/zero:1: contains a NUL byte");
}

TEST_CASE("a pool takes memory as it is used, not as it is large", "[cli]") {
  const Scene scene;
  const auto document =
      test::document_of({"run", scene.scenario, "--set", "engine.num_gpu_blocks=268435456"});
  CHECK(document["results"]["sim"]["peak_rss_bytes"].get<std::int64_t>() < std::int64_t{200} << 20);
}

}  // namespace
}  // namespace spillway

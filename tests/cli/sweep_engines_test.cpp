// Campaigns that run elsewhere: what is asked of Slurm, and the files for other schedulers.
// tests/slurm has the same on a real Slurm.
#include "tests/cli/scene.hpp"
#include "tests/support/fake_slurm.hpp"

namespace spillway {
namespace {

using test::Args;
using test::document_of;
using test::FakeSlurm;
using test::json;
using test::refused;
using test::Scene;

TEST_CASE("sweep run --runner slurm submits what is missing, in the words of its options",
          "[cli]") {
  const Scene scene;
  const FakeSlurm slurm;
  // Six runs, three a shard; planning has made two of them, to estimate the others.
  const std::string camp = scene.path("six");
  REQUIRE(test::spillway({"sweep", "plan", scene.scenario, "-o", camp, "--quiet", "--set",
                          "sweep={\"vary\": {\"tiers.0.eviction\": [\"lru\", \"fifo\"], "
                          "\"tiers.0.capacity\": [\"0GiB\", \"1GiB\", \"4GiB\"]}}"})
              .code == 0);
  const auto first =
      test::spillway({"sweep", "run", camp, "--runner", "slurm", "--shards", "2", "--max-running",
                      "1", "--partition", "cpu", "--mem", "4G", "--time", "00:30:00",
                      "--sbatch=--account=team", "--arrays", "3", "--quiet"});
  // The stand-in's tasks have ended and brought nothing, so no second array is worth it.
  CHECK(first.code == 6);
  CHECK_THAT(first.out, ContainsSubstring("2 of 6 runs are done; Slurm job 17"));
  CHECK_THAT(first.out, ContainsSubstring("--runner slurm"));
  for (const char* word : {"<--array=1-2%1>", "<--partition=cpu>", "<--mem=4G>",
                           "<--time=00:30:00>", "<--account=team>"}) {
    CHECK_THAT(slurm.call(0), ContainsSubstring(word));
  }
  CHECK(slurm.call(1).empty());
  // The second shard's runs are made, as a task would: the first is what is left to submit.
  REQUIRE(test::spillway({"sweep", "worker", camp, "--shard", "2/2", "--quiet"}).code == 0);
  const json submitted =
      document_of({"sweep", "run", camp, "--runner", "slurm", "--shards", "2", "--submit-only"});
  CHECK(submitted["results"]["sim"]["slurm_jobs"] == json::array({"18"}));
  CHECK(submitted["results"]["missing"] >= 1);
  CHECK_THAT(slurm.call(1), ContainsSubstring("<--array=1>"));
  // Complete, it asks for nothing.
  REQUIRE(test::spillway({"sweep", "run", camp, "--quiet"}).code == 0);
  CHECK(test::spillway({"sweep", "run", camp, "--runner", "slurm"}).code == 0);
  CHECK(slurm.call(2).empty());
}

TEST_CASE("an engine of a sweep refuses what only another one takes", "[cli]") {
  const Scene scene;
  const std::string camp = scene.campaign();
  refused({"sweep", "run", camp, "--runner", "slrum"}, 2, "slurm");
  refused({"sweep", "run", camp, "--partition", "cpu"}, 2, "expected only with --runner slurm");
  refused({"sweep", "run", camp, "--runner", "slurm", "--jobs", "2"}, 2,
          "expected only with --runner local");
  refused({"sweep", "run", camp, "--runner", "slurm", "--sbatch", "job.sh"}, 2,
          "expected an option of sbatch");
  refused({"sweep", "emit", camp, "--scheduler", "parallel", "--image", "x"}, 2,
          "expected only with --scheduler k8s");
  refused({"sweep", "emit", camp, "--scheduler", "slurm", "--sbatch", "job.sh"}, 2,
          "expected an option of sbatch");
  refused({"sweep", "emit", camp, "--scheduler", "k8"}, 2, "k8s");
  refused({"sweep", "emit", camp, "--scheduler", "parallel", "--json", "-"}, 2,
          "expected -o with a file");
}

TEST_CASE("sweep emit writes a campaign for another scheduler", "[cli]") {
  const Scene scene;
  const std::string camp = scene.campaign();
  const std::string job = scene.path("job.yaml");
  const json document = document_of({"sweep",
                                     "emit",
                                     camp,
                                     "--scheduler",
                                     "k8s",
                                     "--shards",
                                     "2",
                                     "--max-running",
                                     "1",
                                     "--mem",
                                     "4G",
                                     "--image",
                                     "example.org/spillway:1",
                                     "--claim",
                                     "data",
                                     "--claim-path",
                                     "sweeps/a",
                                     "--program",
                                     "/opt/spillway",
                                     "--file",
                                     job});
  CHECK(document["results"] == json({{"engine", "k8s"}, {"path", job}, {"shards", 2}}));
  const std::string text = test::read_file(job);
  for (const char* line : {"  completions: 2\n", "  parallelism: 1\n", "memory: \"4Gi\"\n",
                           "\"/opt/spillway\"\n", "image: \"example.org/spillway:1\"\n",
                           "subPath: \"sweeps/a\"\n", "claimName: \"data\"\n"}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }
  const auto script = test::spillway({"sweep", "emit", camp, "--scheduler", "slurm", "--partition",
                                      "cpu", "--time", "01:00:00", "--sbatch=--account=team"});
  CHECK(script.code == 0);
  CHECK_THAT(script.out, StartsWith("#!/bin/sh\n#SBATCH --job-name=spillway-"));
  for (const char* line : {"#SBATCH --array=1-2\n", "#SBATCH --partition=cpu\n",
                           "#SBATCH --time=01:00:00\n", "#SBATCH --account=team\n"}) {
    CHECK_THAT(script.out, ContainsSubstring(line));
  }
}

}  // namespace
}  // namespace spillway

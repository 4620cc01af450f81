// Campaigns as files for other schedulers: what they say, and what they refuse to carry.
#include "scenarios/sweep/emit.hpp"

#include "scenarios/sweep/program.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

EmitOptions some_options() {
  EmitOptions options;
  options.folder = "/data/it's a campaign";
  options.identity = "abc";
  options.shards = 3;
  options.max_running = 2;
  options.program = "spillway";
  options.request = {"cpu", "4G", "00:30:00", {}};
  options.image = "example.org/spillway:1";
  options.claim = "campaigns";
  return options;
}

TEST_CASE("a Kubernetes Job has an index for each shard and gives up on bad input", "[scenarios]") {
  EmitOptions options = some_options();
  options.image = "a\": b $(X)";
  options.program = "/opt/$(X)/spillway";
  options.claim_path = "sweeps/one";
  const std::string text = kubernetes_job(options);
  for (const char* line :
       {"  completionMode: Indexed\n", "  completions: 3\n", "  parallelism: 2\n",
        "  backoffLimitPerIndex: 3\n", "    - action: FailIndex\n", "        values: [2, 3]\n",
        "        image: \"a\\\": b $(X)\"\n", "        - \"/opt/$$(X)/spillway\"\n",
        "        - \"3\"\n", "            memory: \"4Gi\"\n", "          subPath: \"sweeps/one\"\n",
        "          claimName: \"campaigns\"\n"}) {
    CHECK_THAT(text, ContainsSubstring(line));
  }
  CHECK(text.find('\t') == std::string::npos);
  options.claim = "Not A Name";
  CHECK_THROWS_AS(kubernetes_job(options), InputError);
}

TEST_CASE("Slurm's memory is Kubernetes' memory", "[scenarios]") {
  CHECK(kubernetes_memory("4G") == "4Gi");
  CHECK(kubernetes_memory("500") == "500Mi");
  CHECK(kubernetes_memory("2t") == "2Ti");
  for (const char* bad : {"", "G", "4GB", "-1G", "4.5G"}) {
    CHECK_THROWS_AS(kubernetes_memory(bad), InputError);
  }
}

TEST_CASE("GNU parallel gets one quoted command for each shard", "[scenarios]") {
  const std::string text = parallel_script(some_options());
  CHECK_THAT(text, ContainsSubstring("--resume-failed"));
  CHECK_THAT(text, ContainsSubstring("--jobs 2 "));
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    CHECK_THAT(text, ContainsSubstring(std::string("\n'spillway' sweep worker '/data/it'\\''s a "
                                                   "campaign' --shard ") +
                                       shard + " --quiet\n"));
  }
  EmitOptions options = some_options();
  options.folder = "/data/two\nlines";
  CHECK_THROWS_AS(parallel_script(options), InputError);
}

TEST_CASE("the emitted scripts run each shard once", "[scenarios]") {
  // Stand-ins for spillway, which tells what it was called with, and for GNU parallel, which
  // runs its standard input.
  const Scratch scratch;
  const std::string log = scratch.path("log");
  const auto program = [&](const char* name, const std::string& body) {
    const std::string file = scratch.file(name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  };
  EmitOptions options = some_options();
  options.program = program("it's spillway", "echo \"$2|$3|$5\" >>'" + log + "'\n[ $5 != 2/3 ]\n");
  program("parallel", "sh\n");

  SECTION("parallel") {
    const std::string file = scratch.file("job", parallel_script(options));
    setenv("SPILLWAY_TEST_PATH", scratch.path("").c_str(), 1);
    run_program({"sh", "-c", "PATH=$SPILLWAY_TEST_PATH:$PATH exec sh \"$1\"", "sh", file});
    unsetenv("SPILLWAY_TEST_PATH");
    CHECK(read_file(log) ==
          "worker|/data/it's a campaign|1/3\n"
          "worker|/data/it's a campaign|2/3\n"
          "worker|/data/it's a campaign|3/3\n");
  }
  SECTION("a task of a Slurm array") {
    const std::string file = scratch.file("job", slurm_script(options));
    CHECK_THAT(read_file(file), StartsWith("#!/bin/sh\n#SBATCH --job-name=spillway-"));
    CHECK_THAT(read_file(file), ContainsSubstring("#SBATCH --array=1-3%2\n"));
    const auto task = [&](int index) {
      setenv("SLURM_ARRAY_TASK_ID", std::to_string(index).c_str(), 1);
      const int code = run_program({"sh", file}).code;
      unsetenv("SLURM_ARRAY_TASK_ID");
      return code;
    };
    CHECK(task(1) == 0);
    CHECK(task(2) == 1);
    CHECK(read_file(log) ==
          "worker|/data/it's a campaign|1/3\n"
          "worker|/data/it's a campaign|2/3\n");
  }
}

TEST_CASE("an #SBATCH line refuses what it cannot carry", "[scenarios]") {
  EmitOptions options = some_options();
  options.request.more = {"--comment=two words"};
  CHECK_THAT(slurm_script(options), ContainsSubstring("#SBATCH \"--comment=two words\"\n"));
  options.request.more = {"--comment=a\"b"};
  CHECK_THROWS_AS(slurm_script(options), InputError);
  options.request = {"cpu\n#SBATCH --uid=0", "", "", {}};
  CHECK_THROWS_AS(slurm_script(options), InputError);
}

}  // namespace
}  // namespace spillway::test

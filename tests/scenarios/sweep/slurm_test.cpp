// A campaign on Slurm: what is asked of it, what is submitted again, and what its refusals become.
// tests/slurm has the same against a real one.
#include "scenarios/sweep/slurm_sweep.hpp"

#include "sim/error.hpp"
#include "tests/support/fake_slurm.hpp"

namespace spillway::test {
namespace {

/// A campaign of 6 shards with 10 runs each, of which surveys tell what a test has written down.
struct Story {
  Scratch scratch;
  std::vector<ShardSurvey> surveys;
  std::size_t next = 0;
  std::vector<SlurmNews> news;

  SlurmEnd run(const SlurmOptions& given = {}, const std::string& folder = "camp") {
    SlurmCampaign campaign;
    campaign.folder = scratch.path(folder);
    std::filesystem::create_directories(campaign.folder);
    campaign.identity = "abc";
    campaign.shards = 6;
    campaign.survey = [this] { return surveys[std::min(next++, surveys.size() - 1)]; };
    SlurmOptions options = given;
    options.poll_s = 0.01;
    return run_on_slurm(campaign, options, [this](const SlurmNews& n) { news.push_back(n); });
  }
};

const ShardSurvey kNothing{0, 60, {1, 2, 3, 4, 5, 6}};
const ShardSurvey kAll{60, 60, {}};

std::string message_of(Story& story, const SlurmOptions& options, Fault fault) {
  try {
    story.run(options);
  } catch (const InputError& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "no error";
}

TEST_CASE("an array asks Slurm for what the user asked, each word by itself", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("tasks", "");
  Story story{{}, {kNothing, kAll}, 0, {}};
  SlurmOptions options;
  options.request = {"cpu;rm -rf $HOME", "4G", "00:30:00", {"--account=my team"}};
  options.max_running = 2;
  const SlurmEnd end = story.run(options, "a campaign");
  CHECK(end.jobs == std::vector<std::string>{"17"});
  CHECK(end.survey.lacking.empty());
  const std::string call = slurm.call(0);
  for (const char* word :
       {"<--array=1-6%2>\n", "<--requeue>\n", "<--partition=cpu;rm -rf $HOME>\n", "<--mem=4G>\n",
        "<--time=00:30:00>\n", "<--account=my team>\n", "<--output=logs/%A_%a.log>\n"}) {
    CHECK_THAT(call, ContainsSubstring(word));
  }
  // The script, its program, the campaign, 6 shards over 6 tasks.
  const std::string camp = story.scratch.path("a campaign");
  CHECK_THAT(call, ContainsSubstring("<" + camp + "/slurm-task.sh>\n"));
  CHECK_THAT(call, ContainsSubstring("<" + camp + ">\n<6>\n<6>\n"));
}

TEST_CASE("only the shards that lack runs are submitted again, as long as some come",
          "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("tasks", "1|COMPLETED|None\n2|TIMEOUT|TimeLimit\n3|FAILED|NonZeroExitCode\n");
  // Before; after the first array (seen twice: while it is watched it has already ended); after
  // the second; the third brings nothing.
  const ShardSurvey first{40, 60, {2, 3, 6}};
  const ShardSurvey second{50, 60, {3}};
  Story story{{}, {kNothing, first, first, second, second, second, second}, 0, {}};
  const SlurmEnd end = story.run();
  CHECK(end.jobs.size() == 3);
  CHECK_THAT(slurm.call(0), ContainsSubstring("<--array=1-6>"));
  CHECK_THAT(slurm.call(1), ContainsSubstring("<--array=2-3,6>"));
  CHECK_THAT(slurm.call(2), ContainsSubstring("<--array=3>"));
  CHECK(end.survey.lacking == std::vector<std::uint32_t>{3});
  REQUIRE(end.remarks.size() >= 2);
  CHECK_THAT(end.remarks[0], ContainsSubstring("1 FAILED: task 3 (its log says why)"));
  CHECK_THAT(end.remarks[1], ContainsSubstring("raise --time"));
}

TEST_CASE("where Slurm allows fewer tasks than shards, a task takes several", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("tasks", "");
  slurm.put("max", "5");  // indices 1 to 4: shards 1 and 5, 2 and 6, 3, 4
  Story story{{}, {ShardSurvey{30, 60, {1, 5, 6}}, kAll}, 0, {}};
  story.run();
  CHECK_THAT(slurm.call(0), ContainsSubstring("<--array=1-2>"));
  CHECK_THAT(slurm.call(0), ContainsSubstring("<6>\n<4>\n"));
}

TEST_CASE("nothing is submitted for a campaign that is complete", "[scenarios]") {
  const FakeSlurm slurm;
  Story story{{}, {kAll}, 0, {}};
  CHECK(story.run().jobs.empty());
  CHECK(slurm.call(0).empty());
}

TEST_CASE("what Slurm rejects is told in its words, and leaves nothing behind", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("reject",
            "sbatch: error: invalid partition specified: nope\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
  Story story{{}, {kNothing}, 0, {}};
  CHECK_THAT(message_of(story, {}, Fault::kUsage),
             ContainsSubstring("nothing is submitted: invalid partition specified: nope; Batch "
                               "job submission failed: Invalid partition name specified"));
  CHECK(std::filesystem::is_empty(story.scratch.path("camp")));
  slurm.put("reject",
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller "
            "(connect failure)\n");
  CHECK_THAT(message_of(story, {}, Fault::kIo), ContainsSubstring("does not answer"));
  CHECK(std::filesystem::is_empty(story.scratch.path("camp")));
}

TEST_CASE("a machine without Slurm is told so", "[scenarios]") {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  Story story{{}, {kNothing}, 0, {}};
  const std::string message = message_of(story, {}, Fault::kUsage);
  setenv("PATH", path.c_str(), 1);
  CHECK_THAT(message, ContainsSubstring("sbatch is not in PATH"));
  CHECK_THAT(message, ContainsSubstring("--runner local"));
}

TEST_CASE("a campaign whose array still runs is not submitted a second time", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("active", "23\n23\n");
  Story story{{}, {kNothing}, 0, {}};
  CHECK_THAT(message_of(story, {}, Fault::kUsage),
             ContainsSubstring("job 23 of this campaign still waits or runs"));
  CHECK(slurm.call(0).empty());
}

TEST_CASE("asked to stop, it cancels the array and says what is there", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("tasks", "1|RUNNING|None\n2|PENDING|Resources\n3|PENDING|Resources\n");
  const ShardSurvey some{20, 60, {3, 4, 5, 6}};
  Story story{{}, {kNothing, some}, 0, {}};
  SlurmOptions options;
  options.stop = [&] { return story.news.size() >= 2; };
  const SlurmEnd end = story.run(options);
  CHECK(end.stopped);
  CHECK(end.survey.done == 20);
  CHECK(slurm.cancelled() == "17\n");
  CHECK(story.news[0].text == "job 17: 1 running, 2 waiting (Resources)");
}

TEST_CASE("a task that only waits to find nothing to do is cancelled", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("tasks", "1|COMPLETED|None\n2|PENDING|BeginTime\n");
  Story story{{}, {kNothing, kAll}, 0, {}};
  CHECK(story.run().survey.done == 60);
  CHECK(slurm.cancelled() == "17\n");
}

TEST_CASE("a silent Slurm is waited for, then left with what is there", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("silent", "");
  slurm.put("id", "17;north\n");
  Story story{{}, {kNothing}, 0, {}};
  SlurmOptions options;
  options.silence_s = 0.3;
  const SlurmEnd end = story.run(options);
  REQUIRE(end.remarks.size() == 1);
  CHECK_THAT(end.remarks[0], ContainsSubstring("job 17 may still run"));
  CHECK(story.news[0].text == "Slurm does not answer");
}

TEST_CASE("--submit-only leaves the array to Slurm", "[scenarios]") {
  const FakeSlurm slurm;
  Story story{{}, {kNothing}, 0, {}};
  SlurmOptions options;
  options.submit_only = true;
  const SlurmEnd end = story.run(options);
  CHECK(end.jobs == std::vector<std::string>{"17"});
  CHECK(story.next == 1);
  CHECK(slurm.cancelled().empty());
}

TEST_CASE("what sbatch says that is no number is not taken for one", "[scenarios]") {
  const FakeSlurm slurm;
  slurm.put("id", "queued, thank you\n");
  Story story{{}, {kNothing}, 0, {}};
  CHECK_THAT(message_of(story, {}, Fault::kIo),
             ContainsSubstring("expected a job's number, found \"queued, thank you\""));
}

TEST_CASE("tasks of an array are written as ranges", "[scenarios]") {
  CHECK(index_ranges({}).empty());
  CHECK(index_ranges({4}) == "4");
  CHECK(index_ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
}

}  // namespace
}  // namespace spillway::test

// What `spillway sweep merge` makes of a campaign's runs.
#include <sqlite3.h>

#include "scenarios/experiment/segments.hpp"
#include "scenarios/experiment/target_bound.hpp"
#include "scenarios/sweep/merge.hpp"
#include "tests/cli/sweep_scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::document_of;
using test::json;
using test::planned;
using test::refused;
using test::Scene;

/// A query's only column, one text a row.
std::vector<std::string> query(const std::string& database, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open_v2(database.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  std::vector<std::string> out;
  const auto each = [](void* to, int, char** texts, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(texts[0] ? texts[0] : "NULL");
    return 0;
  };
  const int status = sqlite3_exec(handle, sql.c_str(), each, &out, nullptr);
  INFO(sqlite3_errmsg(handle));
  CHECK(status == SQLITE_OK);
  sqlite3_close(handle);
  return out;
}

TEST_CASE("sweep merge writes one row for each run, in a database and as CSV", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  const Args merge = {
      "sweep", "merge", folder, "--database", scene.path("r.sqlite"), "--csv", scene.path("r.csv")};
  const CliResult partial = test::spillway(merge);
  CHECK(partial.code == 6);
  CHECK_THAT(partial.out, ContainsSubstring("2 of 6 runs are done"));
  CHECK_THAT(partial.out, ContainsSubstring("To make the rest: spillway sweep run"));

  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  CHECK(test::spillway(merge).code == 0);
  const std::string csv = test::read_file(scene.path("r.csv"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK_THAT(
      csv,
      StartsWith("key,cell,replicate,status,failure,tiers.0.capacity,"
                 "tiers.0.capacity_bytes,tiers.0.eviction,requests,completed,failed,duration_s,"));
  CHECK_THAT(csv, ContainsSubstring(",5,0,done,,4GiB,4294967296,fifo,6,6,0,"));
  CHECK_THAT(test::read_file(scene.path("r.sqlite")), StartsWith("SQLite format 3"));
  CHECK(test::spillway({"sweep", "merge", folder, "--csv", "-"}).out == csv);
  // What is no database is not written over.
  const std::string other = scene.file("other.txt", "a text");
  refused({"sweep", "merge", folder, "-o", other}, 2, "is no SQLite database");
  refused({"sweep", "merge", folder, "--csv", folder + "/campaign.json"}, 2, "is the input itself");
}

TEST_CASE("two results of one key are a defect: exit 70", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const Campaign campaign = open_campaign(folder);
  {
    SegmentWriter planted(campaign.segments(), "planted");
    planted.append({campaign.key(campaign.runs[3]), "{\"digest\":\"other\"}", "{}"});
  }
  const CliResult result = test::spillway({"sweep", "merge", folder, "-o", scene.path("r.sqlite")});
  CHECK(result.code == 70);
  CHECK_THAT(result.err, ContainsSubstring("not deterministic"));
  CHECK_THAT(result.err, ContainsSubstring("planted-1.jsonl:1"));
  CHECK_FALSE(std::filesystem::exists(scene.path("r.sqlite")));
}

TEST_CASE(
    "a run with other members than ours is refused with its place, whatever its checksum says",
    "[cli]") {
  const Scene scene;
  int campaigns = 0;
  for (const char* payload : {"{}", "[]", "{\"digest\":\"d\",\"metrics\":{},\"results\":{}}",
                              "{\"failure\":{\"message\":3}}", "{\"failure\":\"text\"}"}) {
    INFO(payload);
    const std::string folder = planned(scene, fmt::format("camp{}", ++campaigns));
    const Campaign campaign = open_campaign(folder);
    std::filesystem::remove_all(campaign.segments());  // of the estimate
    std::filesystem::create_directory(campaign.segments());
    {
      SegmentWriter planted(campaign.segments(), "planted");
      planted.append({campaign.key(campaign.runs.back()), payload, "{}"});
    }
    const std::string database = scene.path("other.sqlite");
    refused({"sweep", "merge", folder, "-o", database}, 2, "planted-1.jsonl:1: /");
    CHECK_FALSE(std::filesystem::exists(database));
  }
}

TEST_CASE(
    "a cell has the mean of its replicates, an interval and a count of those that meet the SLO",
    "[cli]") {
  const Scene scene;
  // The prompt of 600 tokens alone takes 2 + 600 x 0.02 = 14 ms: 1 ms is missed whatever is drawn,
  // and 20 s are more than all six requests take one after the other.
  const std::string folder = scene.path("camp");
  REQUIRE(test::spillway({"sweep", "plan", scene.scenario, "-o", folder, "--quiet", "--set",
                          "sweep={\"vary\": {\"slo.0.max\": [1, 20000]}, \"replications\": 5}"})
              .code == 0);
  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const std::string database = scene.path("r.sqlite");
  const CliResult shown = test::spillway({"sweep", "merge", folder, "-o", database});
  CHECK_THAT(shown.out, ContainsSubstring("met in 0 of 5"));
  CHECK_THAT(shown.out, ContainsSubstring("met in 5 of 5"));
  CHECK_THAT(shown.out, ContainsSubstring("no confidence"));
  CHECK_THAT(shown.out, ContainsSubstring("95% interval"));

  const json cells = document_of({"sweep", "merge", folder})["results"]["cells"];
  REQUIRE(cells.size() == 2);
  CHECK(cells[0]["values"]["slo.0.max"] == 1);
  CHECK(cells[0]["verdict"] == "met in 0 of 5");
  CHECK(cells[1]["slo"]["share"] == 1);
  CHECK(cells[1]["slo"]["targets"][0]["share"] == 1);
  CHECK(cells[0]["slo"]["recording_met"] == false);
  CHECK(cells[1]["slo"]["recording_met"] == true);

  // The replicates themselves, and not the recording beside them.
  const Campaign campaign = open_campaign(folder);
  const Merged all = merge_runs(campaign);
  std::vector<double> ttft;
  double recorded = 0;
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    if (campaign.runs[i].cell != 1) continue;
    const double value = json::parse(all.runs[i].payload)["metrics"]["p99_ttft_ms"];
    if (campaign.runs[i].replicate == kRecordingItself) {
      recorded = value;
    } else {
      ttft.push_back(value);
    }
  }
  REQUIRE(ttft.size() == 5);
  const json& figure = cells[1]["figures"]["p99_ttft_ms"];
  CHECK(figure["runs"] == 5);
  CHECK(figure["mean"].get<double>() == Approx(mean_of(ttft)));
  CHECK(figure["recording"] == recorded);
  const SampleSummary s = summarise(ttft, {}, FigureKind::kFigure, Replication::kResampled, 1);
  CHECK(figure["low"].get<double>() == Approx(lower_bound(s, FigureKind::kFigure, 0.025)));
  CHECK(figure["high"].get<double>() == Approx(upper_bound(s, FigureKind::kFigure, 0.025)));

  CHECK(query(database, "SELECT verdict FROM cells ORDER BY cell") ==
        std::vector<std::string>{"met in 0 of 5", "met in 5 of 5"});
  CHECK(query(database, "SELECT slo_p99_ttft_ms_met_share FROM cells ORDER BY cell") ==
        std::vector<std::string>{"0.0", "1.0"});
  // Whoever averages runs himself leaves replicate -1 out.
  CHECK(query(database,
              "SELECT abs(avg(r.p99_ttft_ms) - c.p99_ttft_ms_mean) < 1e-6 FROM runs r JOIN cells c "
              "USING (cell) WHERE replicate >= 0 GROUP BY cell") ==
        std::vector<std::string>{"1", "1"});
  CHECK(query(database, "SELECT count(*) FROM runs WHERE replicate = -1").front() == "2");
}

TEST_CASE("few replicates have a mean and no interval, and runs to come are told", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {"sweep.replications=3"});
  const CliResult early = test::spillway({"sweep", "merge", folder, "--json", "-"});
  CHECK(early.code == 6);
  const json cells = json::parse(early.out)["results"]["cells"];
  CHECK(cells[0]["verdict"] == "met in 1 of 1, 2 to come");  // the estimate's run
  CHECK_FALSE(cells[2].contains("verdict"));
  CHECK(cells[2]["missing"] == 3);
  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const json all = document_of({"sweep", "merge", folder})["results"]["cells"];
  CHECK(all[0]["figures"]["p99_ttft_ms"].contains("mean"));
  CHECK_FALSE(all[0]["figures"]["p99_ttft_ms"].contains("low"));
}

TEST_CASE("a replicate that cannot be run meets nothing", "[cli]") {
  const Scene scene;
  // Requests of 605 tokens take 38 blocks of 16; a pool of 20 holds none.
  const std::string folder = scene.path("camp");
  REQUIRE(test::spillway({"sweep", "plan", scene.scenario, "-o", folder, "--quiet", "--set",
                          "sweep={\"vary\": {\"engine.num_gpu_blocks\": [20, 2048]}}"})
              .code == 0);
  CHECK(test::spillway({"sweep", "run", folder, "--quiet"}).code == 6);
  const CliResult result = test::spillway({"sweep", "merge", folder, "--json", "-"});
  const json cells = json::parse(result.out)["results"]["cells"];
  CHECK(cells[0]["verdict"] == "could not be run");
  CHECK(cells[0]["failed"] == 1);
  CHECK(cells[1]["verdict"] == "met in 1 of 1");
}

TEST_CASE("varied numbers are numbers in the database, and sizes are there in bytes", "[cli]") {
  const Scene scene;
  const std::string folder = scene.path("camp");
  REQUIRE(test::spillway({"sweep", "plan", scene.scenario, "-o", folder, "--quiet", "--set",
                          "sweep={\"vary\": {\"tiers.0.capacity\": [\"16GiB\", \"1024MiB\", "
                          "\"inf\"], \"engine.max_num_seqs\": [64, 256], "
                          "\"links.0.bandwidth\": [\"25GB/s\", \"400Gbps\"]}}"})
              .code == 0);
  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const std::string database = scene.path("r.sqlite");
  REQUIRE(test::spillway({"sweep", "merge", folder, "-o", database, "--csv", scene.path("r.csv")})
              .code == 0);
  for (const char* table : {"runs", "cells"}) {
    INFO(table);
    const auto all = [&](const std::string& column) {
      return query(database,
                   fmt::format("SELECT DISTINCT {0} FROM {1} ORDER BY {0}", column, table));
    };
    // As text "1024MiB" comes before "16GiB" only by chance, and "256" before "64".
    CHECK(all("\"tiers.0.capacity_bytes\"") ==
          std::vector<std::string>{"NULL", "1073741824", "17179869184"});
    CHECK(all("\"engine.max_num_seqs\"") == std::vector<std::string>{"64", "256"});
    // 400 Gbit/s / 8 = 50 GB/s.
    CHECK(all("\"links.0.bandwidth_bytes_per_s\"") ==
          std::vector<std::string>{"25000000000", "50000000000"});
    CHECK(all("typeof(\"engine.max_num_seqs\")") == std::vector<std::string>{"integer"});
    CHECK(all("\"tiers.0.capacity\"") == std::vector<std::string>{"1024MiB", "16GiB", "inf"});
  }
  CHECK_THAT(test::read_file(scene.path("r.csv")),
             StartsWith("key,cell,replicate,status,failure,engine.max_num_seqs,"
                        "links.0.bandwidth,links.0.bandwidth_bytes_per_s,tiers.0.capacity,"
                        "tiers.0.capacity_bytes,requests,"));
}

}  // namespace
}  // namespace spillway

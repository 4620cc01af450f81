// What is wrong with a log is said, with the place and by how much; nothing is fitted to it in
// silence.
#include "scenarios/scenario/measured/measured_run.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

/// Forty requests, 250 ms apart, of 100 + i tokens in and 11 out: queued 1 ms after their arrival,
/// scheduled 1 ms later, answered 40 ms later, 20 ms per token.
struct Row {
  double arrival, queued, scheduled, first, last;
  int input, output = 11;
  std::string id{};
};

std::vector<Row> steady() {
  std::vector<Row> rows;
  for (int i = 0; i < 40; ++i) {
    const double at = 0.25 * i;
    rows.push_back({at, at + 0.001, at + 0.002, at + 0.042, at + 0.242, 100 + i});
  }
  return rows;
}

class Logs {
 public:
  std::string write(const std::vector<Row>& rows) const {
    std::string text =
        "input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s,"
        "request_id\n";
    for (const Row& r : rows) {
      text += fmt::format("{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{}\n", r.input, r.output,
                          r.arrival, r.queued, r.scheduled, r.first, r.last, r.id);
    }
    return scratch.file("log.csv", text);
  }
  MeasuredRun load(const std::vector<Row>& rows, const MeasuredOptions& options = {}) const {
    return load_measured({write(rows)}, options);
  }
  /// The error, whose exit code is 3.
  std::string refused(const std::vector<Row>& rows) const {
    try {
      load(rows);
    } catch (const InputError& error) {
      CHECK(error.fault() == Fault::kTrace);
      return error.what();
    }
    return "nothing";
  }

  test::Scratch scratch;
};

bool noted(const MeasuredRun& run, const std::string& words) {
  for (const std::string& note : run.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a sound log has nothing to note", "[scenarios]") {
  CHECK(Logs().load(steady()).notes.empty());
}

TEST_CASE("a first token before its request was scheduled is clock skew", "[scenarios]") {
  auto rows = steady();
  rows[4].first = rows[4].scheduled - 0.25;
  rows[9].first = rows[9].scheduled - 0.75;
  const std::string error = Logs().refused(rows);
  CHECK_THAT(error, ContainsSubstring("log.csv:6: first_token_s: expected a time at or after "
                                      "scheduled_s, found one 0.250000 s before it"));
  CHECK_THAT(error, ContainsSubstring("in 2 requests of 40, by up to 0.750000 s"));
}

TEST_CASE("a few requests queued before they arrived are skew, all of them an offset",
          "[scenarios]") {
  auto rows = steady();
  rows[7].queued -= 3;
  CHECK_THAT(Logs().refused(rows),
             ContainsSubstring("log.csv:9: queued_s: expected a time at or after arrival_s, found "
                               "one 2.999000 s before it"));
  // vLLM's clocks: arrivals count from 1970, the rest from the machine's start.
  rows = steady();
  for (Row& r : rows) {
    r.arrival += 1777142838.25;
    for (double* t : {&r.queued, &r.scheduled, &r.first, &r.last}) *t += 479748.5;
  }
  const Logs logs;
  const MeasuredRun run = logs.load(rows);
  CHECK(noted(run, "queued_s and later times are 1776663089.749 s behind arrival_s") !=
        noted(run, "behind arrival_s: another clock"));  // to the microsecond: not these digits
  CHECK(run.requests[0].arrival_s == 0);
  // Queueing took 1 ms, which no longer can be told from the offset.
  CHECK(run.requests[0].queued_s == Approx(0).margin(1e-5));
  CHECK(run.requests[0].first_token_s == Approx(0.041).margin(1e-5));
}

TEST_CASE("clocks that drift apart have no constant offset", "[scenarios]") {
  auto rows = steady();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& r = rows[i];
    for (double* t : {&r.queued, &r.scheduled, &r.first, &r.last}) {
      *t += 1000 + 0.05 * static_cast<double>(i);
    }
  }
  CHECK_THAT(Logs().refused(rows), ContainsSubstring("queued_s: expected clocks with a constant "
                                                     "offset, found that queued_s moves by +1.3"));
}

TEST_CASE("times off by a factor of 1000 are named as that", "[scenarios]") {
  struct Case {
    double Row::*column;
    double factor;
    const char* says;
  };
  for (const Case& c : {
           Case{&Row::arrival, 1e3, "queued_s: expected times in the unit of arrival_s"},
           Case{&Row::arrival, 1e-3, "queued_s: expected times in the unit of arrival_s"},
           Case{&Row::scheduled, 1e3, "scheduled_s: expected times in the unit of queued_s"},
           Case{&Row::last, 1e-3, "last_token_s: expected times in the unit of first_token_s"},
       }) {
    auto rows = steady();
    for (Row& r : rows) r.*(c.column) *= c.factor;
    const std::string error = Logs().refused(rows);
    CHECK_THAT(error, ContainsSubstring(c.says));
    CHECK_THAT(error, ContainsSubstring("off by 1000"));
  }
  for (const auto& [factor, says] :
       {std::pair(1e3, "found 20 s: times are 1000 times too long"),
        std::pair(1e-3, "found 2e-05 s: times are 1000 times too short")}) {
    auto rows = steady();
    for (Row& r : rows) {
      for (double* t : {&r.arrival, &r.queued, &r.scheduled, &r.first, &r.last}) *t *= factor;
    }
    CHECK_THAT(Logs().refused(rows), ContainsSubstring(says));
  }
}

TEST_CASE("a time that no clock shows is refused with its row", "[scenarios]") {
  for (const double last : {1e308, 1e12}) {
    auto rows = steady();
    rows[3].last = last;
    CHECK_THAT(Logs().refused(rows),
               ContainsSubstring("last_token_s: expected seconds up to 4000000000, found "));
  }
}

TEST_CASE("missing requests show in ids, in counts and in counters", "[scenarios]") {
  auto rows = steady();
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].id = fmt::format("bench-{}", i);
  rows.erase(rows.begin() + 5, rows.begin() + 8);
  const Logs logs;
  CHECK_THAT(logs.refused(rows),
             ContainsSubstring("request_id: expected ids that count from bench-0 to bench-39 "
                               "without a hole, found 3 requests missing, the first behind "
                               "bench-4"));
  CHECK(noted(logs.load(rows, {false, "", true}), "3 requests missing"));

  rows = steady();
  const std::string log = logs.write(rows);
  const std::string meta = logs.scratch.file(
      "meta.json", "{\"model\": \"m\", \"engine_kwargs\": {},\n \"num_requests\": 42}\n");
  CHECK_THROWS_WITH(
      load_measured({log, meta}),
      ContainsSubstring("meta.json:2: num_requests: expected as many requests as in") &&
          ContainsSubstring("40, found 42: requests are missing from the log"));

  // 40 requests of 11 tokens in 10 s are 44 tokens/s; the counters saw 55.
  std::string ticks = "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n";
  for (int t = 1; t <= 10; ++t) ticks += fmt::format("{},400,55,1,0,2\n", t);
  const std::string counters = logs.scratch.file("ticks.csv", ticks);
  CHECK_THROWS_WITH(load_measured({log, counters}),
                    ContainsSubstring("gen_throughput: expected the output tokens of the request "
                                      "log, counted 550") &&
                        ContainsSubstring("these have 440 (80.0%)"));
  CHECK(noted(load_measured({log, counters}, {false, "", true}), "80.0%"));
}

TEST_CASE("rows that come twice, or lack what counts, are refused", "[scenarios]") {
  auto rows = steady();
  rows.push_back(rows[3]);
  CHECK_THAT(Logs().refused(rows),
             ContainsSubstring("log.csv:42: request_id: expected each request once, found the "
                               "same lengths and times as on line 5"));
  rows = steady();
  rows[1].id = rows[2].id = "x";
  CHECK_THAT(Logs().refused(rows), ContainsSubstring("log.csv:4: request_id: expected each request "
                                                     "once, found the same id as on line 3"));
  rows = steady();
  rows[1].input = 0;
  CHECK_THAT(Logs().refused(rows), ContainsSubstring("log.csv:3: input_toks: expected a whole "
                                                     "number of tokens from 1"));
  rows[1].input = 1;
  rows[1].output = 0;
  CHECK_THAT(Logs().refused(rows), ContainsSubstring("log.csv:3: output_toks: expected at least 1 "
                                                     "token of a completed request, found 0"));
  rows[1].output = 7;
  rows[1].last = kUnknownTime;
  std::string text = test::read_file(Logs().write(rows));
  text.replace(text.find("-1.000000"), 9, "");
  const Logs logs;
  CHECK_THROWS_WITH(load_measured({logs.scratch.file("cut.csv", text)}),
                    ContainsSubstring("cut.csv:3: last_token_s: expected the time of the last of 7 "
                                      "tokens, found none"));
  CHECK_THROWS_WITH(load_measured({logs.scratch.file("none.csv", "arrival_s,input_toks\n")}),
                    ContainsSubstring("expected at least one completed request, found none"));
}

TEST_CASE("warm-up is named, and left out where that is asked for", "[scenarios]") {
  auto rows = steady();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    Row& r = rows[i];
    for (double* t : {&r.arrival, &r.queued, &r.scheduled, &r.first, &r.last}) *t += 60;
  }
  const Logs logs;
  const MeasuredRun ahead = logs.load(rows);
  CHECK(ahead.requests.size() == 40);
  CHECK(noted(ahead, "1 request of 40 came 60.2 s before the rest"));
  CHECK(logs.load(rows, {true, "", false}).requests.size() == 39);

  rows = steady();
  rows[0].first = 0.202;  // 200 ms to its first token, where 40 are usual
  const MeasuredRun slow = logs.load(rows);
  CHECK(noted(slow,
              "the first request took 0.200 s from first step to first token at an idle "
              "engine, 5.0 times the 0.040 s"));
  CHECK(logs.load(rows, {true, "", false}).requests.size() == 39);
}

}  // namespace
}  // namespace spillway

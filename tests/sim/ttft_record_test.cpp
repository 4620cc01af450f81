// Times to first token by band, and the slowest requests: exact counts, flat memory.
#include "sim/ttft_record.hpp"

#include "sim/recorder.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Arrived at 1 s; `queue` and `step` ms until its first token.
RequestRecord record(std::uint32_t id, std::int64_t queue, std::int64_t step) {
  RequestRecord r;
  r.request = RequestId{id};
  r.due = r.arrival = time_at(1'000'000'000);
  r.first_token = r.arrival + std::chrono::milliseconds(queue + step);
  r.scheduled = r.arrival;
  r.finish = r.first_token;
  r.input_tokens = 100 + id;
  r.output_tokens = 1;
  r.cached_tokens = {16, 32};
  r.ttft[0] = std::chrono::milliseconds(queue);
  r.ttft[4] = std::chrono::milliseconds(step);
  return r;
}

TEST_CASE("bands have their part of the requests, and stages that add up", "[sim]") {
  TtftRecord record_;
  for (std::uint32_t i = 0; i < 1000; ++i) record_.add(record(i, i, 10));
  const std::vector<TtftBand> bands = record_.bands();
  REQUIRE(bands.size() == 5);
  CHECK(bands[0].name == "all");
  CHECK(bands[0].requests == 1000);
  CHECK(bands[0].stage_ms[0] == Approx(499.5));
  CHECK(bands[0].stage_ms[4] == Approx(10));
  CHECK(bands[0].ttft_ms == Approx(509.5));
  const std::uint64_t sizes[] = {500, 400, 90, 10};
  const double means[] = {249.5, 699.5, 944.5, 994.5};  // of 0-499, 500-899, 900-989, 990-999
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(bands[i + 1].name);
    CHECK(bands[i + 1].requests == sizes[i]);
    CHECK(bands[i + 1].stage_ms[0] == Approx(means[i]).epsilon(0.016));
    CHECK(bands[i + 1].ttft_ms == Approx(means[i] + 10).epsilon(0.016));
  }
}

TEST_CASE("a band without a request is left out", "[sim]") {
  TtftRecord one;
  CHECK(one.bands().empty());
  one.add(record(0, 5, 5));
  // Of one request, the ranks below 50%, 90% and 99% are none: it is the slowest 1%.
  const std::vector<TtftBand> bands = one.bands();
  REQUIRE(bands.size() == 2);
  CHECK(bands[0].name == "all");
  CHECK(bands[1].name == "p99-p100");
  CHECK(bands[1].ttft_ms == Approx(10));
}

TEST_CASE("equal times fill all bands", "[sim]") {
  TtftRecord equal;
  for (std::uint32_t i = 0; i < 100; ++i) equal.add(record(i, 3, 4));
  const std::vector<TtftBand> bands = equal.bands();
  REQUIRE(bands.size() == 5);
  for (const TtftBand& band : bands) CHECK(band.ttft_ms == Approx(7));
}

TEST_CASE("the ten slowest stand in order, of equals the first", "[sim]") {
  TtftRecord all;
  for (std::uint32_t i = 0; i < 50; ++i) all.add(record((i * 7) % 50, (i * 7) % 50 / 5, 1));
  // Waits of 9 ms: requests 45 to 49; of 8 ms: 40 to 44.
  std::vector<std::uint64_t> order;
  for (const SlowRequest& slow : all.slowest(2)) order.push_back(slow.request);
  CHECK(order == std::vector<std::uint64_t>{45, 46, 47, 48, 49, 40, 41, 42, 43, 44});
  const SlowRequest first = all.slowest(2)[0];
  CHECK(first.arrival_s == 1);
  CHECK(first.ttft_ms == 10);
  CHECK(first.stage_ms[0] == 9);
  CHECK(first.input_tokens == 145);
  CHECK(first.cached_tokens == std::vector<std::uint64_t>{16, 32});
}

TEST_CASE("warm-up and unfinished requests are in neither", "[sim]") {
  Recorder recorder(1, 0, {});
  RequestRecord warm = record(0, 5, 5);
  warm.warmup = true;
  recorder.on_request(warm);
  RequestRecord failed = record(1, 5, 5);
  failed.status = RequestStatus::kFailed;
  recorder.on_request(failed);
  CHECK(recorder.result(1).ttft_bands.empty());
  CHECK(recorder.result(1).slowest.empty());
  recorder.on_request(record(2, 5, 5));
  CHECK(recorder.result(1).slowest.size() == 1);
}

}  // namespace
}  // namespace spillway::test

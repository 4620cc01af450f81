// The parts of the GPU harness that need no GPU: requests, statistics, the places of copies.
#include <algorithm>
#include <numeric>
#include <set>

#include "models/calibration/harness/answer.hpp"
#include "models/calibration/harness/layout.hpp"
#include "models/calibration/harness/request.hpp"
#include "models/calibration/harness/statistics.hpp"
#include "tests/support/catch.hpp"

namespace spillway_harness {
namespace {

TEST_CASE("a harness request is read word by word", "[models]") {
  const Request request("cmd=copy id=3 bytes=4096 limit_s=0.25");
  CHECK(request.text("cmd") == "copy");
  CHECK(request.number("bytes", 1, 1 << 20) == 4096);
  CHECK(request.real_or("limit_s", 1) == 0.25);
  CHECK(request.real_or("seconds", 1) == 1);
  CHECK(request.number_or("n", 16, 1, 100) == 16);
  CHECK_FALSE(request.has("n"));
}

TEST_CASE("a harness request that makes no sense is refused by name", "[models]") {
  CHECK_THROWS_WITH(Request("copy"), "expected key=value, found \"copy\"");
  CHECK_THROWS_WITH(Request("a=1 a=2"), "a: given twice");
  const Request request("cmd=copy bytes=4k n=0 limit_s=-1 actors=h2d:0:1");
  CHECK_THROWS_WITH(request.text("dir"), "dir: missing");
  CHECK_THROWS_WITH(request.number("bytes", 1, 9), "bytes: expected a whole number, found \"4k\"");
  CHECK_THROWS_WITH(request.number("n", 1, 9), "n: expected 1 to 9, found 0");
  CHECK_THROWS_WITH(request.real_or("limit_s", 1),
                    "limit_s: expected a number, 0 or more, found \"-1\"");
  CHECK_THROWS_WITH(request.actors(), "actors: expected dir:gpu:bytes:n, found \"h2d:0:1\"");
  CHECK_THROWS_AS(Request("actors=h2d:0:1:2").actors(), BadRequest);
  CHECK(Request("actors=h2d:0:1:2+d2h:1:3:4").actors()[1].n == 4);
}

TEST_CASE("quantiles of samples are numpy's", "[models]") {
  // 10, 20, 30, 40: the median is 25, p10 is 10 + 0.3 x 10, p99 is 30 + 0.97 x 10.
  const Summary s = summary_of({40, 10, 30, 20});
  CHECK(s.median == Approx(25));
  CHECK(s.p10 == Approx(13));
  CHECK(s.p90 == Approx(37));
  CHECK(s.p99 == Approx(39.7));
  // Deviations 15, 5, 5, 15: variance 500 / 4, over a mean of 25.
  CHECK(s.cv == Approx(0.4472136).epsilon(1e-6));
  CHECK(summary_of({}).median == 0);
  CHECK(summary_of({7}).p99 == 7);
}

TEST_CASE("samples last 2 ms, and give way to the limit", "[models]") {
  // 100 us a batch: 20 of them make 2 ms; 20 samples take 40 ms.
  SamplePlan plan = plan_samples(100e-6, 1, 1000);
  CHECK(plan.samples == 20);
  CHECK(plan.per_sample == 20);
  // A tenth of that time: 20 samples of 2 batches.
  plan = plan_samples(100e-6, 4e-3, 1000);
  CHECK(plan.samples == 20);
  CHECK(plan.per_sample == 2);
  // No more than 8 fit behind the gate.
  CHECK(plan_samples(100e-6, 1, 8).per_sample == 8);
  // A batch of 30 ms and 0.25 s: 8 samples of one. A batch of a second: 5, whatever the limit.
  plan = plan_samples(0.03, 0.25, 1000);
  CHECK(plan.samples == 8);
  CHECK(plan.per_sample == 1);
  CHECK(plan_samples(1, 0.25, 1000).samples == 5);
}

TEST_CASE("an answer is one line of JSON", "[models]") {
  Answer answer;
  answer.whole("id", 3).text("what", "a \"b\"\n\\").number("x", 1.0 / 3).flag("valid", false);
  answer.numbers("list", {1, 2.5});
  const std::string expected =
      "{\"id\":3,\"what\":\"a \\\"b\\\"?\\\\\",\"x\":0.3333333,\"valid\":false,\"list\":[1,2.5]}";
  CHECK(answer.line() == expected);
  CHECK(number_text(1e300 * 1e300) == "0");
}

TEST_CASE("copies of a batch lie apart, inside their span, in every pattern", "[models]") {
  constexpr std::int64_t kBytes = 4096;
  for (const std::string pattern :
       {"contiguous", "strided", "random", "layer_first", "page_first"}) {
    for (const std::int64_t n : {1, 2, 31, 64, 1000}) {
      INFO(pattern << " " << n);
      const Offsets offsets = offsets_of(pattern, kBytes, n, 7);
      for (const std::vector<std::int64_t>& side : {offsets.host, offsets.device}) {
        const std::set<std::int64_t> places(side.begin(), side.end());
        REQUIRE(places.size() == static_cast<std::size_t>(n));
        CHECK(*places.begin() >= 0);
        CHECK(*places.rbegin() + kBytes <= span_of(pattern, kBytes, n));
        CHECK(std::all_of(side.begin(), side.end(), [](auto at) { return at % kBytes == 0; }));
      }
    }
  }
  CHECK_THROWS_AS(offsets_of("zigzag", kBytes, 4, 7), BadRequest);
}

TEST_CASE("patterns are what their names say", "[models]") {
  const Offsets strided = offsets_of("strided", 10, 3, 1);
  CHECK(strided.host == std::vector<std::int64_t>{0, 20, 40});
  CHECK(strided.device == strided.host);
  const Offsets random = offsets_of("random", 10, 100, 1);
  CHECK_FALSE(std::is_sorted(random.host.begin(), random.host.end()));
  CHECK(random.host != random.device);
  CHECK(random.host == offsets_of("random", 10, 100, 1).host);  // equal seeds, equal places
  // 64 copies are 2 pages of 32 layers. Layer first: neighbouring layers of a page lie a layer's
  // region, 2 pages, apart on the device, and next to each other on the host.
  const Offsets layered = offsets_of("layer_first", 10, 64, 1);
  CHECK(layered.device[1] - layered.device[0] == 20);
  CHECK(layered.host[1] - layered.host[0] == 10);
  const Offsets paged = offsets_of("page_first", 10, 64, 1);
  CHECK(paged.device[1] - paged.device[0] == 10);
  CHECK(layers_of(64) == 32);
  CHECK(layers_of(31) == 31);
  CHECK(layers_of(37) == 1);
}

}  // namespace
}  // namespace spillway_harness

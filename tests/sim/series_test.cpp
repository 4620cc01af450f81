// Binned series: what goes in comes out, however often the bins doubled.
#include "sim/series.hpp"

#include <numeric>
#include <vector>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Time at_s(double seconds) {
  return time_at(static_cast<std::int64_t>(seconds * 1e9));
}

double total(const BinnedSeries& series) {
  return std::accumulate(series.bins().begin(), series.bins().end(), 0.0);
}

TEST_CASE("a new series is empty, with bins of one second", "[sim]") {
  const BinnedSeries series;
  CHECK(series.bins().empty());
  CHECK(series.bin_width() == Duration(kSecond));
}

TEST_CASE("a level adds value-seconds to every bin it covers", "[sim]") {
  BinnedSeries series;
  series.add_level(at_s(0.5), at_s(2.5), 2);  // half a bin, a bin, half a bin
  CHECK(series.bins() == std::vector<double>{1, 2, 1});
  series.add_level(at_s(1), at_s(1), 100);  // of no length: nothing
  CHECK(series.bins() == std::vector<double>{1, 2, 1});
  series.add_level(at_s(1.25), at_s(1.5), 4);  // inside one bin: 4 * 0.25
  CHECK(series.bins() == std::vector<double>{1, 3, 1});
}

TEST_CASE("an amount is spread evenly over its interval", "[sim]") {
  BinnedSeries series;
  series.add_amount(at_s(0), at_s(4), 8);  // 2 a second
  REQUIRE(series.bins().size() >= 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(series.bins()[i] == 2);
  CHECK(total(series) == 8);
}

TEST_CASE("an amount at one instant falls into that instant's bin", "[sim]") {
  BinnedSeries series;
  series.add_amount(at_s(2), at_s(2), 5);
  CHECK(series.bins() == std::vector<double>{0, 0, 5});
  series.add_amount(at_s(1.999), at_s(1.999), 1);
  CHECK(series.bins() == std::vector<double>{0, 1, 5});
}

TEST_CASE("bins double when the bound is reached and add up in pairs", "[sim]") {
  BinnedSeries series;
  // Second s gets amount s + 1, up to the last bin that fits.
  for (int s = 0; s < 1024; ++s) series.add_amount(at_s(s), at_s(s), s + 1);
  CHECK(series.bin_width() == Duration(kSecond));
  CHECK(series.bins().size() == BinnedSeries::kMaxBins);
  series.add_amount(at_s(1024), at_s(1024), 1);  // one second too far
  CHECK(series.bin_width() == Duration(2 * kSecond));
  CHECK(series.bins().size() == 513);
  CHECK(series.bins()[0] == 1 + 2);
  CHECK(series.bins()[1] == 3 + 4);
  CHECK(series.bins()[511] == 1023 + 1024);
  CHECK(series.bins()[512] == 1);
  CHECK(total(series) == 1024 * 1025 / 2 + 1);
}

TEST_CASE("an odd number of bins doubles without losing the last", "[sim]") {
  BinnedSeries series;
  for (int s = 0; s < 3; ++s) series.add_amount(at_s(s), at_s(s), 1);
  // 2,000 s fit 1,024 bins of 2 s: {1, 1, 1} becomes {2, 1}.
  series.add_amount(at_s(2000), at_s(2000), 1);
  CHECK(series.bin_width() == Duration(2 * kSecond));
  CHECK(series.bins()[0] == 2);
  CHECK(series.bins()[1] == 1);
  CHECK(total(series) == 4);
}

TEST_CASE("one far jump doubles as often as needed", "[sim]") {
  BinnedSeries series;
  series.add_amount(at_s(0), at_s(0), 3);
  series.add_amount(at_s(1'000'000), at_s(1'000'000), 4);  // 1,024 * 2^10 = 1,048,576 s
  CHECK(series.bin_width() == Duration(1024 * kSecond));
  CHECK(series.bins().size() <= BinnedSeries::kMaxBins);
  CHECK(series.bins().front() == 3);
  CHECK(total(series) == 7);
}

TEST_CASE("the integral is conserved over a random history", "[sim]") {
  BinnedSeries series;
  Stream random(1, "series");
  std::int64_t now = 0;
  double expected = 0;
  for (int i = 0; i < 5'000; ++i) {
    const auto length = static_cast<std::int64_t>(random.exponential(3e9));
    const auto value = static_cast<double>(random.below(100));
    const Time from = time_at(now);
    const Time to = time_at(now + length);
    if (i % 2 == 0) {
      series.add_level(from, to, value);
      expected += value * seconds_of(to - from);
    } else {
      series.add_amount(from, to, value);
      expected += value;
    }
    now += length;
  }
  CHECK(series.bin_width() == Duration(16 * kSecond));  // 15,000 s: 1,024 bins of 16 s
  CHECK(series.bins().size() <= BinnedSeries::kMaxBins);
  CHECK(total(series) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("a level told in pieces equals the level told at once", "[sim]") {
  BinnedSeries whole;
  BinnedSeries pieces;
  whole.add_level(at_s(0), at_s(3000), 7);
  for (int s = 0; s < 3000; ++s) pieces.add_level(at_s(s), at_s(s + 1), 7);
  CHECK(pieces.bin_width() == whole.bin_width());
  REQUIRE(pieces.bins().size() == whole.bins().size());
  for (std::size_t i = 0; i < whole.bins().size(); ++i) {
    CHECK(pieces.bins()[i] == Approx(whole.bins()[i]));
  }
}

TEST_CASE("an interval that ends before it starts is a defect", "[sim]") {
  BinnedSeries series;
  CHECK_THROWS_AS(series.add_level(at_s(2), at_s(1), 1), InternalError);
}

}  // namespace
}  // namespace spillway

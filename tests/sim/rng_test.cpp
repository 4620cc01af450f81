// Random streams: equal bits on every machine, and distributions that are what they claim to be.
//
// The golden values were computed by an independent implementation of splitmix64, xoshiro256++ and
// Lemire's bounded draw in another language; only the constants of the algorithms are shared.
#include "sim/rng.hpp"

#include <cmath>
#include <vector>

#include "sim/error.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using Draws = std::vector<std::uint64_t>;

template <class Draw>
auto draws(std::size_t n, Draw draw) {
  std::vector<decltype(draw())> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(draw());
  return out;
}

/// Mean and variance of n draws, summed in the simplest way.
struct Moments {
  double mean = 0;
  double variance = 0;
};
template <class Draw>
Moments moments(std::size_t n, Draw draw) {
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(draw());
    sum += x;
    squares += x * x;
  }
  const double mean = sum / static_cast<double>(n);
  return {mean, squares / static_cast<double>(n) - mean * mean};
}
constexpr std::size_t kMany = 200'000;

TEST_CASE("mix64 is splitmix64's finaliser", "[sim]") {
  // The first output of splitmix64 seeded with 0, as published with its reference code.
  CHECK(mix64(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
  CHECK(mix64(1) == 0x5692161d100b05e5);
  CHECK(mix64(0) == 0);
}

TEST_CASE("golden: raw bits by seed, purpose and id", "[sim]") {
  Stream stream(1, "golden");
  CHECK(draws(4, [&] { return stream.bits(); }) ==
        Draws{0x7548e5ec21659b89, 0x1ac0238c96909a66, 0xc1eb2ce9f9708928, 0x43e44fab354af16e});
  CHECK(Stream(1, "golden", 1).bits() == 0x94c079489f238146);
  CHECK(Stream(2, "golden").bits() == 0xa5bd349dc3a881c1);
  CHECK(Stream(1, "gilded").bits() == 0xcaf5d641276dda89);
}

TEST_CASE("golden: uniform and bounded draws", "[sim]") {
  Stream u(7, "u");
  CHECK(u.uniform() == 0x1.c124dbd4de27cp-3);
  CHECK(u.uniform() == 0x1.40b76f3e88afep-2);
  CHECK(u.uniform() == 0x1.c292c03a9e294p-2);
  Stream b(7, "below");
  CHECK(draws(12, [&] { return b.below(10); }) == Draws{5, 1, 3, 4, 9, 0, 9, 5, 0, 5, 2, 7});
}

TEST_CASE("golden: continuous distributions", "[sim]") {
  // The reference used libm's logarithm, so it agrees to rounding; the bits are pinned by the
  // trace generator's content hash.
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-14 * std::abs(b); };
  Stream e(7, "e");
  CHECK(close(e.exponential(2.5), 0.3583806931620512));
  CHECK(close(e.exponential(2.5), 2.282255103760579));
  CHECK(close(e.exponential(2.5), 3.070259474945973));
  Stream n(7, "n");
  CHECK(close(n.normal(), -0.8527397608555785));
  CHECK(close(n.normal(), -0.14500084036597563));
  CHECK(close(n.normal(), 0.14504387925491843));
  Stream l(7, "l");
  CHECK(close(l.lognormal(600, 1), 1427.9059895443265));
  CHECK(close(l.lognormal(600, 1), 693.0174242688909));
  CHECK(close(l.lognormal(600, 1), 519.653096567552));
}

TEST_CASE("golden: discrete distributions", "[sim]") {
  Stream g(7, "g");
  CHECK(draws(12, [&] { return g.geometric(0.25); }) == Draws{1, 2, 2, 1, 5, 1, 1, 3, 4, 3, 9, 3});
  const Zipf zipf(16, 1);
  Stream z(7, "z");
  CHECK(draws(12, [&] { return std::uint64_t{zipf.draw(z)}; }) ==
        Draws{6, 1, 1, 1, 1, 13, 1, 5, 0, 11, 0, 13});
}

TEST_CASE("equal keys give equal streams, whatever other streams did", "[sim]") {
  Stream a(3, "length", 7);
  Stream other(3, "length", 6);
  for (int i = 0; i < 1000; ++i) other.bits();
  Stream b(3, "length", 7);
  CHECK(draws(100, [&] { return a.bits(); }) == draws(100, [&] { return b.bits(); }));
}

TEST_CASE("uniform draws fill [0, 1) evenly", "[sim]") {
  Stream stream(1, "uniform");
  double least = 1;
  double most = 0;
  const Moments m = moments(kMany, [&] {
    const double u = stream.uniform();
    least = std::min(least, u);
    most = std::max(most, u);
    return u;
  });
  CHECK(least >= 0);
  CHECK(most < 1);
  // Standard error of the mean: sqrt(1/12 / 200,000) = 0.00065; five of them.
  CHECK(m.mean == Approx(0.5).margin(0.0033));
  CHECK(m.variance == Approx(1.0 / 12).margin(0.002));
}

TEST_CASE("bounded draws are even and stay below the bound", "[sim]") {
  Stream stream(1, "below");
  std::vector<int> count(6, 0);
  for (int i = 0; i < 60'000; ++i) ++count[stream.below(6)];
  // 10,000 each; sqrt(60,000 * 1/6 * 5/6) = 91; five of them.
  for (const int c : count) CHECK(std::abs(c - 10'000) < 456);
  CHECK(stream.below(1) == 0);
}

TEST_CASE("a bound beyond half the range rejects instead of favouring small numbers", "[sim]") {
  // n = 3 * 2^62: plain multiplication would give a third of the results twice the weight, and
  // the mean 5/9 of n instead of 1/2.
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  Stream stream(1, "large bound");
  const Moments m = moments(kMany, [&] {
    const std::uint64_t draw = stream.below(kBound);
    return static_cast<double>(draw) / static_cast<double>(kBound);
  });
  CHECK(m.mean == Approx(0.5).margin(0.0033));
}

TEST_CASE("a lognormal without spread is its median, and draws as many", "[sim]") {
  Stream spread(1, "test");
  Stream fixed(1, "test");
  spread.lognormal(600, 1);
  CHECK(fixed.lognormal(600, 0) == 600);
  CHECK(fixed.uniform() == spread.uniform());
}

TEST_CASE("exponential, normal and lognormal draws have their moments", "[sim]") {
  Stream stream(1, "moments");
  const Moments exponential = moments(kMany, [&] { return stream.exponential(4); });
  CHECK(exponential.mean == Approx(4).epsilon(0.012));      // sd of the mean 4 / sqrt(n) = 0.009
  CHECK(exponential.variance == Approx(16).epsilon(0.04));  // the variance is mean^2
  const Moments normal = moments(kMany, [&] { return stream.normal(); });
  CHECK(normal.mean == Approx(0).margin(0.012));
  CHECK(normal.variance == Approx(1).epsilon(0.02));
  // The logarithm of a lognormal is normal around the logarithm of the median.
  const Moments log = moments(kMany, [&] { return std::log(stream.lognormal(600, 0.5)); });
  CHECK(log.mean == Approx(std::log(600)).margin(0.006));
  CHECK(log.variance == Approx(0.25).epsilon(0.02));
}

TEST_CASE("the normal distribution has the normal's tails", "[sim]") {
  Stream stream(1, "tails");
  int beyond_one = 0;
  int beyond_three = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    const double x = std::abs(stream.normal());
    beyond_one += x > 1 ? 1 : 0;
    beyond_three += x > 3 ? 1 : 0;
  }
  CHECK(beyond_one == Approx(0.31731 * kMany).epsilon(0.02));
  CHECK(beyond_three == Approx(0.0027 * kMany).epsilon(0.25));  // 540 +- 23
}

TEST_CASE("geometric draws count trials up to the first success", "[sim]") {
  Stream stream(1, "geometric");
  const Moments m = moments(kMany, [&] { return stream.geometric(0.25); });
  CHECK(m.mean == Approx(4).epsilon(0.012));      // 1/p
  CHECK(m.variance == Approx(12).epsilon(0.05));  // (1-p)/p^2
  CHECK(stream.geometric(1) == 1);
  CHECK_THROWS_AS(stream.geometric(0), InternalError);
  CHECK_THROWS_AS(stream.geometric(1.5), InternalError);
}

TEST_CASE("chance obeys its probability, and its ends", "[sim]") {
  Stream stream(1, "chance");
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += stream.chance(0.3) ? 1 : 0;
  CHECK(hits == Approx(30'000).margin(725));  // 5 * sqrt(100,000 * 0.3 * 0.7)
  CHECK_FALSE(stream.chance(0));
  CHECK(stream.chance(1));
}

TEST_CASE("Zipf ranks fall as 1/(rank+1)^exponent", "[sim]") {
  const Zipf zipf(3, 1);  // weights 1, 1/2, 1/3: shares 6/11, 3/11, 2/11
  Stream stream(1, "zipf");
  std::vector<double> share(3, 0);
  for (std::size_t i = 0; i < kMany; ++i) share[zipf.draw(stream)] += 1.0 / kMany;
  CHECK(share[0] == Approx(6.0 / 11).margin(0.006));
  CHECK(share[1] == Approx(3.0 / 11).margin(0.006));
  CHECK(share[2] == Approx(2.0 / 11).margin(0.006));
}

TEST_CASE("Zipf with exponent 0 is even, and over one item is certain", "[sim]") {
  const Zipf even(4, 0);
  Stream stream(1, "zipf ends");
  std::vector<int> count(4, 0);
  for (int i = 0; i < 40'000; ++i) ++count[even.draw(stream)];
  for (const int c : count) CHECK(std::abs(c - 10'000) < 434);
  CHECK(Zipf(1, 2).draw(stream) == 0);
  CHECK_THROWS_AS(Zipf(0, 1), InternalError);
}

TEST_CASE("a draw below nothing is a defect", "[sim]") {
  Stream stream(1, "nothing");
  REQUIRE_THROWS_AS(stream.below(0), InternalError);
}

}  // namespace
}  // namespace spillway

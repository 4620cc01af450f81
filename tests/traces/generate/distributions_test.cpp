// Distributions against their closed forms, and drawn equally by every compiler.
#include "traces/generate/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sim/digest.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments moments(const std::function<double(Stream&)>& draw) {
  constexpr int kDraws = 200'000;
  Stream stream(1, "moments");
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw(stream);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean) / mean};
}

TEST_CASE("the logarithm of the gamma function has its known values", "[traces]") {
  CHECK(ln_gamma(1) == Approx(0).margin(1e-12));
  CHECK(ln_gamma(2) == Approx(0).margin(1e-12));
  CHECK(ln_gamma(5) == Approx(3.1780538303479458).epsilon(1e-12));     // 4!
  CHECK(ln_gamma(0.5) == Approx(0.57236494292470008).epsilon(1e-12));  // sqrt(pi)
  CHECK(ln_gamma(100) == Approx(359.13420536957540).epsilon(1e-13));   // 99!
}

TEST_CASE("gamma draws have mean 1 and the variation of their shape", "[traces]") {
  const double shape = GENERATE(0.25, 0.75, 1.0, 4.0, 100.0);
  const Moments m = moments([&](Stream& s) { return unit_gamma(s, shape); });
  CHECK(m.mean == Approx(1).epsilon(0.02));
  CHECK(m.cv == Approx(1 / std::sqrt(shape)).epsilon(0.03));
}

TEST_CASE("Weibull draws have mean 1 and the variation asked for", "[traces]") {
  const double cv = GENERATE(0.1, 0.5, 1.0, 1.5, 3.0);
  const UnitWeibull weibull = UnitWeibull::with_cv(cv);
  CHECK(weibull.cv() == Approx(cv).epsilon(1e-9));
  const Moments m = moments([&](Stream& s) { return weibull.draw(s); });
  CHECK(m.mean == Approx(1).epsilon(0.03));
  CHECK(m.cv == Approx(cv).epsilon(0.06));
}

TEST_CASE("a Weibull distribution of shape 1 is exponential", "[traces]") {
  CHECK(UnitWeibull(1).cv() == Approx(1).epsilon(1e-12));
  Stream a(3, "x");
  Stream b(3, "x");
  CHECK(UnitWeibull(1).draw(a) == Approx(b.exponential(1)).epsilon(1e-12));
}

TEST_CASE("heavy-tailed counts have their mean and their tail", "[traces]") {
  const double mean = GENERATE(1.0, 1.5, 8.0);
  const HeavyTailCount counts(mean, 3);
  const Moments m = moments([&](Stream& s) { return static_cast<double>(counts.draw(s)); });
  CHECK(m.mean == Approx(mean).epsilon(0.03));
}

TEST_CASE("draws are the same numbers whatever the compiler", "[traces]") {
  std::vector<double> drawn;
  Stream stream(7, "golden");
  const UnitWeibull weibull = UnitWeibull::with_cv(2);
  const HeavyTailCount counts(6, 2);
  const QuantileTable table({1, 10, 100});
  for (int i = 0; i < 1000; ++i) {
    drawn.push_back(unit_gamma(stream, 0.3));
    drawn.push_back(unit_gamma(stream, 3));
    drawn.push_back(weibull.draw(stream));
    drawn.push_back(static_cast<double>(counts.draw(stream)));
    drawn.push_back(table.draw(stream));
  }
  Digest digest;
  digest.column(std::span<const double>(drawn));
  CHECK(hex16(digest.value()) == "758d4835899b15e9");
}

}  // namespace
}  // namespace spillway

// The random numbers of Python and numpy: equal to what these print. The line that prints them
// stands above each.
#include <numeric>
#include <vector>

#include "tests/support/catch.hpp"
#include "traces/generate/benchmarks/numpy_random.hpp"
#include "traces/generate/benchmarks/python_random.hpp"

namespace spillway {
namespace {

using Numbers = std::vector<std::uint32_t>;

template <class Draw>
Numbers draws(std::size_t count, Draw draw) {
  Numbers out;
  while (out.size() < count) out.push_back(draw());
  return out;
}

TEST_CASE("choices are those of Python", "[traces]") {
  PythonRandom random(892);
  // r = random.Random(892); [r.choice(range(100)) for _ in range(10)]
  CHECK(draws(10, [&] { return random.below(100); }) ==
        Numbers{28, 96, 39, 85, 90, 31, 57, 94, 54, 27});
  PythonRandom of_two_words((std::uint64_t{1} << 40) + 7);
  // r = random.Random((1 << 40) + 7); [r.randint(10, 1000) for _ in range(4)]
  CHECK(draws(4, [&] { return of_two_words.between(10, 1000); }) == Numbers{638, 775, 844, 970});
}

TEST_CASE("a shuffle is that of Python", "[traces]") {
  Numbers items(12);
  std::iota(items.begin(), items.end(), 0U);
  PythonRandom(0).shuffle(std::span(items));
  // v = list(range(12)); random.Random(0).shuffle(v); v
  CHECK(items == Numbers{1, 9, 8, 5, 10, 2, 3, 7, 4, 0, 11, 6});
}

TEST_CASE("normal and exponential draws are those of Python", "[traces]") {
  PythonRandom random(889);
  // r = random.Random(889); [r.gauss(128, 32) for _ in range(6)]
  for (const double expected : {91.0342565640695, 84.0559764800481, 129.348270349245,
                                141.524048553129, 106.72520806149, 93.9367804420758}) {
    CHECK(random.gauss(128, 32) == Approx(expected).epsilon(1e-13));
  }
  PythonRandom other(42);
  // r = random.Random(42); [r.expovariate(2) for _ in range(4)]
  for (const double expected :
       {0.510030143637401, 0.0126644195213694, 0.160812032037483, 0.126293092835057}) {
    CHECK(other.exponential(2) == Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("a half is rounded as Python does", "[traces]") {
  // [round(x) for x in (0.5, 1.5, 2.5, 2.4999, 2.5001)]
  CHECK(python_round(0.5) == 0);
  CHECK(python_round(1.5) == 2);
  CHECK(python_round(2.5) == 2);
  CHECK(python_round(2.4999) == 2);
  CHECK(python_round(2.5001) == 3);
}

TEST_CASE("whole numbers are those of numpy's default generator", "[traces]") {
  NumpyGenerator random(0);
  // g = np.random.default_rng(0); g.integers(512, 1537, size=7)
  CHECK(draws(7, [&] { return random.between(512, 1536); }) ==
        Numbers{1383, 1164, 1035, 788, 827, 553, 589});
  // g.integers(64, 193, size=4), g.integers(0, 151643, size=4)
  CHECK(draws(4, [&] { return random.between(64, 192); }) == Numbers{66, 86, 168, 147});
  CHECK(draws(4, [&] { return random.between(0, 151642); }) ==
        Numbers{138412, 76371, 91992, 147206});
  NumpyGenerator of_two_words((std::uint64_t{5} << 33) + 3);
  // np.random.default_rng((5 << 33) + 3).integers(0, 10, size=5)
  CHECK(draws(5, [&] { return of_two_words.between(0, 9); }) == Numbers{0, 7, 4, 3, 1});
}

TEST_CASE("gamma variates are those of numpy's legacy generator", "[traces]") {
  struct Case {
    double shape;
    std::vector<double> expected;
  };
  // np.random.seed(0); [np.random.gamma(shape, 1) for _ in range(5)]
  const Case cases[] = {
      {1,
       {0.79587450816311, 1.25593076296584, 0.923223145804069, 0.787201152317271,
        0.551048491095499}},
      {0.5,
       {0.304001889760704, 0.378271720067816, 0.179483389002888, 0.19148256746066,
        0.879608539681196}},
      {4,
       {8.18804139147326, 4.4875239934511, 8.53134505695404, 2.09562612796727, 3.47254771981651}}};
  for (const Case& c : cases) {
    NumpyLegacyGamma random(0);
    for (const double expected : c.expected) {
      CHECK(random.draw(c.shape) == Approx(expected).epsilon(1e-12));
    }
  }
}

}  // namespace
}  // namespace spillway

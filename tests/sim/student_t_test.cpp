// Student's t against closed forms and the usual printed table.
#include "sim/student_t.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("one and two degrees of freedom have closed forms", "[sim]") {
  // One: Cauchy, P(|T| > 1) = 1/2, t = tan(0.475 pi). Two: P(|T| <= t) = t / sqrt(2 + t^2).
  CHECK(student_t_p(1, 1) == Approx(0.5).epsilon(1e-13));
  CHECK(student_t_quantile(0.95, 1) == Approx(12.7062047361747).epsilon(1e-12));
  CHECK(student_t_p(1, 2) == Approx(1 - 1 / std::sqrt(3.0)).epsilon(1e-13));
  CHECK(student_t_quantile(0.95, 2) == Approx(0.95 * std::sqrt(2 / (1 - 0.9025))).epsilon(1e-12));
}

TEST_CASE("quantiles are those of the printed table", "[sim]") {
  struct Row {
    std::uint32_t dof;
    double t95;
    double t99;
  };
  for (const Row& row : {Row{1, 12.706, 63.657}, Row{4, 2.776, 4.604}, Row{5, 2.571, 4.032},
                         Row{9, 2.262, 3.250}, Row{19, 2.093, 2.861}, Row{30, 2.042, 2.750},
                         Row{60, 2.000, 2.660}, Row{120, 1.980, 2.617}}) {
    INFO(row.dof);
    CHECK(std::fabs(student_t_quantile(0.95, row.dof) - row.t95) < 0.0005001);
    CHECK(std::fabs(student_t_quantile(0.99, row.dof) - row.t99) < 0.0005001);
  }
}

TEST_CASE("many degrees of freedom are nearly normal", "[sim]") {
  // The first term of the expansion: z + (z^3 + z) / (4 n), z = 1.959964 at 95%.
  CHECK(student_t_quantile(0.95, 999) == Approx(1.959964 + 9.489 / 3996).margin(2e-5));
}

TEST_CASE("p and quantile are inverse, and p falls from 1 to 0", "[sim]") {
  for (std::uint32_t dof = 1; dof < 40; ++dof) {
    CHECK(student_t_p(student_t_quantile(0.9, dof), dof) == Approx(0.1).epsilon(1e-10));
    CHECK(student_t_p(-student_t_quantile(0.9, dof), dof) == Approx(0.1).epsilon(1e-10));
    CHECK(student_t_p(0, dof) == 1);
    CHECK(student_t_p(1e300, dof) < 1e-12);
    double before = 1;
    for (double t = 0.1; t < 20; t += 0.1) {
      CHECK(student_t_p(t, dof) < before + 1e-14);
      before = student_t_p(t, dof);
    }
  }
  CHECK(student_t_p(INFINITY, 9) == 0);
}

}  // namespace
}  // namespace spillway

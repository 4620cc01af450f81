// The budget of a calibration, on benches that only pretend and a clock that they advance.
#include "scenarios/machine/cell_runner.hpp"

#include <map>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using nlohmann::json;

/// What the benches of one test share: the time, and what was measured in which order.
struct World {
  double now_s = 0;
  std::vector<std::string> order;
};

/// Cells by name, each of which takes as long as the test says.
class FakeBench final : public Bench {
 public:
  FakeBench(std::string name, World& world) : name_(std::move(name)), world_(world) {}

  FakeBench& cell(const std::string& id, int priority, double expected_s, double takes_s) {
    plans_.push_back({name_, {{"id", id}}, expected_s, priority});
    takes_s_[id] = takes_s;
    return *this;
  }
  /// Coefficients of variation of its measurements, one after the other; the last one stays.
  FakeBench& varies(const std::string& id, std::vector<double> cvs) {
    cvs_[id] = std::move(cvs);
    return *this;
  }
  FakeBench& once(std::size_t index) {
    plans_.at(index).once = true;
    return *this;
  }
  FakeBench& dies_at(const std::string& id) {
    dies_at_ = id;
    return *this;
  }

  std::string_view name() const override { return name_; }
  std::vector<CellPlan> plan(const BenchLimits&, std::vector<std::string>&) override {
    return plans_;
  }
  json measure(const CellPlan& cell) override {
    const std::string id = cell.request["id"];
    world_.order.push_back(id);
    world_.now_s += takes_s_[id];
    if (id == dies_at_) throw BenchLost("fell off the bus");
    std::vector<double>& cvs = cvs_[id];
    double cv = 0;
    if (!cvs.empty()) {
      cv = cvs.front();
      if (cvs.size() > 1) cvs.erase(cvs.begin());
    }
    return {{"id", id}, {"time", {{"cv", cv}}}, {"state", {{"stable", cv <= 0.05}}}};
  }

 private:
  std::string name_;
  World& world_;
  std::vector<CellPlan> plans_;
  std::map<std::string, double> takes_s_;
  std::map<std::string, std::vector<double>> cvs_;
  std::string dies_at_;
};

struct Rig {
  World world;
  BenchList benches;
  std::vector<RunCell> cells;
  RunOptions options;
  std::vector<std::string> missing;

  FakeBench& add(const std::string& name) {
    benches.push_back(std::make_unique<FakeBench>(name, world));
    return static_cast<FakeBench&>(*benches.back());
  }
  RunOutcome run(double budget_s) {
    if (cells.empty()) cells = collect_cells(benches, {}, {}, missing);
    options.budget_s = budget_s;
    options.now = [this] { return world.now_s; };
    return run_cells(benches, cells, options);
  }
  std::string order() const {
    std::string out;
    for (const std::string& id : world.order) out += (out.empty() ? "" : " ") + id;
    return out;
  }
};

TEST_CASE("coarse cells of all benches come before fine ones", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("d0", 0, 1, 1).cell("d2", 2, 1, 1);
  rig.add("storage").cell("s1", 1, 1, 1).cell("s0", 0, 1, 1);
  const RunOutcome outcome = rig.run(100);
  CHECK(rig.order() == "d0 s0 s1 d2");
  CHECK(outcome.spent_s == 4);
  CHECK(outcome.repeats == 0);
}

TEST_CASE("what does not fit is left out, and smaller cells after it still come", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 4, 4).cell("b", 0, 5, 5).cell("c", 1, 2, 2).cell("d", 1, 2, 2);
  // 4 + 5 > 8, so b is left out; 4 + 2 + 2 = 8 fits.
  const RunOutcome outcome = rig.run(8);
  CHECK(rig.order() == "a c d");
  CHECK_FALSE(rig.cells[1].measured());
  CHECK(outcome.spent_s == 8);
}

TEST_CASE("a machine slower than planned gets through fewer cells, not past its budget",
          "[scenarios]") {
  Rig rig;
  FakeBench& bench = rig.add("dram");
  for (const char* id : {"a", "b", "c", "d", "e"}) bench.cell(id, 0, 1, 3);
  // Each takes three times as long: after a and b (6 s), c would end at 9 s, beyond 8 s.
  const RunOutcome outcome = rig.run(8);
  CHECK(rig.order() == "a b");
  CHECK(outcome.spent_s == 6);
}

TEST_CASE("the slowness of one bench is not held against another", "[scenarios]") {
  Rig rig;
  rig.add("storage").cell("s", 0, 1, 6).cell("t", 2, 1, 6);
  rig.add("dram").cell("d", 1, 1, 1).cell("e", 1, 1, 1);
  rig.run(8);
  CHECK(rig.order() == "s d e");  // t would take 6 of the 0 s left
}

TEST_CASE("unstable cells are measured again while the budget lasts", "[scenarios]") {
  Rig rig;
  rig.add("dram")
      .cell("calm", 0, 1, 1)
      .cell("noisy", 0, 1, 1)
      .cell("wild", 0, 1, 1)
      .varies("noisy", {0.2, 0.03})
      .varies("wild", {0.4, 0.2, 0.5});
  const RunOutcome outcome = rig.run(100);
  // noisy once more (0.03), wild three times more and never calm: its best is 0.2.
  CHECK(rig.world.order.size() == 3 + 1 + 3);
  CHECK(outcome.repeats == 4);
  CHECK(rig.cells[1].row["time"]["cv"] == 0.03);
  CHECK_FALSE(rig.cells[1].unstable());
  CHECK(rig.cells[2].row["time"]["cv"] == 0.2);
  CHECK(rig.cells[2].unstable());
}

TEST_CASE("a cell that would be another the second time is not repeated", "[scenarios]") {
  Rig rig;
  rig.add("storage").cell("fill", 0, 1, 1).varies("fill", {0.4}).once(0);
  CHECK(rig.run(100).repeats == 0);
  CHECK(rig.cells[0].unstable());
}

TEST_CASE("repeats end with the budget", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("wild", 0, 2, 2).varies("wild", {0.4});
  CHECK(rig.run(5).repeats == 1);  // 2 + 2 <= 5 < 6
  CHECK(rig.world.order.size() == 2);
}

TEST_CASE("repeats come in an order that the seed decides", "[scenarios]") {
  const auto order_of = [](std::uint64_t seed) {
    Rig rig;
    FakeBench& bench = rig.add("dram");
    for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
      bench.cell(id, 0, 1, 1).varies(id, {0.4, 0.01});
    }
    rig.options.seed = seed;
    rig.run(100);
    return rig.order();
  };
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(1) != order_of(2));
}

TEST_CASE("a device that is gone costs its own cells only", "[scenarios]") {
  Rig rig;
  rig.add("gpu").cell("g1", 0, 1, 1).cell("g2", 0, 1, 1).cell("g3", 1, 1, 1).dies_at("g2");
  rig.add("dram").cell("d1", 1, 1, 1).cell("d2", 2, 1, 1);
  const RunOutcome outcome = rig.run(100);
  CHECK(rig.order() == "g1 g2 d1 d2");
  REQUIRE(outcome.lost.size() == 1);
  CHECK(outcome.lost[0].name == "gpu");
  CHECK(outcome.lost[0].reason == "fell off the bus");
  CHECK(outcome.lost[0].cells == 2);  // g2 and g3
  CHECK(rig.cells[0].measured());     // what it told before is kept
}

TEST_CASE("a signal keeps what is whole and throws away the cell it fell into", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 1, 1).cell("b", 0, 1, 1).cell("c", 0, 1, 1);
  rig.options.stop = [&rig] { return rig.world.now_s >= 2; };  // while b is measured
  const RunOutcome outcome = rig.run(100);
  CHECK(outcome.stopped);
  CHECK(rig.order() == "a b");
  CHECK(rig.cells[0].measured());
  CHECK_FALSE(rig.cells[1].measured());
}

TEST_CASE("a run that goes on measures what is missing, within what is left", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 1, 1).cell("b", 0, 1, 1).cell("c", 0, 1, 1);
  rig.cells = collect_cells(rig.benches, {}, {}, rig.missing);
  rig.cells[0].row = {{"id", "a"}, {"state", {{"stable", true}}}};
  rig.options.spent_s = 3;
  // 3 + 1 fits into 4, and then nothing does.
  const RunOutcome outcome = rig.run(4);
  CHECK(rig.order() == "b");
  CHECK(outcome.spent_s == 4);
  CHECK(rig.cells[1].row["state"]["at_s"] == 3);  // since the calibration began
}

TEST_CASE("each row is reported as it comes, and again where a better one replaces it",
          "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 1, 1).varies("a", {0.4, 0.01});
  std::vector<double> seen;
  rig.options.on_row = [&](const RunCell& cell) { seen.push_back(cell.row["time"]["cv"]); };
  rig.run(100);
  CHECK(seen == std::vector<double>{0.4, 0.01});
}

TEST_CASE("progress ends where the work does", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 2, 2).cell("b", 0, 3, 3);
  std::vector<std::pair<double, double>> seen;
  rig.options.progress = [&](double done, double total) { seen.emplace_back(done, total); };
  rig.run(100);
  CHECK(seen == std::vector<std::pair<double, double>>{{2, 5}, {5, 5}});
}

TEST_CASE("--only sections are collected, and the plan says what fits", "[scenarios]") {
  Rig rig;
  rig.add("dram").cell("a", 0, 2, 2);
  rig.add("storage").cell("b", 0, 3, 3).cell("c", 1, 1, 1);
  CHECK(collect_cells(rig.benches, {}, {"storage"}, rig.missing).size() == 2);
  const std::vector<RunCell> cells = collect_cells(rig.benches, {}, {}, rig.missing);
  std::vector<bool> fits;
  CHECK(planned_s(cells, 3, fits) == 3);  // 2 + 1, without b
  CHECK(fits == std::vector<bool>{true, false, true});
}

}  // namespace
}  // namespace spillway

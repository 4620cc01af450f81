// Verifying a profile: a bench that answers as it did holds, one that slowed down does not.
#include "scenarios/machine/verify.hpp"

#include "models/calibration/fit.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/machine/calibration_fields.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/models/calibration/synthetic_machine.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

/// Answers with the synthetic machine's laws, `slower` times as slow.
class FakeBench final : public Bench {
 public:
  explicit FakeBench(double slower, int lost_after = 1 << 30)
      : slower_(slower), left_(lost_after) {}
  std::string_view name() const override { return "fake"; }

  std::vector<CellPlan> plan(const BenchLimits&, std::vector<std::string>& missing) override {
    missing.emplace_back("gpu 1: none here");
    std::vector<CellPlan> out;
    for (const std::string dir : {"h2d", "d2h"}) {
      for (std::int64_t bytes = 4096; bytes <= 64 << 20; bytes *= 2) {
        for (const std::uint32_t n : {1U, 16U, 64U}) {
          out.push_back({"copy",
                         {{"dir", dir},
                          {"gpu", 0},
                          {"api", "memcpy_async"},
                          {"mem", "host_alloc"},
                          {"pattern", "contiguous"},
                          {"bytes", bytes},
                          {"n", n},
                          {"gated", true}},
                         0.1,
                         0});
        }
      }
    }
    out.push_back({"contention",
                   {{"kind", "duplex"},
                    {"actors",
                     {{{"dir", "h2d"}, {"gpu", 0}, {"bytes", 1048576}, {"n", 64}},
                      {{"dir", "d2h"}, {"gpu", 0}, {"bytes", 1048576}, {"n", 64}}}}},
                   0.1,
                   0});
    out.push_back({"dram", {{"op", "copy"}, {"threads", 4096}}, 0.1, 0});  // not in the profile
    return out;
  }

  json measure(const CellPlan& cell) override {
    ++measured;
    if (--left_ < 0) throw BenchLost("fell off the bus");
    json row = cell.request;
    if (cell.section == "contention") {
      row["actors"][0]["together_gbs"] = 0.7 * 52 / slower_;
      row["actors"][1]["together_gbs"] = 0.9 * 50 / slower_;
      return row;
    }
    const double us = SyntheticMachine::copy_us(row["dir"], row["bytes"], row["n"]) * slower_;
    // One of three is disturbed.
    row["time"] = {{"med_us", measured % 3 == 0 ? 3 * us : us}};
    row["state"] = {{"valid", true}};
    return row;
  }

  int measured = 0;

 private:
  double slower_;
  int left_;
};

VerifyResult verified(double slower, VerifyOptions options = {}, int lost_after = 1 << 30,
                      int* measured = nullptr) {
  HardwareProfile profile = SyntheticMachine().profile();
  profile.fits = fit_profile(profile).fits;
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(std::make_unique<FakeBench>(slower, lost_after));
  const VerifyResult out = verify_profile(profile, benches, {}, options);
  if (measured != nullptr) *measured = static_cast<FakeBench&>(*benches[0]).measured;
  return out;
}

TEST_CASE("a machine that is as it was verifies", "[scenarios][profile]") {
  int measured = 0;
  const VerifyResult result = verified(1, {}, 1 << 30, &measured);
  CHECK(result.holds);
  // A tenth of 90 copies and of one contention cell, and as many new sizes as there are copies, but
  // for those whose neighbours leave no page between them.
  CHECK(result.stored.cells == 10);
  CHECK(result.fresh.cells >= 5);
  CHECK(result.fresh.cells <= 9);
  CHECK(measured == 3 * static_cast<int>(result.stored.cells + result.fresh.cells));
  CHECK(result.stored.median <= 5);  // the stored cells carry 2% noise
  CHECK(result.fresh.p95 <= 10);
  CHECK(result.cells.front().error >= result.cells.back().error);
  std::string notes;
  for (const std::string& note : result.notes) notes += note + "\n";
  CHECK_THAT(notes, Contains("not verified: gpu 1: none here") &&
                        Contains("stored cells cannot be measured here again"));
}

TEST_CASE("new sizes are none of the grid", "[scenarios][profile]") {
  for (const VerifiedCell& cell : verified(1).cells) {
    if (cell.stored) continue;
    const auto bytes = cell.request.at("bytes").get<std::int64_t>();
    INFO(bytes);
    CHECK((bytes & (bytes - 1)) != 0);  // the grid has powers of two
    CHECK(bytes % 4096 == 0);
  }
}

TEST_CASE("a link that lost a third of its rate does not hold", "[scenarios][profile]") {
  const VerifyResult result = verified(1.5);
  CHECK_FALSE(result.holds);
  CHECK_FALSE(result.stored.holds);
  CHECK_FALSE(result.fresh.holds);
  CHECK(result.stored.median == Approx(50).margin(5));
  const json out = to_document(result);
  CHECK(out["holds"] == false);
  CHECK(out["cells"].size() == result.cells.size());
  CHECK(out["stored"]["p95_error"] == result.stored.p95);
}

TEST_CASE("seeds draw different cells, the same one the same", "[scenarios][profile]") {
  const auto requests = [](std::uint64_t seed) {
    VerifyOptions options;
    options.seed = seed;
    json out = json::array();
    for (const VerifiedCell& cell : verified(1, options).cells) out.push_back(cell.request);
    return out;
  };
  CHECK(requests(1) == requests(1));
  CHECK(requests(1) != requests(2));
}

TEST_CASE("a device that goes away is no profile that holds", "[scenarios][profile]") {
  const VerifyResult result = verified(1, {}, 12);
  CHECK_FALSE(result.holds);
  CHECK(result.cells.size() == 4);  // three repeats each
  CHECK_THAT(result.notes.back(), Contains("fake was lost: fell off the bus"));
}

TEST_CASE("nothing measured is not a pass", "[scenarios][profile]") {
  const VerifyResult result = verify_profile(SyntheticMachine().profile(), {}, {}, {});
  CHECK_FALSE(result.holds);
  CHECK(result.cells.empty());
}

}  // namespace
}  // namespace spillway::test

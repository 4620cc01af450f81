// A run says how much of its step time lies beyond the steps that its profile was fitted to.
#include "scenarios/run/fit_reach.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

class TenMs final : public StepCost {
 public:
  Duration step_time(const StepShape&) override { return Duration(10'000'000); }
};

StepShape decodes(std::uint32_t count, std::uint64_t context) {
  StepShape out;
  out.decodes = count;
  out.decode_context = context;
  return out;
}

TEST_CASE("step time counts as outside where batch, context or prompts do", "[scenarios]") {
  FittedRange range;
  range.add(decodes(2, 200));
  range.add(decodes(8, 8000));
  const PrefillChunk prompt{512, 0};
  StepShape mixed = decodes(4, 2000);
  mixed.prefills = std::span(&prompt, 1);
  range.add(mixed);
  CHECK(range.decodes.least == 2);
  CHECK(range.decodes.most == 8);
  CHECK(range.context.least == 100);
  CHECK(range.context.most == 1000);
  CHECK(range.prefill_tokens.least == 512);

  FitReach reach;
  const auto cost = counting_reach(std::make_unique<TenMs>(), range, reach);
  cost->step_time(decodes(8, 800));
  CHECK(reach.outside_share() == 0);
  cost->step_time(decodes(9, 900));  // one more decode than any
  CHECK(reach.outside_share() == 0.5);
  cost->step_time(decodes(2, 4000));  // longer contexts
  const PrefillChunk longer{600, 0};
  StepShape prompts;
  prompts.prefills = std::span(&longer, 1);
  cost->step_time(prompts);
  CHECK(reach.outside_share() == 0.75);
  CHECK(reach.seen.decodes.most == 9);
  CHECK(reach.seen.prefill_tokens.most == 600);
}

TEST_CASE("of a profile that fitted no step nothing is outside", "[scenarios]") {
  CHECK_FALSE(FittedRange{}.known());
  CHECK(FitReach{}.outside_share() == 0);
}

}  // namespace
}  // namespace spillway::test

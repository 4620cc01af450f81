// Each write admission policy by its own rule, on offers written by hand.
#include "policies/write_admission_policy.hpp"

#include "policies/catalogue.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using std::chrono::seconds;
using Verdicts = std::vector<WriteVerdict>;

constexpr WriteVerdict kYes = WriteVerdict::kWrite;
constexpr WriteVerdict kFirst = WriteVerdict::kFirstSighting;
constexpr WriteVerdict kRare = WriteVerdict::kInfrequent;

/// A policy among 100 blocks of 16 tokens, and what it says to one offer after another.
struct Rig {
  std::unique_ptr<WriteAdmissionPolicy> policy;
  WriteOffer offer;

  explicit Rig(std::string_view text)
      : policy(parse_write_admission(text, {}).make(WriteAdmissionContext{100, 16})) {}

  /// `repeated`: see WriteOffer.
  Verdicts of(std::initializer_list<std::uint32_t> ids, std::size_t repeated = 0) {
    std::vector<BlockId> blocks;
    std::vector<std::uint32_t> positions;
    for (const std::uint32_t id : ids) {
      positions.push_back(static_cast<std::uint32_t>(blocks.size()));
      blocks.push_back(BlockId{id});
    }
    offer.blocks = blocks;
    offer.positions = positions;
    offer.repeated = repeated;
    Verdicts out(blocks.size(), kYes);
    policy->decide(offer, out);
    return out;
  }
  Verdicts at_s(std::int64_t now_s, std::initializer_list<std::uint32_t> ids) {
    offer.now = Time(seconds(now_s));
    return of(ids);
  }
};

TEST_CASE("second-hit writes a block at its second offer", "[policies]") {
  Rig rig("second-hit");
  CHECK(rig.of({1, 2}) == Verdicts{kFirst, kFirst});
  CHECK(rig.of({1, 3}) == Verdicts{kYes, kFirst});
  CHECK(rig.of({3, 2}) == Verdicts{kYes, kYes});
  CHECK_FALSE(rig.policy->wants_lookups());
}

TEST_CASE("second-hit counts a batch that found no room once", "[policies]") {
  // Blocks 1 and 2 were offered before by the same request; 3 is new in the larger batch.
  Rig rig("second-hit");
  CHECK(rig.of({1, 2}) == Verdicts{kFirst, kFirst});
  CHECK(rig.of({1, 2, 3}, 2) == Verdicts{kFirst, kFirst, kFirst});
  CHECK(rig.of({1, 2, 3}) == Verdicts{kYes, kYes, kYes});
}

TEST_CASE("second-hit's tracker forgets the block seen longest ago", "[policies]") {
  Rig rig("second-hit:tracker=2");
  CHECK(rig.of({1, 2}) == Verdicts{kFirst, kFirst});
  CHECK(rig.of({1}) == Verdicts{kYes});    // now 2 is the oldest
  CHECK(rig.of({3}) == Verdicts{kFirst});  // takes its place
  CHECK(rig.of({1}) == Verdicts{kYes});
  CHECK(rig.of({2}) == Verdicts{kFirst});
}

TEST_CASE("second-hit's threshold may be higher", "[policies]") {
  Rig rig("second-hit:threshold=3");
  CHECK(rig.of({1}) == Verdicts{kFirst});
  CHECK(rig.of({1}) == Verdicts{kFirst});
  CHECK(rig.of({1}) == Verdicts{kYes});
}

TEST_CASE("second-hit by look-ups lets a cold chain in block by block", "[policies]") {
  // A look-up ends at the first miss, so a chain of three needs two look-ups for each block.
  Rig rig("second-hit:count=lookups");
  REQUIRE(rig.policy->wants_lookups());
  const std::vector<BlockId> chain = {BlockId{1}, BlockId{2}, BlockId{3}};
  std::size_t stored = 0;
  int lookups = 0;
  while (stored < chain.size()) {
    rig.policy->on_lookup(BlockSpan(chain).first(stored + 1));
    ++lookups;
    const Verdicts said = rig.of({1, 2, 3});
    while (stored < chain.size() && said[stored] == kYes) ++stored;
  }
  CHECK(lookups == 6);
}

TEST_CASE("frequency doubles a count per offer and takes one off per interval", "[policies]") {
  Rig rig("frequency:threshold=4:decay_s=10");
  CHECK(rig.at_s(0, {1}) == Verdicts{kRare});  // 1
  CHECK(rig.at_s(1, {1}) == Verdicts{kRare});  // 2
  CHECK(rig.at_s(2, {1}) == Verdicts{kYes});   // 4
  // At 10 s 3, at 20 s 2; doubled 4.
  CHECK(rig.at_s(25, {1}) == Verdicts{kYes});
  // At 30, 40, 50, 60 s nothing is left: it starts again.
  CHECK(rig.at_s(60, {1}) == Verdicts{kRare});
  CHECK(rig.at_s(61, {1}) == Verdicts{kRare});
  CHECK(rig.at_s(62, {1}) == Verdicts{kYes});
}

TEST_CASE("frequency's defaults write what is offered twice within ten minutes", "[policies]") {
  Rig rig("frequency");
  CHECK(rig.at_s(0, {1, 2}) == Verdicts{kRare, kRare});
  CHECK(rig.at_s(599, {1}) == Verdicts{kYes});
  CHECK(rig.at_s(600, {2}) == Verdicts{kRare});  // forgotten
}

TEST_CASE("frequency counts a batch that found no room once", "[policies]") {
  Rig rig("frequency");
  CHECK(rig.of({1}) == Verdicts{kRare});
  CHECK(rig.of({1, 2}, 1) == Verdicts{kRare, kRare});
  CHECK(rig.of({1, 2}) == Verdicts{kYes, kYes});
}

TEST_CASE("frequency lowers all counts when there are too many", "[policies]") {
  // Two may have a count. With three, all lose 1: block 1 keeps 2 - 1, the others are forgotten.
  Rig rig("frequency:entries=2");
  CHECK(rig.of({1}) == Verdicts{kRare});
  CHECK(rig.of({1, 2}) == Verdicts{kYes, kRare});
  CHECK(rig.of({3}) == Verdicts{kRare});
  CHECK(rig.of({3}) == Verdicts{kRare});
  CHECK(rig.of({1}) == Verdicts{kYes});  // 1, doubled
}

TEST_CASE("frequency's counts have a ceiling", "[policies]") {
  Rig rig("frequency");
  for (int i = 0; i < 100; ++i) rig.of({1});
  CHECK(rig.of({1}) == Verdicts{kYes});
}

TEST_CASE("min-depth writes the blocks that begin deep enough", "[policies]") {
  // Blocks of 16 tokens begin at 0, 16, 32 and 48.
  const WriteVerdict no = WriteVerdict::kTooShallow;
  CHECK(Rig("min-depth:tokens=32").of({1, 2, 3, 4}) == Verdicts{no, no, kYes, kYes});
  CHECK(Rig("min-depth:tokens=33").of({1, 2, 3, 4}) == Verdicts{no, no, no, kYes});
  Rig chain("min-depth:tokens=100:of=chain");
  chain.offer.prompt_tokens = 99;
  CHECK(chain.of({1, 2}) == Verdicts{no, no});
  chain.offer.prompt_tokens = 100;
  CHECK(chain.of({1, 2}) == Verdicts{kYes, kYes});
}

TEST_CASE("back-pressure writes while few stores, and few bytes, are in flight", "[policies]") {
  const WriteVerdict no = WriteVerdict::kBackPressure;
  Rig rig("back-pressure:max_jobs=2:max_gib=0.5");
  rig.offer.jobs_in_flight = 1;
  rig.offer.bytes_in_flight = 512_MiB - Bytes(1);
  CHECK(rig.of({1, 2}) == Verdicts{kYes, kYes});
  rig.offer.bytes_in_flight = 512_MiB;
  CHECK(rig.of({1, 2}) == Verdicts{no, no});
  rig.offer.bytes_in_flight = Bytes(0);
  rig.offer.jobs_in_flight = 2;
  CHECK(rig.of({1}) == Verdicts{no});
  Rig jobs_only("back-pressure:max_jobs=1");
  jobs_only.offer.bytes_in_flight = 4096_GiB;
  CHECK(jobs_only.of({1}) == Verdicts{kYes});
}

TEST_CASE("write admission policies' parameters are checked", "[policies]") {
  const auto says = [](std::string_view text, std::string_view message) {
    const InputError error = test::error_of([&] {
      parse_write_admission(text, {"s.json", 7, "k"});
    });
    CHECK(error.fault() == Fault::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("s.json:7: k: " + std::string(message)));
  };
  says("second-hti", "unknown write admission policy \"second-hti\"; did you mean \"second-hit\"?");
  says("second-hit:count=hits", "count: expected offers|lookups, found \"hits\"");
  says("second-hit:threshold=1.5", "threshold: expected a whole number from 1 to 1000000");
  says("frequency:decay_s=0", "decay_s: expected a number from 0.001 to 1000000, found \"0\"");
  says("min-depth", "min-depth: tokens is missing; expected min-depth:tokens=..., a whole number");
  says("back-pressure:max_gib=1", "back-pressure: max_jobs is missing; expected");
}

TEST_CASE("every reason for keeping a block out has its own name", "[policies]") {
  for (std::size_t i = 0; i < kWriteVerdicts; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      CHECK(name_of(static_cast<WriteVerdict>(i)) != name_of(static_cast<WriteVerdict>(k)));
    }
  }
}

}  // namespace
}  // namespace spillway

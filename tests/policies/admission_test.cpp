// Each admission policy by its own rule, on views written by hand.
#include "policies/admission_policy.hpp"

#include "policies/catalogue.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AdmissionContext kSizes{100, 300};

std::unique_ptr<AdmissionPolicy> made(std::string_view text,
                                      const AdmissionContext& context = kSizes) {
  return parse_admission(text, {}).make(context);
}

AdmissionView of_blocks(std::uint64_t blocks, std::uint64_t committed) {
  AdmissionView view;
  view.blocks = blocks;
  view.committed_blocks = committed;
  return view;
}

AdmissionView at(Duration since_start, std::uint32_t prompt, std::uint32_t output = 0) {
  AdmissionView view;
  view.now = Time(since_start);
  view.prompt_tokens = prompt;
  view.output_tokens = output;
  return view;
}

TEST_CASE("the default asks nobody", "[policies]") {
  CHECK(AdmissionChoice().text() == "always");
  CHECK(AdmissionChoice().make(kSizes) == nullptr);
  CHECK(WriteAdmissionChoice().text() == "always");
  CHECK(WriteAdmissionChoice().make(WriteAdmissionContext{}) == nullptr);
}

TEST_CASE("gpu-only admits while all sequences fit HBM", "[policies]") {
  const auto policy = made("gpu-only");
  CHECK(policy->decide(of_blocks(40, 60)) == Reason::kNone);  // 40 + 60 = 100
  CHECK(policy->decide(of_blocks(41, 60)) == Reason::kGpuFull);
  CHECK(policy->decide(of_blocks(101, 0)) == Reason::kGpuFull);
  const auto half = made("gpu-only:share=0.5");
  CHECK(half->decide(of_blocks(50, 0)) == Reason::kNone);
  CHECK(half->decide(of_blocks(51, 0)) == Reason::kGpuFull);
}

TEST_CASE("all-tiers admits against the sum of both tiers, a share of it, or a cap", "[policies]") {
  const auto limit = [](std::string_view text, std::uint64_t blocks) {
    const auto policy = made(text);
    CHECK(policy->decide(of_blocks(1, blocks - 1)) == Reason::kNone);
    CHECK(policy->decide(of_blocks(1, blocks)) == Reason::kTiersFull);
  };
  limit("all-tiers", 400);  // 100 + 300
  limit("all-tiers:share=0.9", 360);
  limit("all-tiers:share=0.999", 399);  // 399.6, rounded down
  limit("all-tiers:share=0.9:cap_blocks=123", 123);
}

TEST_CASE("a tier without a bound bounds nothing, unless a cap does", "[policies]") {
  const AdmissionContext unbounded{100, AdmissionContext::kUnbounded};
  CHECK(made("all-tiers", unbounded)->decide(of_blocks(1U << 30, 1U << 30)) == Reason::kNone);
  CHECK(made("all-tiers:share=0.5", unbounded)->decide(of_blocks(1U << 30, 0)) == Reason::kNone);
  CHECK(made("all-tiers:cap_blocks=9", unbounded)->decide(of_blocks(10, 0)) == Reason::kTiersFull);
  CHECK(made("gpu-only", unbounded)->decide(of_blocks(101, 0)) == Reason::kGpuFull);
}

TEST_CASE("queue-limit counts those who wait", "[policies]") {
  const auto policy = made("queue-limit:max_queue=2");
  AdmissionView view;
  view.running = 50;
  for (const std::uint32_t waiting : {0U, 1U}) {
    view.waiting = waiting;
    CHECK(policy->decide(view) == Reason::kNone);
  }
  view.waiting = 2;
  CHECK(policy->decide(view) == Reason::kQueueFull);
  CHECK(policy->longest_wait() == Duration::max());
}

TEST_CASE("queue-limit's time-out is exact to the nanosecond", "[policies]") {
  const auto wait = [](std::string_view timeout) {
    return made("queue-limit:max_queue=1:timeout_s=" + std::string(timeout))->longest_wait();
  };
  CHECK(wait("2") == seconds(2));
  CHECK(wait("1.1") == milliseconds(1100));
  CHECK(wait("0.000000003") == Duration(3));
  CHECK(wait("0") == Duration::max());  // none
}

TEST_CASE("token-bucket spends what has come in", "[policies]") {
  // 1,000 tokens a second, at most 500 of them saved up.
  const auto policy = made("token-bucket:tokens_per_s=1000:burst=500");
  CHECK(policy->decide(at(seconds(0), 300)) == Reason::kNone);                // 500 - 300 = 200
  CHECK(policy->decide(at(seconds(0), 201)) == Reason::kRateLimited);         // takes nothing
  CHECK(policy->decide(at(milliseconds(1), 201)) == Reason::kNone);           // 200 + 1 - 201 = 0
  CHECK(policy->decide(at(milliseconds(100), 100)) == Reason::kRateLimited);  // 99 since
  CHECK(policy->decide(at(milliseconds(100), 99)) == Reason::kNone);
  CHECK(policy->decide(at(seconds(60), 501)) == Reason::kRateLimited);  // full is 500
  CHECK(policy->decide(at(seconds(60), 500)) == Reason::kNone);
}

TEST_CASE("token-bucket keeps fractions of a token", "[policies]") {
  // 3 tokens a second: the third comes at 1 s sharp, in steps of 1 ns or at once.
  const auto policy = made("token-bucket:tokens_per_s=3:burst=3");
  CHECK(policy->decide(at(Duration(0), 3)) == Reason::kNone);
  CHECK(policy->decide(at(Duration(333'333'333), 1)) == Reason::kRateLimited);
  CHECK(policy->decide(at(Duration(333'333'334), 1)) == Reason::kNone);
  CHECK(policy->decide(at(Duration(666'666'666), 1)) == Reason::kRateLimited);
  CHECK(policy->decide(at(Duration(666'666'667), 1)) == Reason::kNone);
  CHECK(policy->decide(at(Duration(1'000'000'000), 1)) == Reason::kNone);
}

TEST_CASE("token-bucket's burst is a second's tokens, of prompts or of everything", "[policies]") {
  CHECK(made("token-bucket:tokens_per_s=100")->decide(at({}, 100, 50)) == Reason::kNone);
  CHECK(made("token-bucket:tokens_per_s=100")->decide(at({}, 101)) == Reason::kRateLimited);
  const char* all = "token-bucket:tokens_per_s=100:of=all";
  CHECK(made(all)->decide(at({}, 60, 40)) == Reason::kNone);
  CHECK(made(all)->decide(at({}, 60, 41)) == Reason::kRateLimited);
}

TEST_CASE("token-bucket survives the largest numbers", "[policies]") {
  const auto policy = made("token-bucket:tokens_per_s=1000000000:burst=1000000000:of=all");
  const std::uint32_t most = 500'000'000;
  const Duration year = std::chrono::hours(24 * 365);
  for (int i = 0; i < 100; ++i) {
    CHECK(policy->decide(at(i * year, most, most)) == Reason::kNone);
    CHECK(policy->decide(at(i * year, 1)) == Reason::kRateLimited);
  }
}

TEST_CASE("slo rejects what the queue ahead and its own prompt make late", "[policies]") {
  // 10,000 tokens in half a second: 20 tokens a millisecond.
  const auto policy = made("slo:ttft_ms=100");
  AdmissionView view = at({}, 500);
  CHECK(policy->decide(view) == Reason::kNone);  // nothing seen yet
  view.prefill = {10'000, milliseconds(500)};
  view.queued_prefill_tokens = 1500;  // (1,500 + 500) / 20 = 100 ms
  CHECK(policy->decide(view) == Reason::kNone);
  view.queued_prefill_tokens = 1501;
  CHECK(policy->decide(view) == Reason::kSloUnreachable);
  view.queued_prefill_tokens = 0;
  view.prompt_tokens = 2001;  // too long on its own
  CHECK(policy->decide(view) == Reason::kSloUnreachable);
}

TEST_CASE("admission policies' parameters are checked", "[policies]") {
  const auto says = [](std::string_view text, std::string_view message) {
    const InputError error = test::error_of([&] { parse_admission(text, {"s.json", 7, "k"}); });
    CHECK(error.fault() == Fault::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("s.json:7: k: " + std::string(message)));
  };
  says("allways",
       "unknown admission policy \"allways\"; did you mean \"always\"? known: all-tiers");
  says("always:share=1", "always takes no parameters, found \"share\"");
  says("queue-limit",
       "queue-limit: max_queue is missing; expected queue-limit:max_queue=..., a "
       "whole number from 1 to 1000000000");
  says("queue-limit:max_queue=0", "max_queue: expected a whole number from 1 to");
  says("queue-limit:max_queue=1:timeout_s=-1", "timeout_s: expected a number from 0 to 1000000");
  says("all-tiers:share=0", "share: expected a number from 1e-06 to 1000, found \"0\"");
  says("all-tiers:cap=5", "unknown parameter of all-tiers \"cap\"; did you mean");
  says("token-bucket:tokens_per_s=5:of=output", "of: expected prompt|all, found \"output\"");
  says("token-bucket:burst=5", "token-bucket: tokens_per_s is missing; expected");
  says("slo", "slo: ttft_ms is missing; expected slo:ttft_ms=..., a number from 0.001 to");
}

TEST_CASE("an admission policy is written as it was given", "[policies]") {
  CHECK(parse_admission("queue-limit:timeout_s=5:max_queue=9", {}).text() ==
        "queue-limit:max_queue=9:timeout_s=5");
  CHECK(parse_write_admission("second-hit", {}).text() == "second-hit");
}

}  // namespace
}  // namespace spillway

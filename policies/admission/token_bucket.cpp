// A token bucket (J. S. Turner, "New directions in communications (or which way to the information
// age?)", IEEE Communications Magazine 24(10), 1986, calls it leaky): the bucket fills at a steady
// rate, holds `burst` at most, and a request takes as many tokens as it has. One that asks for more
// than is there is rejected and takes nothing; one larger than the bucket never enters.
//
// Levels are whole tokens x nanoseconds, so that nothing is lost to rounding.
#include <algorithm>
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class TokenBucket final : public AdmissionPolicy {
 public:
  TokenBucket(std::int64_t tokens_per_s, std::int64_t burst, bool all_tokens)
      : rate_(tokens_per_s), full_(burst * kPerToken), level_(full_), all_tokens_(all_tokens) {}

  Reason decide(const AdmissionView& view) override {
    fill(view.now);
    const std::uint64_t tokens =
        std::uint64_t{view.prompt_tokens} + (all_tokens_ ? view.output_tokens : 0);
    if (tokens > static_cast<std::uint64_t>(level_ / kPerToken)) return Reason::kRateLimited;
    level_ -= static_cast<std::int64_t>(tokens) * kPerToken;
    return Reason::kNone;
  }

 private:
  static constexpr std::int64_t kPerToken = 1'000'000'000;

  void fill(Time now) {
    const std::int64_t elapsed = (now - filled_).count();
    filled_ = now;
    const bool full = elapsed >= ceil_div(full_ - level_, rate_);
    level_ = full ? full_ : level_ + elapsed * rate_;
  }

  std::int64_t rate_;
  std::int64_t full_;
  std::int64_t level_;
  bool all_tokens_;
  Time filled_{};
};

}  // namespace

std::unique_ptr<AdmissionPolicy> make_token_bucket(const AdmissionContext&, const Params& params,
                                                   const SourceRef&) {
  const auto rate = static_cast<std::int64_t>(params.whole("tokens_per_s"));
  const auto burst = static_cast<std::int64_t>(params.whole("burst"));
  return std::make_unique<TokenBucket>(rate, burst > 0 ? burst : rate, params.text("of") == "all");
}

}  // namespace spillway

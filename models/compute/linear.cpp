// The reference scenario's step time: a constant, plus so much per token, plus so much per token of
// context. Exact in integers, rounded up to a nanosecond once.
#include <stdexcept>

#include "models/compute/step_cost.hpp"
#include "sim/units.hpp"

namespace spillway {

namespace {

constexpr int kScalePower = 9;
constexpr WideInt kScale = 1'000'000'000;

/// Exactly value * 10^(9 + power), which the caller's unit turns into 10^-9 ns.
WideInt scaled(const Decimal& value, int power) {
  const std::int64_t result = floor_scaled(value, kScalePower + power);
  const bool exact = value.digits == 0 || value.exponent + kScalePower + power >= 0;
  if (!exact || value.digits < 0) throw std::out_of_range("finer than 1e-9 ns, or negative");
  return result;
}

class Linear final : public StepCost {
 public:
  explicit Linear(const LinearCost& p)
      : step_(scaled(p.step_us, 3)), token_(scaled(p.token_ns, 0)), kv_(scaled(p.kv_token_ns, 0)) {}

  Duration step_time(const StepShape& shape) override {
    WideInt tokens = shape.decodes;
    WideInt context = static_cast<WideInt>(shape.decode_context);
    for (const PrefillChunk& chunk : shape.prefills) {
      tokens += chunk.tokens;
      context += static_cast<WideInt>(chunk.cached) + chunk.tokens;
    }
    const WideInt total = step_ + token_ * tokens + kv_ * context;
    return Duration(static_cast<std::int64_t>((total + kScale - 1) / kScale));
  }

 private:
  WideInt step_;
  WideInt token_;
  WideInt kv_;
};

}  // namespace

std::unique_ptr<StepCost> make_linear_cost(const LinearCost& parameters) {
  return std::make_unique<Linear>(parameters);
}

}  // namespace spillway

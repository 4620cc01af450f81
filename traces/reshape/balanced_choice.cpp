#include "traces/reshape/balanced_choice.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// Enough for the sums to settle; of millions of units a plain draw is even already.
constexpr std::uint64_t kMovesPerUnit = 20;
constexpr std::uint64_t kMostMoves = 1'000'000;

/// Units in an order whose first `chosen_` are the choice, and how far its sums are off.
class Choice {
 public:
  Choice(const UnitFeatures& features, double share, Stream& random)
      : features_(features), random_(random), order_(features.units), off_(features.width, 0) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    for (std::uint32_t i = features.units; i > 1; --i) {
      std::swap(order_[i - 1], order_[random.below(i)]);
    }
    for (std::uint32_t unit = 0; unit < features.units; ++unit) {
      for (std::uint32_t k = 0; k < features.width; ++k) off_[k] -= share * features.of(unit)[k];
    }
    const double wanted = share * features.units;
    while (chosen_ < features.units && (chosen_ == 0 || chosen_ + 0.5 < wanted)) take(chosen_);
    cost_ = cost_of(nullptr, nullptr);
  }

  /// Takes a unit in, leaves one out or exchanges two, where that brings the sums nearer.
  void try_move() {
    const std::uint64_t kind = random_.below(4);
    const auto out = static_cast<std::uint32_t>(random_.below(chosen_));
    const bool may_take = chosen_ < order_.size() && kind != 0;
    const bool may_leave = kind != 1 && (may_take || chosen_ > 1);
    const auto in = static_cast<std::uint32_t>(
        may_take ? chosen_ + random_.below(order_.size() - chosen_) : chosen_);
    if (!may_take && !may_leave) return;
    const double cost = cost_of(may_take ? features_.of(order_[in]) : nullptr,
                                may_leave ? features_.of(order_[out]) : nullptr);
    if (cost >= cost_) return;
    cost_ = cost;
    if (may_take) take(in);
    if (may_leave) leave(out);
  }

  std::vector<bool> chosen() const {
    std::vector<bool> out(order_.size(), false);
    for (std::uint32_t i = 0; i < chosen_; ++i) out[order_[i]] = true;
    return out;
  }

 private:
  void take(std::uint32_t place) {
    add(order_[place], 1);
    std::swap(order_[place], order_[chosen_++]);
  }
  void leave(std::uint32_t place) {
    add(order_[place], -1);
    std::swap(order_[place], order_[--chosen_]);
  }
  void add(std::uint32_t unit, double sign) {
    for (std::uint32_t k = 0; k < features_.width; ++k) off_[k] += sign * features_.of(unit)[k];
  }
  double cost_of(const double* in, const double* out) const {
    double sum = 0;
    for (std::uint32_t k = 0; k < features_.width; ++k) {
      const double off = off_[k] + (in == nullptr ? 0 : in[k]) - (out == nullptr ? 0 : out[k]);
      sum += off * off;
    }
    return sum;
  }

  const UnitFeatures& features_;
  Stream& random_;
  std::vector<std::uint32_t> order_;
  std::vector<double> off_;  ///< chosen sums less the share of the totals
  std::uint32_t chosen_ = 0;
  double cost_ = 0;
};

}  // namespace

std::vector<bool> balanced_choice(const UnitFeatures& features, double share, Stream& random) {
  KV_ASSERT(features.units > 0, "nothing to choose from");
  Choice choice(features, share, random);
  const std::uint64_t moves = std::min(kMostMoves, kMovesPerUnit * features.units);
  for (std::uint64_t i = 0; i < moves; ++i) choice.try_move();
  return choice.chosen();
}

}  // namespace spillway

#include "traces/generate/benchmarks/mersenne.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr std::size_t kMiddle = 397;

std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

/// What a word of the state contributes to the one after it.
std::uint64_t folded(std::uint32_t word) {
  return word ^ (word >> 30);
}

}  // namespace

Mersenne::Mersenne(std::uint32_t seed) {
  state_[0] = seed;
  for (std::size_t i = 1; i < kWords; ++i) {
    state_[i] = low_word(1812433253U * folded(state_[i - 1]) + i);
  }
}

Mersenne Mersenne::of_word(std::uint32_t seed) {
  return Mersenne(seed);
}

Mersenne Mersenne::of_key(std::uint64_t seed) {
  Mersenne out(19650218U);
  const std::array<std::uint32_t, 2> key = {low_word(seed), low_word(seed >> 32)};
  const std::size_t length = key[1] == 0 ? 1 : 2;
  auto& state = out.state_;
  std::size_t i = 1;
  const auto step = [&] {
    if (++i < kWords) return;
    state[0] = state[kWords - 1];
    i = 1;
  };
  for (std::size_t k = 0; k < kWords; ++k) {
    const std::size_t j = k % length;
    state[i] = low_word((state[i] ^ (folded(state[i - 1]) * 1664525U)) + key[j] + j);
    step();
  }
  for (std::size_t k = 1; k < kWords; ++k) {
    state[i] = low_word((state[i] ^ (folded(state[i - 1]) * 1566083941U)) - i);
    step();
  }
  state[0] = 0x80000000U;
  return out;
}

void Mersenne::refill() {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t joined =
        (state_[i] & 0x80000000U) | (state_[(i + 1) % kWords] & 0x7fffffffU);
    const std::uint32_t twist = (joined & 1U) != 0 ? 0x9908b0dfU : 0U;
    state_[i] = state_[(i + kMiddle) % kWords] ^ (joined >> 1) ^ twist;
  }
  next_ = 0;
}

std::uint32_t Mersenne::word() {
  if (next_ == kWords) refill();
  std::uint32_t out = state_[next_++];
  out ^= out >> 11;
  out ^= (out << 7) & 0x9d2c5680U;
  out ^= (out << 15) & 0xefc60000U;
  return out ^ (out >> 18);
}

double Mersenne::uniform() {
  const double high = word() >> 5;
  const double low = word() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

}  // namespace spillway

#include "sim/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

std::uint64_t hash_text(std::string_view text) {  // FNV-1a: stable, and only keys a stream
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

/// Of a point in the unit disc without its centre: a coordinate, and its distance squared.
std::pair<double, double> in_disc(Stream& stream) {
  for (;;) {
    const double u = 2 * stream.uniform() - 1;
    const double v = 2 * stream.uniform() - 1;
    const double q = u * u + v * v;
    if (q > 0 && q < 1) return {u, q};
  }
}

__extension__ using Wide = unsigned __int128;
}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view purpose, std::uint64_t id) {
  std::uint64_t x = mix64(seed + kGolden) ^ hash_text(purpose);
  x = mix64(x + kGolden) ^ id;
  for (auto& word : state_) word = mix64(x += kGolden);
}

std::uint64_t Stream::bits() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

double Stream::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

std::uint64_t Stream::below(std::uint64_t n) {
  KV_ASSERT(n > 0, "below(0)");
  Wide product = static_cast<Wide>(bits()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) {
      product = static_cast<Wide>(bits()) * n;
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Stream::exponential(double mean) {
  return -mean * det::ln(1 - uniform());
}

double Stream::normal() {
  const auto [u, q] = in_disc(*this);
  return u * std::sqrt(-2 * det::ln(q) / q);
}

double Stream::lognormal(double median, double sigma) {
  if (sigma == 0) {
    in_disc(*this);  // drawn in any case, so that later draws stay put
    return median;
  }
  return median * det::exp(sigma * normal());
}

std::uint64_t Stream::geometric(double success_probability) {
  KV_ASSERT(success_probability > 0 && success_probability <= 1, "geometric({})",
            success_probability);
  const double u = 1 - uniform();  // (0, 1]; drawn in any case, so that later draws stay put
  if (success_probability == 1) return 1;
  return 1 + static_cast<std::uint64_t>(det::ln(u) / det::ln(1 - success_probability));
}

Zipf::Zipf(std::uint32_t n, double exponent) {
  KV_ASSERT(n > 0, "a Zipf distribution over nothing");
  cumulative_.reserve(n);
  double sum = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    sum += det::pow(rank + 1.0, -exponent);
    cumulative_.push_back(sum);
  }
}

std::uint32_t Zipf::draw(Stream& stream) const {
  const double target = stream.uniform() * cumulative_.back();
  const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), target);
  const auto rank = static_cast<std::size_t>(it - cumulative_.begin());
  return static_cast<std::uint32_t>(std::min(rank, cumulative_.size() - 1));
}

}  // namespace spillway

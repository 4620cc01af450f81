// Where the copies of one batch start and end: the patterns of KV layouts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/harness/request.hpp"

namespace spillway_harness {

/// Offsets of `n` copies in each of two arenas.
struct Offsets {
  std::vector<std::int64_t> host;
  std::vector<std::int64_t> device;
};

/// xorshift64*: the same on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed * 2 + 0x9e3779b97f4a7c15ULL) {
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }
  /// In [0, n); the bias of the remainder does not matter for where copies lie.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

/// The layers that the layer-first and page-first patterns assume, fewer where `n` is smaller.
inline std::int64_t layers_of(std::int64_t n) {
  constexpr std::int64_t kLayers = 32;
  for (std::int64_t layers = std::min(kLayers, n);; --layers) {
    if (n % layers == 0) return layers;
  }
}

/// Arena that `n` copies of `bytes` take in `pattern`; strided leaves a gap as long as a copy.
inline std::int64_t span_of(const std::string& pattern, std::int64_t bytes, std::int64_t n) {
  return bytes * n * (pattern == "strided" ? 2 : 1);
}

/// contiguous: both sides in order. strided: every other place on both sides. random: a permutation
/// of the places on each side. layer_first: on the device, page p of layer l lies at l * pages + p,
/// as in a KV cache of one tensor per layer, and the host keeps pages together (p * layers + l).
/// page_first: the device keeps pages together too, in random order.
/// Throws BadRequest for another pattern.
inline Offsets offsets_of(const std::string& pattern, std::int64_t bytes, std::int64_t n,
                          std::uint64_t seed) {
  Offsets out;
  out.host.resize(static_cast<std::size_t>(n));
  out.device.resize(static_cast<std::size_t>(n));
  const std::int64_t layers = layers_of(n);
  const std::int64_t pages = n / layers;
  const std::int64_t stride = pattern == "strided" ? 2 : 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.host[at] = out.device[at] = i * stride;
  }
  const auto shuffle = [](std::vector<std::int64_t>& values, std::uint64_t from) {
    Draws draws(from);
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1],
                values[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(i)))]);
    }
  };
  if (pattern == "random") {
    shuffle(out.host, seed);
    shuffle(out.device, seed + 1);
  } else if (pattern == "layer_first" || pattern == "page_first") {
    std::vector<std::int64_t> order(static_cast<std::size_t>(pages));
    for (std::size_t p = 0; p < order.size(); ++p) order[p] = static_cast<std::int64_t>(p);
    shuffle(order, seed);  // pages of a request lie anywhere in the pool
    std::size_t at = 0;
    for (std::int64_t p = 0; p < pages; ++p) {
      const std::int64_t page = order[static_cast<std::size_t>(p)];
      for (std::int64_t l = 0; l < layers; ++l, ++at) {
        out.host[at] = p * layers + l;
        out.device[at] = pattern == "layer_first" ? l * pages + page : page * layers + l;
      }
    }
  } else if (pattern != "contiguous" && pattern != "strided") {
    throw BadRequest(
        "pattern: expected contiguous, strided, random, layer_first or page_first, "
        "found \"" +
        pattern + "\"");
  }
  for (std::int64_t& offset : out.host) offset *= bytes;
  for (std::int64_t& offset : out.device) offset *= bytes;
  return out;
}

}  // namespace spillway_harness

// Closed forms of layers that wait for KV, each with its arithmetic.
#include "models/compute/step_overlap.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using Layers = std::vector<Duration>;

Layers equal(std::size_t layers, std::int64_t ns) {
  return Layers(layers, Duration(ns));
}

Layers of(std::initializer_list<std::int64_t> values) {
  Layers out;
  for (const std::int64_t ns : values) out.push_back(Duration(ns));
  return out;
}

TEST_CASE("parts of a step differ by at most one and add up", "[models]") {
  // 10 over 4 layers: floor(10 (l + 1) / 4) - floor(10 l / 4) = 2, 3, 2, 3.
  CHECK(layer_part(10, 0, 4) == 2);
  CHECK(layer_part(10, 1, 4) == 3);
  CHECK(layer_part(10, 2, 4) == 2);
  CHECK(layer_part(10, 3, 4) == 3);
  // The product exceeds 64 bits; the parts do not.
  const std::int64_t whole = std::int64_t{1} << 62;
  CHECK(layer_part(whole, 79, 80) == whole / 80 + 1);
}

TEST_CASE("a layer-wise load hides behind compute but for its first piece", "[models]") {
  // x = 3 <= c = 5, 4 layers: pieces arrive at 3, 6, 9, 12; layers end at 8, 13, 18, 23 = 3 + 4
  // x 5.
  CHECK(layerwise_load(equal(4, 3), equal(4, 5)).count() == 23);
  CHECK(layerwise_load(Duration(3), Duration(5), 4).count() == 23);
}

TEST_CASE("a slow layer-wise load hides compute but for the last layer", "[models]") {
  // x = 5 > c = 3: pieces at 5, 10, 15, 20; layers end at 8, 13, 18, 23 = 4 x 5 + 3.
  CHECK(layerwise_load(equal(4, 5), equal(4, 3)).count() == 23);
  CHECK(layerwise_load(Duration(5), Duration(3), 4).count() == 23);
}

TEST_CASE("the closed form of equal layers is the recurrence", "[models]") {
  for (std::uint32_t layers : {1u, 2u, 7u, 80u}) {
    for (std::int64_t load = 0; load < 6; ++load) {
      for (std::int64_t compute = 0; compute < 6; ++compute) {
        CHECK(layerwise_load(Duration(load), Duration(compute), layers) ==
              layerwise_load(equal(layers, load), equal(layers, compute)));
      }
    }
  }
}

TEST_CASE("unequal layers wait where the piece is late", "[models]") {
  // x = 2, 9, 1 arrive at 2, 11, 12; c = 4, 4, 4: ends 6, max(6, 11) + 4 = 15, 19.
  CHECK(layerwise_load(of({2, 9, 1}), of({4, 4, 4})).count() == 19);
}

TEST_CASE("a cold stream waits for a free buffer", "[models]") {
  // k = 2, x = 1, c = 10, 4 layers. d = 1, 2, then layer 3 needs layer 1's buffer (f_1 = 11):
  // d_3 = 12, d_4 = f_2 + 1 = 22. f = 11, 21, 31, 41: copies stay hidden.
  CHECK(cold_stream(equal(4, 1), equal(4, 10), 2).count() == 41);
  // x = 10, c = 1: d = 10, 20, 30, 40 (buffers free at 11, 21), f_4 = 41.
  CHECK(cold_stream(equal(4, 10), equal(4, 1), 2).count() == 41);
}

TEST_CASE("more buffers absorb an uneven stream", "[models]") {
  // x = 1, 1, 1, 20, c = 8 each. k = 2: d = 1, 2, then f_1 + 1 = 10, then max(10, f_2 = 17) + 20 =
  // 37; f = 9, 17, 25, max(25, 37) + 8 = 45.
  CHECK(cold_stream(of({1, 1, 1, 20}), equal(4, 8), 2).count() == 45);
  // k = 3: d = 1, 2, 3, then max(3, f_1 = 9) + 20 = 29; f_4 = 29 + 8 = 37.
  CHECK(cold_stream(of({1, 1, 1, 20}), equal(4, 8), 3).count() == 37);
  // k = 4: nothing waits for a buffer: d_4 = 23, f_3 = 25, f_4 = 33.
  CHECK(cold_stream(of({1, 1, 1, 20}), equal(4, 8), 4).count() == 33);
}

TEST_CASE("with a buffer a layer, a cold stream is a layer-wise load", "[models]") {
  const Layers load = of({3, 1, 4, 1, 5, 9, 2, 6});
  const Layers compute = of({2, 7, 1, 8, 2, 8, 1, 8});
  CHECK(cold_stream(load, compute, 8) == layerwise_load(load, compute));
}

TEST_CASE("a steady streamed step in its three forms", "[models]") {
  const StreamedStep step{Duration(6'200'000), Duration(25'300'000)};
  // Serial: 25.3 + 6.2 = 31.5 ms, as the fork measured.
  CHECK(streamed_step(step, StreamForm::kSerial).count() == 31'500'000);
  // Overlapped: 25.3 / 0.96 = 26.354166... ms, rounded up.
  CHECK(streamed_step(step, StreamForm::kOverlapped).count() == 26'354'167);
  CHECK(streamed_step(step, StreamForm::kOverlapped, kWholePpm).count() == 25'300'000);
  // An exact quotient stays exact: 96 / 0.96 = 100.
  CHECK(streamed_step({Duration(96), Duration(1)}, StreamForm::kOverlapped).count() == 100);
  // Calibrated: 25.3 + max(6.2, nothing else) and 25.3 + max(6.2, 8).
  CHECK(streamed_step(step, StreamForm::kCalibrated).count() == 31'500'000);
  CHECK(streamed_step({step.compute, step.load, Duration(8'000'000)}, StreamForm::kCalibrated)
            .count() == 33'300'000);
}

}  // namespace
}  // namespace spillway

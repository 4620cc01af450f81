// vLLM's own all-reduce of small tensors, and what a step of several ranks saves by it.
#include "models/compute/small_reduce.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("vLLM's own all-reduce takes small tensors only", "[models]") {
  const SmallReduce own(find_gpu("H100", {}), 4);
  CHECK(own.seconds(32 << 10) == Approx(9.2e-6));
  CHECK(own.seconds(256 << 10) == Approx(20.6e-6));
  CHECK(own.seconds(100) == Approx(8.5e-6));
  CHECK(own.covers(1 << 20));
  CHECK_FALSE(own.covers((1 << 20) + 1));
  double last = 0;
  for (double bytes = 256; bytes <= 1 << 20; bytes *= 1.25) {
    CHECK(own.seconds(bytes) >= last);
    last = own.seconds(bytes);
  }
  // Twice the links halve what exceeds the floor: 8.5 + (20.6 - 8.5) / 2 us.
  CHECK(SmallReduce(find_gpu("B200", {}), 4).seconds(256 << 10) == Approx(14.55e-6));
  // Without links between GPUs there is none.
  CHECK_FALSE(SmallReduce(find_gpu("L40S", {}), 2).covers(1024));
}

TEST_CASE("a step of several ranks saves what NCCL would have taken longer", "[models]") {
  const ModelSpec& model = find_model("Llama-3.1-70B", {});
  const GpuSpec& gpu = find_gpu("H100", {});
  ComponentsCost p;
  p.model = &model;
  p.gpu = &gpu;
  p.kernels = kernel_coefficients(gpu).kernels;
  p.shards = {4, 1};
  p.reduce = all_reduce_of(gpu, 4).reduce;
  const auto nccl = make_components_cost(p);
  const auto own = with_small_reduces(make_components_cost(p), p);
  StepShape shape;
  shape.decodes = shape.sampled = 16;
  shape.decode_context = 16 * 1000;
  // 16 tokens are 16 x 8192 x 2 bytes = 256 KiB: 20.6 us instead of NCCL's floor of 42 us, twice in
  // each of 80 layers: 160 x 21.4 us = 3.42 ms.
  CHECK(milliseconds_of(nccl->step_time(shape) - own->step_time(shape)) == Approx(3.424));
  CHECK(milliseconds_of(own->collective_time(16)) == Approx(160 * 0.0206));
  // 128 tokens are 2 MiB: NCCL's, as before.
  shape.decodes = shape.sampled = 128;
  CHECK(nccl->step_time(shape) == own->step_time(shape));
}

}  // namespace
}  // namespace spillway::test

// Admission by blocks: a request enters while the blocks that its whole sequence may need, summed
// over the requests that are in, stay within a cap. `gpu-only` counts HBM; `all-tiers` counts HBM
// and the tier below, for servers whose requests may be preempted into it.
//
// Shared prefixes are counted once per request, so the cap holds whatever is shared. A request that
// exceeds the cap alone never enters.
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class BlockCap final : public AdmissionPolicy {
 public:
  BlockCap(std::uint64_t cap, Reason refusal) : cap_(cap), refusal_(refusal) {}

  Reason decide(const AdmissionView& view) override {
    return view.committed_blocks + view.blocks <= cap_ ? Reason::kNone : refusal_;
  }

 private:
  std::uint64_t cap_;
  Reason refusal_;
};

/// share x blocks, rounded down. Beyond 2^62 blocks there is no cap.
std::uint64_t share_of(double share, double blocks) {
  constexpr double kMost = 4611686018427387904.0;
  const double cap = share * blocks;
  return cap < kMost ? static_cast<std::uint64_t>(cap) : AdmissionContext::kUnbounded;
}

}  // namespace

std::unique_ptr<AdmissionPolicy> make_gpu_only(const AdmissionContext& context,
                                               const Params& params, const SourceRef&) {
  const auto cap = share_of(params.real("share"), static_cast<double>(context.gpu_blocks));
  return std::make_unique<BlockCap>(cap, Reason::kGpuFull);
}

std::unique_ptr<AdmissionPolicy> make_all_tiers(const AdmissionContext& context,
                                                const Params& params, const SourceRef&) {
  std::uint64_t cap = params.whole("cap_blocks");
  if (cap == 0 && context.lower_blocks == AdmissionContext::kUnbounded) {
    cap = AdmissionContext::kUnbounded;
  } else if (cap == 0) {
    cap = share_of(params.real("share"), static_cast<double>(context.gpu_blocks) +
                                             static_cast<double>(context.lower_blocks));
  }
  return std::make_unique<BlockCap>(cap, Reason::kTiersFull);
}

}  // namespace spillway

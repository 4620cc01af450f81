// Nothing is written while `max_jobs` stores, or `max_gib`, are in flight already: a slow path then
// costs hits instead of blocks that wait to be copied and stall the steps that need their slots.
#include <algorithm>
#include <limits>
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class BackPressure final : public WriteAdmissionPolicy {
 public:
  BackPressure(std::uint64_t max_jobs, Bytes max_bytes)
      : max_jobs_(max_jobs), max_bytes_(max_bytes) {}

  void decide(const WriteOffer& offer, std::span<WriteVerdict> verdicts) override {
    const bool busy = offer.jobs_in_flight >= max_jobs_ || offer.bytes_in_flight >= max_bytes_;
    std::fill(verdicts.begin(), verdicts.end(),
              busy ? WriteVerdict::kBackPressure : WriteVerdict::kWrite);
  }

 private:
  std::uint64_t max_jobs_;
  Bytes max_bytes_;
};

}  // namespace

std::unique_ptr<WriteAdmissionPolicy> make_back_pressure(const WriteAdmissionContext&,
                                                         const Params& params, const SourceRef&) {
  const double gib = params.real("max_gib");
  const Bytes most(gib > 0 ? static_cast<std::int64_t>(gib * (1 << 30))
                           : std::numeric_limits<std::int64_t>::max());
  return std::make_unique<BackPressure>(params.whole("max_jobs"), most);
}

}  // namespace spillway

// A bounded queue: a request that finds `max_queue` others waiting is rejected, and so is one that
// the scheduler has not taken up `timeout_s` after its arrival. Those who wait include requests
// that were preempted or whose blocks are being loaded, as vLLM's own gauge of waiting requests
// counts them.
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class QueueLimit final : public AdmissionPolicy {
 public:
  QueueLimit(std::uint64_t most, Duration longest_wait)
      : most_(most), longest_wait_(longest_wait) {}

  Reason decide(const AdmissionView& view) override {
    return view.waiting < most_ ? Reason::kNone : Reason::kQueueFull;
  }
  Duration longest_wait() const override { return longest_wait_; }

 private:
  std::uint64_t most_;
  Duration longest_wait_;
};

}  // namespace

std::unique_ptr<AdmissionPolicy> make_queue_limit(const AdmissionContext&, const Params& params,
                                                  const SourceRef&) {
  const double timeout_ns = params.real("timeout_s") * 1e9;
  const auto rounded = static_cast<std::int64_t>(timeout_ns + 0.5);
  const Duration wait = rounded > 0 ? Duration(rounded) : Duration::max();
  return std::make_unique<QueueLimit>(params.whole("max_queue"), wait);
}

}  // namespace spillway

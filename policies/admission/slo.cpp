// Early rejection as in Mooncake (Qin et al., "Mooncake: A KVCache-centric Disaggregated
// Architecture for LLM Serving", arXiv 2407.00079, its scheduling algorithm and the section on
// overload): a request whose predicted time to first token exceeds the target is turned away before
// any work is spent on it.
//
// Model: the prediction is the work queued ahead and the request's own prompt at the rate at which
// prompts were worked off lately. That rate holds what hits, decodes and a full pool did to recent
// prompts; it does not know what this prompt will hit, and a change of the mix shows with delay.
// Before anything was seen, every request enters; so does the next one after a while without
// prompts, or a rate seen in bad times would keep the server shut for ever.
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class Slo final : public AdmissionPolicy {
 public:
  explicit Slo(double ttft_ms) : ttft_ns_(ttft_ms * 1e6) {}

  Reason decide(const AdmissionView& view) override {
    if (view.prefill.tokens == 0) return Reason::kNone;
    const double work = static_cast<double>(view.queued_prefill_tokens + view.prompt_tokens);
    const double ttft_ns = work * static_cast<double>(view.prefill.busy.count()) /
                           static_cast<double>(view.prefill.tokens);
    return ttft_ns <= ttft_ns_ ? Reason::kNone : Reason::kSloUnreachable;
  }

 private:
  double ttft_ns_;
};

}  // namespace

std::unique_ptr<AdmissionPolicy> make_slo(const AdmissionContext&, const Params& params,
                                          const SourceRef&) {
  return std::make_unique<Slo>(params.real("ttft_ms"));
}

}  // namespace spillway

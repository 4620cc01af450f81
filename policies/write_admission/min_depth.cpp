// Below a certain length recomputing a prefix is as cheap as loading it, so short ones need no
// place below. `of=block` writes the blocks that begin `tokens` or more into their chain: it suits
// an HBM that keeps the heads of chains, for a look-up goes on below only where HBM's hits end.
// `of=chain` writes all blocks of prompts of `tokens` or more, answers to them included.
#include <memory>

#include "policies/catalogue.hpp"

namespace spillway {

namespace {

class MinDepth final : public WriteAdmissionPolicy {
 public:
  MinDepth(std::uint64_t tokens, bool of_chain, std::uint32_t block_tokens)
      : tokens_(tokens), of_chain_(of_chain), block_tokens_(block_tokens) {}

  void decide(const WriteOffer& offer, std::span<WriteVerdict> verdicts) override {
    for (std::size_t i = 0; i < offer.blocks.size(); ++i) {
      const std::uint64_t depth =
          of_chain_ ? offer.prompt_tokens : std::uint64_t{offer.positions[i]} * block_tokens_;
      verdicts[i] = depth >= tokens_ ? WriteVerdict::kWrite : WriteVerdict::kTooShallow;
    }
  }

 private:
  std::uint64_t tokens_;
  bool of_chain_;
  std::uint32_t block_tokens_;
};

}  // namespace

std::unique_ptr<WriteAdmissionPolicy> make_min_depth(const WriteAdmissionContext& context,
                                                     const Params& params, const SourceRef&) {
  return std::make_unique<MinDepth>(params.whole("tokens"), params.text("of") == "chain",
                                    context.block_tokens);
}

}  // namespace spillway

// Loads of small pages, which vLLM's OffloadingConnector copies by a kernel of 12 SMs and not by
// DMA (pull request 42212; vllm/v1/kv_offload/cpu/{gpu_worker,swap_blocks_triton}.py): a page is
// what one layer, or one block over all layers, has in one piece, below 28 KiB and a multiple of 8
// bytes, in jobs of 16 pieces or more. Stores always go by DMA, and so does ROCm.
#include <fmt/format.h>

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/by_pieces.hpp"
#include "models/link/defaults.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kSmallPage = std::int64_t{28} << 10;
constexpr std::int64_t kWord = 8;
constexpr std::uint32_t kManyPieces = 16;
constexpr double kKernelSms = 12;

std::int64_t page_bytes(const EngineConfig& c) {
  return c.block_bytes.count() / c.copies_per_block;
}

bool applies(const Scenario& s) {
  const EngineConfig& c = s.engine;
  if (!c.small_page_kernel || s.gpu == nullptr || !s.tier || !s.up) return false;
  if (s.gpu->name.find("MI300X") != std::string_view::npos) return false;
  // The simple connector copies by DMA; what SMs lose to streamed or layer-wise loads is not
  // modelled.
  if (c.simple_offload() || c.residency == Residency::kStreaming ||
      c.load == LoadSemantics::kLayerwise) {
    return false;
  }
  if (s.tier->storage && s.tier->storage->direct) return false;
  if (!s.up->method.empty() && s.up->method != name_of(CopyMethod::kBatch)) return false;
  return page_bytes(c) < kSmallPage && page_bytes(c) % kWord == 0;
}

}  // namespace

std::unique_ptr<LinkModel> link_with_kernel(std::unique_ptr<LinkModel> link,
                                            const RateTable& kernel) {
  return make_link_by_pieces(std::move(link), make_table_link(kernel), kManyPieces);
}

/// Model: every load takes the SMs, also those of fewer pieces (of a model of less than 16 layers,
/// or of whole blocks in one piece).
void use_small_page_kernel(Scenario& s) {
  if (!applies(s)) return;
  LinkChoice& up = *s.up;
  const bool is_default = up.source == default_host_link(*s.gpu).up.source;
  if (is_default) {
    const HostLinkDefault kernel = default_host_link(*s.gpu, CopyMethod::kKernel);
    up.kernel_table = kernel.up;
    up.duplex_factor = kernel.up_duplex;
  }
  if (up.sm_share == 0) up.sm_share = kKernelSms / s.gpu->sm_count;
  NoteFigures figures = {{"from", up.from},
                         {"to", up.to},
                         {"page_bytes", page_bytes(s.engine)},
                         {"sm_share", up.sm_share}};
  if (is_default) figures.emplace_back("source", up.kernel_table->source);
  s.notes.push_back(scenario_note("small-page-kernel", std::move(figures)));
}

}  // namespace spillway

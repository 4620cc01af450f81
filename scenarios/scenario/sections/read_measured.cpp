// The key `measured`: a run of this very system, whose facts replace what would be estimated.
//
// A key that the scenario gives still wins; measured_warnings.cpp says what differs, and what
// follows.
#include <filesystem>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "scenarios/scenario/measured/measured_run.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

void read_measured(const ObjectReader& top, Scenario& s) {
  const auto path = top.text("measured", "a measured run's file");
  if (!path) return;
  if (path->empty()) top.fail("measured", "expected a measured run's file, found an empty name");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  const MeasuredRun run = load_measured({path_beside(folder, top.where("measured"), *path)});
  s.measured = run.facts;
  if (s.measured->source.empty()) s.measured->source = run.files[0];
  const MeasuredFacts& f = *s.measured;
  const bool any = f.num_gpu_blocks || f.kv_tokens || f.max_num_seqs || f.max_num_batched_tokens ||
                   f.max_model_len || f.host_overhead_us || f.d2h_gbs || f.h2d_gbs ||
                   f.block_tokens || f.enforce_eager || f.tensor_parallel_size;
  if (!any) {
    s.notes.push_back(scenario_note("measured-run-empty", {{"source", f.source}}));
  }
}

void use_measured_engine(Scenario& s) {
  if (!s.measured) return;
  const auto use = [](std::uint32_t& to, const std::optional<std::uint32_t>& fact) {
    if (fact && *fact > 0) to = *fact;
  };
  use(s.engine.block_tokens, s.measured->block_tokens);
  use(s.engine.max_num_seqs, s.measured->max_num_seqs);
  use(s.engine.max_num_batched_tokens, s.measured->max_num_batched_tokens);
}

void use_measured_overhead(const ObjectReader& top, Scenario& s) {
  if (!s.measured || !s.measured->host_overhead_us) return;
  if (s.compute->kind == ComputeChoice::Kind::kLinear) return;
  const auto compute = top.open_object("compute");
  if (compute && compute->has("host_overhead_us")) return;
  s.compute->host_overhead_us = *s.measured->host_overhead_us;
  std::erase_if(s.notes, [](const Note& note) {
    return note.code == "host-overhead-default" || note.code == "host-overhead-not-fitted";
  });
  s.notes.push_back(scenario_note(
      "host-overhead-measured",
      {{"overhead_us", s.compute->host_overhead_us}, {"source", s.measured->source}}));
}

std::optional<std::uint32_t> measured_blocks(const Scenario& s) {
  if (!s.measured) return std::nullopt;
  const MeasuredFacts& f = *s.measured;
  const std::uint64_t own = s.engine.block_tokens;
  std::uint64_t blocks = f.num_gpu_blocks.value_or(0);
  if (blocks == 0 && f.kv_tokens) blocks = (*f.kv_tokens + own / 2) / own;
  if (f.num_gpu_blocks && f.block_tokens) blocks = blocks * *f.block_tokens / own;
  // Two is the least a pool works with: one beside the null block.
  if (blocks < 2 || blocks > (std::uint64_t{1} << 28)) return std::nullopt;
  return static_cast<std::uint32_t>(blocks);
}

void use_measured_copies(Scenario& s) {
  if (!s.measured || !s.rank_links.empty()) return;
  const auto use = [&](Boxed<LinkChoice>& lane, const std::optional<double>& gbs) {
    // What the scenario or a hardware profile says of its link is no estimate.
    if (!lane || !gbs || *gbs <= 0 || lane->affine || lane->source == "scenario" || s.hardware) {
      return;
    }
    const double factor = *gbs * 1e9 / lane->make()->capacity().value();
    for (double& rate : lane->table.gbs) rate *= factor;
    lane->source += fmt::format("; scaled to the {:.1f} GB/s of {}", *gbs, s.measured->source);
    lane->table.source = lane->source;
  };
  use(s.down, s.measured->d2h_gbs);
  use(s.up, s.measured->h2d_gbs);
}

}  // namespace spillway

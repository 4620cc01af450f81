// What may be below HBM while a request runs: engine.residency, engine.cold, engine.token_budget.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr double kLeastShare = 1e-6;  // the unit that shares are kept in
constexpr std::string_view kOverlaps[] = {"serial", "stream"};
constexpr Key kColdKeys[] = {
    number_key("selected", kLeastShare, 1, "Share of its cold tokens that a decode reads.", "1"),
    number_key("page_cache_hit", 0, 1, "Share of those reads that a page cache on the GPU serves.",
               "0"),
    integer_key("buffers", 1, 1024, "Layers in flight. With 1, copies and compute take turns.",
                "2"),
    number_key("efficiency", 0.01, 1, "Efficiency of the longer of copy and compute.", "0.96"),
    choice_key("overlap", kOverlaps,
               "stream: copies overlap compute. serial: they follow one another.", "stream")};
constexpr std::uint32_t kLeastSlots = 3;  // the null block, one to fill, one to read through

/// A share, as parts per million of the decimal that was written.
std::int64_t ppm_of(double share) {
  return std::llround(share * static_cast<double>(kWholeShare));
}

/// A step that copies while it computes reads each block layer by layer.
std::uint32_t streamed_copies(const Scenario& s) {
  if (s.model->spec == nullptr || s.engine.cold.form == StreamForm::kSerial) {
    return s.engine.copies_per_block;
  }
  const auto layers = static_cast<std::uint32_t>(s.model->spec->kv_layers);
  return std::max(s.engine.copies_per_block, layers);
}

void read_cold_decode(const ObjectReader& engine, ColdDecode& out) {
  const auto cold = engine.object("cold", ScenarioKeys::kCold);
  if (!cold) return;
  out.selected_ppm = ppm_of(cold->number("selected").value_or(1));
  out.page_cache_ppm = ppm_of(cold->number("page_cache_hit").value_or(0));
  const std::string overlap = cold->text("overlap").value_or("stream");
  if (overlap == "serial") {
    cold->refuse({"buffers", "efficiency"}, "expected only with \"overlap\": \"stream\"");
  }
  // One buffer cannot be filled while it is read.
  const std::int64_t buffers = cold->integer("buffers").value_or(kLeastStreamBuffers);
  const bool serial = overlap == "serial" || buffers < kLeastStreamBuffers;
  out.form = serial ? StreamForm::kSerial : StreamForm::kOverlapped;
  if (const auto eta = cold->number("efficiency")) out.efficiency_ppm = ppm_of(*eta);
}

}  // namespace

const KeyTable ScenarioKeys::kCold = kColdKeys;

Residency read_residency(const ObjectReader& engine) {
  if (engine.text("residency") == "streaming") return Residency::kStreaming;
  engine.object("cold", ScenarioKeys::kCold);  // a misspelt key comes first
  engine.refuse({"cold", "token_budget"}, "expected only with \"residency\": \"streaming\"");
  return Residency::kFull;
}

void read_streaming(const ObjectReader& top, Scenario& s) {
  EngineConfig& c = s.engine;
  if (c.residency == Residency::kFull) return;
  const ObjectReader engine = *top.object("engine", ScenarioKeys::kEngine);
  if (!s.tier) {
    engine.fail("residency",
                "streaming needs a tier below HBM to read from; expected one in tiers");
  }
  engine.refuse({"offload_prompt_only", "unhashed_front", "reserve_full_isl",
                 "async_load_reservation", "convoy", "store_defer_next_step", "watermark", "load",
                 "load_or_recompute", "interference", "connector_costs"},
                "expected only with \"residency\": \"full\"");
  if (engine.boolean("async_scheduling").value_or(false)) {
    engine.fail("async_scheduling", "expected false with residency streaming");
  }
  if (!c.enable_prefix_caching) {
    engine.fail("enable_prefix_caching",
                "expected true with residency streaming, which knows blocks by their content");
  }
  if (s.tier->write_admission.name() != WriteAdmissionChoice().name()) {
    throw InputError(Fault::kUsage, s.tier->where,
                     fmt::format("write_admission: expected {} with residency streaming (what "
                                 "leaves HBM has nowhere else to go), found {}",
                                 WriteAdmissionChoice().name(), s.tier->write_admission.text()));
  }
  if (c.num_gpu_blocks < kLeastSlots) {
    engine.fail("num_gpu_blocks", fmt::format("expected at least {} with residency streaming: the "
                                              "null block, one to fill and one to read through",
                                              kLeastSlots));
  }
  c.async_scheduling = false;
  read_cold_decode(engine, c.cold);
  assign(c.token_budget, engine.integer("token_budget"));
  c.cold.copies_per_block = streamed_copies(s);
  s.notes.push_back(scenario_note("streaming-rules"));
}

}  // namespace spillway

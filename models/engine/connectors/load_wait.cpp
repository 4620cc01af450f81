#include "models/engine/connectors/load_wait.hpp"

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr LoadSemanticsRow kSemantics[] = {
    {"async", "The request is parked until its load has ended; nobody else waits.",
     LoadSemantics::kAsync},
    {"blocking", "The step that plans a load waits for it before it computes.",
     LoadSemantics::kBlocking},
    {"barrier", "Loads run beside a step; the next one waits for all of them.",
     LoadSemantics::kBarrier},
    {"layerwise", "Each layer of the step that plans a load waits for its own piece.",
     LoadSemantics::kLayerwise},
};

}  // namespace

std::span<const LoadSemanticsRow> load_semantics() {
  return kSemantics;
}

std::string_view name_of(LoadSemantics semantics) {
  return kSemantics[static_cast<std::size_t>(semantics)].name;
}

void LoadWait::begin(const std::vector<std::uint32_t>& loads, bool computes) {
  unsubmitted_ = nullptr;
  waits_ = false;
  layered_ = false;
  KV_ASSERT(computes || loads.empty() || !runs_with_load(semantics_), "a load without its step");
  switch (semantics_) {
    case LoadSemantics::kAsync:
      return jobs_.submit_loads(loads);
    case LoadSemantics::kBlocking:
      waits_ = !loads.empty();
      return jobs_.submit_loads(loads);
    case LoadSemantics::kBarrier:
      waits_ = computes;
      unsubmitted_ = &loads;
      return;
    case LoadSemantics::kLayerwise:
      layered_ = !loads.empty();
      if (layered_) jobs_.submit_layered_loads(loads, layers_);
      return;
  }
}

bool LoadWait::may_compute() {
  if (waits_ && jobs_.loads_under_way() > 0) return false;
  waits_ = false;
  if (unsubmitted_ != nullptr) jobs_.submit_loads(*unsubmitted_);
  unsubmitted_ = nullptr;
  return true;
}

void LoadWait::begin_forward(Time now, Duration compute) {
  next_layer_ = 0;
  compute_ = compute;
  done_ = now;
}

std::optional<Time> LoadWait::forward_end(Time now) {
  if (!layered_) return done_ + compute_;
  for (; next_layer_ < layers_; ++next_layer_) {
    if (jobs_.pieces_pending(next_layer_) > 0) return std::nullopt;
    const Duration part(layer_part(compute_.count(), next_layer_, layers_));
    done_ = layer_end(done_, now, part);
  }
  return done_;
}

}  // namespace spillway

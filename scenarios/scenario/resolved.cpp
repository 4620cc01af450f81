#include "scenarios/scenario/resolved.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/catalogue/gpu_spec.hpp"
#include "models/releases/presets.hpp"
#include "reports/document.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/scenario/config/settings.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/measured/measured_document.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "scenarios/scenario/resolved_fields.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/gpu.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/digest.hpp"
#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

json fit_json(const std::string& part, std::uint64_t points, double error, std::uint64_t held_out,
              double held_out_error) {
  return {{"part", part},
          {"points", points},
          {"error_percent", error},
          {"held_out", held_out},
          {"held_out_error_percent", held_out_error}};
}

json engine_json(const Scenario& s) {
  json out = to_document(s.engine);
  out["preset"] = s.preset;
  if (s.engine.is_kvbm()) out["offload_connector"] = "kvbm";  // the preset's
  out["eviction"] = s.hbm_eviction.text();
  if (s.gpu != nullptr) out["gpu_memory_utilization"] = s.gpu_memory_utilization;
  if (s.swap_space > Bytes(0)) out["swap_space"] = fmt::format("{}B", s.swap_space.count());
  if (s.interference) {
    out["interference"]["hbm_bytes_per_second"] = s.interference->hbm_bytes_per_s;
  }
  if (s.budget) out["memory"] = to_document(*s.budget);
  return out;
}

json compute_json(const Scenario& s) {
  const ComputeChoice& c = *s.compute;
  if (c.kind == ComputeChoice::Kind::kLinear) return {{"kind", "linear"}};
  json out = {{"kind", c.profile ? "profile" : "components"},
              {"host_overhead_us", c.host_overhead_us},
              {"sequence_us", c.sequence_us}};
  out["eager_overhead_us"] = c.eager_overhead_us;
  out["launch_us"] = c.launch_us;
  out["graph_tokens"] = c.graph_tokens;
  if (!c.profile) {
    const KernelSource source = kernel_coefficients(*s.gpu);
    out["source"] = source.source;
    out["kernels"] = to_document(source.kernels);
    return out;
  }
  out["profile"] = c.profile->name;
  out["content_hash"] = c.digest;
  out["source"] = c.profile->source;
  out["created"] = c.profile->created;
  out["fits"] = json::array();
  for (const FitScore& f : c.profile->scores) {
    out["fits"].push_back(fit_json(f.part, f.points, f.mape, f.held_out, f.held_out_mape));
  }
  return out;
}

json hardware_json(const HardwareChoice& h) {
  json gpus = json::array();
  for (const GpuFacts& gpu : h.machine.gpus) gpus.push_back(gpu.name);
  json fits = json::array();
  for (const FitRecord& f : h.fits) {
    fits.push_back(fit_json(f.target, f.cells, f.mape, f.held_out, f.held_out_mape));
  }
  return {{"fits", std::move(fits)},
          {"name", h.name},
          {"path", h.path},
          {"created", h.created},
          {"content_hash", h.digest},
          {"machine_hash", h.machine_hash},
          {"machine", {{"cpu", h.machine.cpu}, {"gpus", gpus}, {"driver", h.machine.driver}}}};
}

/// What has been made of the workload, by name instead of place.
json workload_json(const WorkloadChoice& w) {
  json out = {{"speed", to_double(w.arrival.speed)}};
  if (w.arrival.kind == ArrivalConfig::Kind::kPoisson) out["rate_per_s"] = w.arrival.rate_per_s;
  if (w.arrival.concurrency > 0) out["concurrency"] = w.arrival.concurrency;
  if (!w.generated()) out["reuse"] = w.reader.reuse.name();
  for (const std::string& day : w.days) out["days"].push_back(file_name(day));
  if (w.synthetic && !w.synthetic->rates.empty()) {
    out["synthetic"]["rates"] = file_name(w.synthetic->rates);
  }
  if (!w.benchmark) return out;
  if (w.arrival.kind == ArrivalConfig::Kind::kClosedLoop) out["arrival"] = "closed-loop";
  if (w.arrival.horizon != Time::max()) out["horizon_s"] = seconds_of(w.arrival.horizon);
  if (tool_of(*w.benchmark).load(*w.benchmark).turns) out["sessions"] = "wait";
  if (w.benchmark->lengths) out["benchmark"]["lengths"] = file_name(*w.benchmark->lengths);
  if (w.benchmark->template_tokens) {
    out["benchmark"]["template_tokens"] = *w.benchmark->template_tokens;
  }
  return out;
}

json model_json(const ModelChoice& m) {
  json out = {{"kv_bytes_per_token", m.kv_bytes_per_token.count()},
              {"kv_bits", bits_of(m.kv_dtype)}};
  if (m.spec != nullptr) out["name"] = m.spec->name;
  if (m.weights) {
    out["weight_dtype"] = m.weights->dtype;
    out["weight_bits"] = m.weights->format.bytes * 8;
    if (!m.weights->format.attention) out["attention_weight_bits"] = 16;
  }
  if (m.own) out["shape"] = to_document(*m.spec);
  return out;
}

json plan_json(const PlanChoice& plan) {
  json out = {{"tier", plan.tier},
              {"sizes", plan.sizes.empty() ? json("auto") : json(plan.sizes)},
              {"stress", plan.stress}};
  if (!plan.prices.empty()) out["prices"] = file_name(plan.prices);
  return out;
}

/// What follows from the settings.
json derived_json(const Scenario& s) {
  json out = {{"engine", engine_json(s)},
              {"compute", compute_json(s)},
              {"workload", workload_json(*s.workload)},
              {"model", model_json(*s.model)},
              {"policies", {{"admission", s.admission.text()}}}};
  if (s.gpu != nullptr) out["gpu"] = s.gpu->name;
  if (s.own_gpu) out["gpu_sheet"] = to_document(s.own_gpu->spec);
  std::vector<TierChoice> tiers = s.behind;
  if (s.tier) tiers.insert(tiers.begin(), *s.tier);
  out["tiers"] = to_document(tiers);
  std::vector<LinkChoice> links = s.rank_links;
  for (const auto& link : {s.down, s.up}) {
    if (link && s.rank_links.empty()) links.push_back(*link);
  }
  out["links"] = to_document(links);
  if (!s.media.empty()) out["media"] = to_document(s.media);
  if (s.host) out["host"] = to_document(*s.host);
  if (s.plan) out["plan"] = plan_json(*s.plan);
  if (s.hardware) out["hardware_hash"] = s.hardware->digest;
  if (s.measured) out["measured_hash"] = digest_of(to_json(*s.measured));
  return out;
}

}  // namespace

json configuration_identity(const Scenario& s) {
  return {{"settings", s.settings->meaning}, {"derived", derived_json(s)}};
}

json resolved_configuration(const Scenario& s) {
  json out = s.settings->values;
  out.merge_patch(derived_json(s));
  return out;
}

json scenario_inputs(const Scenario& s) {
  json out = {{"scenario", {{"name", s.name}, {"path", s.path}}},
              {"configuration", resolved_configuration(s)},
              {"configuration_hash", digest_of(configuration_identity(s))},
              {"settings", s.settings->values},
              {"origins", s.settings->origins},
              {"seed", s.seed}};
  for (json& origin : out["origins"]) {
    if (origin == "as the release does") origin = s.preset;
  }
  return out;
}

json scenario_inputs(const Scenario& s, const Workload& workload) {
  json out = scenario_inputs(s);
  out["trace"] = trace_inputs(workload);
  if (s.hardware) out["hardware"] = hardware_json(*s.hardware);
  if (s.measured) {
    out["measured"] = {{"path", s.measured->source}, {"facts", to_json(*s.measured)}};
  }
  return out;
}

json trace_inputs(const WorkloadSource& source, std::uint32_t block_tokens,
                  std::uint64_t requests_hash) {
  const RowCounts& rows = source.rows;
  json out = {{"name", source.name},
              {"format", source.format},
              {"content_hash", hex16(requests_hash)},
              {"requests", rows.kept},
              {"rows",
               {{"read", rows.read()},
                {"kept", rows.kept},
                {"dropped", rows.dropped},
                {"quarantined", rows.quarantined},
                {"reordered", rows.reordered}}},
              {"block_tokens", block_tokens}};
  if (const auto& found = source.inferred_sessions) {
    out["inferred_sessions"] = {
        {"sessions", found->sessions}, {"placed", found->placed}, {"share", found->share}};
  }
  return out;
}

json trace_inputs(const Workload& workload) {
  json out = trace_inputs(workload.source(), workload.block_tokens(), workload.requests_hash());
  out["requests"] = workload.size();
  if (const auto links = workload.links_hash()) out["links_hash"] = hex16(*links);
  return out;
}

}  // namespace spillway

// What steps take: the section `compute`, and which batches the engine replays as captured graphs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/weights.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/compute/kernel_choice.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr std::string_view kComputeKinds[] = {"linear", "components", "profile"};
constexpr Key kComputeKeys[] = {
    required(
        choice_key("kind", kComputeKinds,
                   "linear: three coefficients. components: kernels of the gpu. profile: fitted.")),
    aside(text_key("profile",
                   "Compute profile of spillway fit: its name or path. Only with kind profile.")),
    number_key("step_us", 0, 1e9, "Fixed time of a step. Only with kind linear."),
    number_key("token_ns", 0, 1e9, "Time of a computed token. Only with kind linear."),
    number_key("kv_token_ns", 0, 1e9,
               "Time of a token of context that a step reads. Only with kind linear."),
    number_key("host_overhead_us", -kMostHostSavingUs, 1e6,
               "Host time of each step. Below 0 only with kind profile.", "700, or as fitted"),
    number_key("eager_overhead_us", 0, 1e6,
               "Extra time of a step that replays no captured CUDA graph.", "0, or as fitted"),
    number_key("launch_us", 0, 1e5,
               "Host time to launch a layer. A step without a captured CUDA graph takes no less.",
               "786"),
    number_key("sequence_us", 0, 1e6, "Time of each sequence that samples a token.",
               "1.1, or as fitted")};

constexpr Key kCollectiveKeys[] = {
    choice_key("path", kCollectivePaths, "The way between GPUs of a node.",
               "nvlink where the gpu has it, else pcie"),
    number_key("latency_us", 0, 1e6, "Time of a collective of few bytes.",
               "as measured or published for the path"),
    rate_key("bandwidth", "Rate at which one GPU sends to others of its node.",
             "as measured or published for the path"),
    choice_key("algorithm", kCollectiveAlgorithms,
               "Bytes that a GPU sends over pcie: a ring's, or all of it to each other rank.",
               "ring"),
    integer_key("gpus_per_node", 1, kMostCollectiveRanks, "GPUs of one node.", "8"),
    number_key("nic_latency_us", 0, 1e6, "Time of an exchange of few bytes between nodes.",
               "NCCL's estimate"),
    rate_key("nic_bandwidth", "Rate of each GPU's NIC.", "50GB/s")};

struct NamedPath {
  std::string_view name;
  CollectiveSettings::Path path;
};
constexpr NamedPath kNamedPaths[] = {{kCollectivePaths[0], CollectiveSettings::Path::kNvlink},
                                     {kCollectivePaths[1], CollectiveSettings::Path::kPcie}};
struct NamedAlgorithm {
  std::string_view name;
  CollectiveSettings::Algorithm algorithm;
};
constexpr NamedAlgorithm kNamedAlgorithms[] = {
    {kCollectiveAlgorithms[0], CollectiveSettings::Algorithm::kRing},
    {kCollectiveAlgorithms[1], CollectiveSettings::Algorithm::kOneShot}};

void read_linear(const ObjectReader& compute, Scenario& s) {
  s.compute->kind = ComputeChoice::Kind::kLinear;
  compute.refuse({"host_overhead_us", "sequence_us", "eager_overhead_us", "launch_us"},
                 "expected only with kind components");
  s.compute->linear = {decimal_of(compute.require_number("step_us")),
                       decimal_of(compute.require_number("token_ns")),
                       decimal_of(compute.require_number("kv_token_ns"))};
  try {
    make_linear_cost(s.compute->linear);
  } catch (const std::out_of_range&) {
    compute.fail("kind", "expected times of at most nine decimals of a nanosecond");
  }
}

CollectiveSettings collective_settings(const ObjectReader& given, const GpuSpec& gpu) {
  CollectiveSettings c;
  if (const auto path = given.text("path")) {
    c.path =
        find_row(std::span<const NamedPath>(kNamedPaths), "path", *path, given.where("path")).path;
    if (c.path == CollectiveSettings::Path::kNvlink && gpu.peer_gbs <= 0) {
      given.fail("path",
                 fmt::format("{} has no NVLink; expected pcie, or gpu.peer_bandwidth", gpu.name));
    }
  }
  if (const auto algorithm = given.text("algorithm")) {
    c.algorithm = find_row(std::span<const NamedAlgorithm>(kNamedAlgorithms), "algorithm",
                           *algorithm, given.where("algorithm"))
                      .algorithm;
  }
  const auto rate = [&](std::string_view key) -> std::optional<double> {
    const auto text = given.text(key, ObjectReader::kRate);
    if (!text) return std::nullopt;
    return static_cast<double>(parse_bandwidth(*text, given.where(key)));
  };
  c.latency_us = given.number("latency_us");
  c.bandwidth = rate("bandwidth");
  c.nic_latency_us = given.number("nic_latency_us");
  c.nic_bandwidth = rate("nic_bandwidth");
  assign(c.gpus_per_node, given.integer("gpus_per_node"));
  return c;
}

/// Of engines that share experts.
void note_exchange(const ObjectReader& top, Scenario& s) {
  if (!s.lockstep()) return;
  const std::uint32_t engines = s.engine.data_parallel;
  const std::uint32_t in_node =
      std::max(1U, s.compute->collectives.gpus_per_node / s.engine.tensor_parallel);
  if (engines > in_node && engines % in_node != 0) {
    top.fail("collectives",
             fmt::format("{} engines of {} GPUs do not fill nodes of {}; expected a multiple, or "
                         "collectives.gpus_per_node",
                         engines, s.engine.tensor_parallel, s.compute->collectives.gpus_per_node));
  }
  s.notes.push_back(
      scenario_note("experts-exchanged",
                    {{"engines", engines}, {"source", s.collectives_of_engines()->source()}}));
}

/// The section `collectives`, and where the times come from.
void read_collectives(const ObjectReader& top, Scenario& s) {
  const std::uint32_t ranks = s.engine.tensor_parallel;
  CollectiveSettings& c = s.compute->collectives;
  const auto given = top.object("collectives", ScenarioKeys::kCollectives);
  if (given) c = collective_settings(*given, *s.gpu);
  if (s.hardware) {
    c.measured = measured_reduces(*s.hardware);
    c.measured_by = "hardware profile " + s.hardware->name;
  }
  note_exchange(top, s);
  if (ranks == 1) return;
  if (ranks > c.gpus_per_node && ranks % c.gpus_per_node != 0) {
    top.fail("collectives",
             fmt::format("tensor_parallel_size {} does not fill nodes of {} GPUs; expected a "
                         "multiple, or collectives.gpus_per_node",
                         ranks, c.gpus_per_node));
  }
  const Collectives all(*s.gpu, ranks, c);
  if (all.measured()) {
    s.notes.push_back(scenario_note("collectives", {{"ranks", ranks}, {"source", all.source()}}));
  } else {
    s.notes.push_back(
        scenario_note("collectives-assumed", {{"ranks", ranks}, {"source", all.source()}}));
  }
}

/// Which batches replay a captured graph; a note where nothing depends on it.
void read_graphs(const ObjectReader& top, Scenario& s) {
  const auto engine = top.object("engine", ScenarioKeys::kEngine);
  const auto limit = engine->integer("max_cudagraph_capture_size");
  const bool eager = engine->boolean("enforce_eager").value_or(false);
  const EngineConfig& c = s.engine;
  const std::uint32_t most = default_graph_limit(c.max_num_seqs, c.max_num_batched_tokens);
  const std::uint32_t given =
      limit ? std::min(static_cast<std::uint32_t>(*limit), c.max_num_batched_tokens) : most;
  s.compute->graph_tokens = eager ? 0 : largest_graph(given);
  if (s.compute->graphs_matter() || (!limit && !eager)) return;
  s.notes.push_back(scenario_note(
      "graphs-without-effect", {{"key", eager ? "enforce_eager" : "max_cudagraph_capture_size"}}));
}

/// Held-out errors of the parts that this scenario uses.
std::string scores_text(const ComputeProfile& p, const ProductKernels* products,
                        const AttentionKernels* attention) {
  std::vector<std::string> out;
  for (const FitScore& score : p.scores) {
    const std::string of_products =
        fmt::format("products/{}", products == nullptr ? "" : products->dtype);
    const std::string of_attention =
        attention == nullptr
            ? "attention/-"
            : fmt::format("attention/{}/{}/", attention->kv_dtype, attention->head_dim);
    const bool other_type = score.part.starts_with("products/") && score.part != of_products;
    const bool other_heads =
        score.part.starts_with("attention/") && !score.part.starts_with(of_attention);
    if (other_type || other_heads) continue;
    if (score.held_out > 0) {
      out.push_back(fmt::format("{} {:.1f}%", score.part, score.held_out_mape));
    } else {
      out.push_back(fmt::format("{} {:.1f}% of what was fitted", score.part, score.mape));
    }
  }
  return out.empty() ? "no scores" : fmt::format("{}", fmt::join(out, ", "));
}

double most_rows(const ProductKernels& kernels) {
  double out = 0;
  for (const ProductCurve& curve : kernels.curves) out = std::max(out, curve.rows.back());
  return out;
}

WeightFormat format_of(const ModelChoice& model) {
  return model.weights ? model.weights->format : published_format(*model.spec);
}

/// Where the scenario is outside what the profile's kernels were measured on.
Notes beyond_profile(const ComputeProfile& p, const Scenario& s, bool fp8,
                     const ProductKernels* products, const AttentionKernels* attention) {
  Notes out;
  const auto say = [&](ScenarioNote which, NoteFigures figures = {}) {
    figures.emplace_back("profile", p.name);
    out.push_back(scenario_note(which, std::move(figures)));
  };
  const ModelSpec& m = *s.model->spec;
  const std::string_view weights = fp8 ? "fp8" : "bf16";
  if (p.gpu != s.gpu->name) {
    say("compute-profile-gpu", {{"measured_gpu", p.gpu}, {"gpu", s.gpu->name}});
  }
  if (!p.model.empty() && p.model != m.name) {
    say("compute-profile-model", {{"measured_model", p.model}, {"model", m.name}});
  }
  if (!p.model.empty() && p.tensor_parallel != s.engine.tensor_parallel) {
    say("compute-profile-ranks",
        {{"measured_ranks", p.tensor_parallel}, {"ranks", s.engine.tensor_parallel}});
  }
  if (products == nullptr) {
    say("no-measured-products");
  } else if (products->dtype != weights) {
    say("product-type-not-measured", {{"weights", weights}, {"measured_weights", products->dtype}});
  }
  if (products != nullptr && !products->curves.empty() &&
      most_rows(*products) < s.engine.max_num_batched_tokens) {
    say("products-beyond-measured",
        {{"rows", most_rows(*products)}, {"tokens", s.engine.max_num_batched_tokens}});
  }
  if (attention == nullptr) {
    say("no-measured-attention");
    return out;
  }
  const int kv_bits = bits_of(s.model->kv_dtype);
  if (kv_bits_of(attention->kv_dtype) != kv_bits) {
    say("attention-type-not-measured",
        {{"kv_bits", kv_bits}, {"measured_type", attention->kv_dtype}});
  }
  if (m.head_dim > 0 && static_cast<std::uint32_t>(m.head_dim) != attention->head_dim) {
    say("head-width-not-measured",
        {{"head_dim", m.head_dim}, {"measured_head_dim", attention->head_dim}});
  }
  if (!attention->mixed_measured) say("mixed-batches-not-measured");
  return out;
}

void read_profile_compute(const ObjectReader& compute, Scenario& s) {
  ComputeChoice& c = *s.compute;
  c.kind = ComputeChoice::Kind::kProfile;
  const std::string named = compute.require_text("profile", "a compute profile's name or path");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  c.path = find_hardware(named, folder, compute.where("profile"), "compute profile",
                         "Make one of kernel tables or logs with: spillway fit");
  const JsonSource source = JsonSource::from_file(c.path);
  std::vector<std::string> found;
  c.profile = read_compute_profile(source, found);
  s.notes.insert(s.notes.end(), found.begin(), found.end());
  c.digest = digest_of(source.root().at("results"));
  ComputeProfile& p = *c.profile;
  if (p.name.empty()) p.name = std::filesystem::path(c.path).stem().string();
  c.host_overhead_us = p.host_overhead_us;
  c.eager_overhead_us = p.eager_overhead_us;
  c.sequence_us = p.sequence_us;

  const bool fp8 = product_units(*s.gpu, format_of(*s.model), s.model->spec->is_moe()).fp8;
  const ProductKernels* products = choose_products(p, fp8);
  const AttentionKernels* attention =
      choose_attention(p, bits_of(s.model->kv_dtype), s.model->spec->head_dim);
  s.notes.push_back(scenario_note(
      "compute-profile", {{"profile", p.name},
                          {"gpu", p.gpu},
                          {"source", p.source.empty() ? "data it does not name" : p.source},
                          {"errors", scores_text(p, products, attention)}}));
  for (Note& note : beyond_profile(p, s, fp8, products, attention)) {
    s.notes.push_back(std::move(note));
  }
  if (p.warnings.empty()) return;
  s.notes.push_back(scenario_note(
      "compute-profile-warnings",
      {{"profile", p.name}, {"warnings", p.warnings.size()}, {"first", p.warnings.front()}}));
}

/// What is not checked against measurements, whatever the kernels.
void note_unchecked(Scenario& s) {
  const ModelSpec& m = *s.model->spec;
  const bool experts = s.compute->profile && !s.compute->profile->experts.empty();
  if (m.is_mla() || (m.is_moe() && !experts)) {
    s.notes.push_back(
        scenario_note("step-times-unchecked",
                      {{"model", m.name}, {"kind", m.is_mla() ? "MLA" : "a mixture of experts"}}));
  }
  const WeightFormat format = format_of(*s.model);
  const ProductUnits units = product_units(*s.gpu, format, m.is_moe());
  if (units.flop_share < 1) {
    s.notes.push_back(scenario_note("weights-widened", {{"model", m.name},
                                                        {"gpu", s.gpu->name},
                                                        {"bytes_per_weight", format.bytes},
                                                        {"flop_share", units.flop_share}}));
  }
  if (m.sliding_layers > 0 && !s.engine.groups.hybrid()) {
    s.notes.push_back(
        scenario_note("sliding-kv-charged", {{"layers", m.sliding_layers}, {"model", m.name}}));
  }
}

}  // namespace

const KeyTable ScenarioKeys::kCompute = kComputeKeys;
const KeyTable ScenarioKeys::kCollectives = kCollectiveKeys;

void read_compute(const ObjectReader& top, Scenario& s) {
  const auto compute = top.object("compute", ScenarioKeys::kCompute);
  const bool shaped = s.model->spec != nullptr && s.gpu != nullptr;
  if (!compute && !shaped) {
    top.missing("compute", "a compute model, or a named model and a gpu to derive one from");
  }
  const std::string kind = compute ? compute->require_text("kind") : std::string("components");
  if (compute && kind != "profile") {
    compute->refuse({"profile"}, "expected only with kind profile");
  }
  if (kind == "linear") {
    read_linear(*compute, s);
    if (const auto unused = top.object("collectives", ScenarioKeys::kCollectives)) {
      top.fail("collectives", "expected only with compute of kind components or profile; linear's "
                              "times are those of all ranks together");
    }
    read_graphs(top, s);
    return;
  }
  if (!shaped) compute->fail("kind", kind + " needs a named model and a gpu");
  s.compute->kind = ComputeChoice::Kind::kComponents;
  read_collectives(top, s);
  if (kind == "profile") read_profile_compute(*compute, s);
  if (compute) {
    ComputeChoice& c = *s.compute;
    compute->refuse({"step_us", "token_ns", "kv_token_ns"}, "expected only with kind linear");
    const double least = kind == "profile" ? -kMostHostSavingUs : 0;
    c.host_overhead_us =
        compute->number("host_overhead_us", least, 1e6).value_or(c.host_overhead_us);
    c.eager_overhead_us = compute->number("eager_overhead_us").value_or(c.eager_overhead_us);
    c.launch_us = compute->number("launch_us").value_or(c.launch_us);
    c.sequence_us = compute->number("sequence_us").value_or(c.sequence_us);
  }
  read_graphs(top, s);
  const bool fitted = s.compute->profile && s.compute->profile->overhead_fitted;
  if ((!compute || !compute->has("host_overhead_us")) && !fitted) {
    const double overhead_us = s.compute->host_overhead_us;
    s.notes.push_back(
        overhead_us == kDefaultHostOverheadUs
            ? scenario_note("host-overhead-default",
                            {{"overhead_us", overhead_us}, {"source", host_overhead_source()}})
            : scenario_note("host-overhead-not-fitted", {{"overhead_us", overhead_us}}));
  }
  if (kind == "components") {
    const KernelSource kernels = kernel_coefficients(*s.gpu);
    const NoteFigures figures = {{"gpu", s.gpu->name}, {"source", kernels.source}};
    s.notes.push_back(kernels.measured ? scenario_note("kernel-efficiencies", figures)
                                       : scenario_note("kernel-efficiencies-of-another", figures));
  }
  note_unchecked(s);
}

}  // namespace spillway

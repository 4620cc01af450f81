// What steps take: the section `compute`, the model's weight type, and which batches the engine
// replays as captured graphs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "models/catalogue/weights.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/compute/kernel_choice.hpp"
#include "models/compute/small_reduce.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
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
    text_key("profile",
             "Compute profile of spillway fit: its name or path. Only with kind profile."),
    number_key("step_us", 0, 1e9, "Fixed time of a step. Only with kind linear."),
    number_key("token_ns", 0, 1e9, "Time of a computed token. Only with kind linear."),
    number_key("kv_token_ns", 0, 1e9,
               "Time of a token of context that a step reads. Only with kind linear."),
    number_key("host_overhead_us", -kMostHostSavingUs, 1e6,
               "Host time of each step. Below 0 only with kind profile.", "700, or as fitted"),
    number_key("eager_overhead_us", 0, 1e6,
               "Extra time of a step that replays no captured CUDA graph.", "0, or as fitted"),
    number_key("sequence_us", 0, 1e6, "Time of each sequence that samples a token.",
               "1.1, or as fitted")};

void read_linear(const ObjectReader& compute, Scenario& s) {
  s.compute.kind = ComputeChoice::Kind::kLinear;
  compute.refuse({"host_overhead_us", "sequence_us", "eager_overhead_us"},
                 "expected only with kind components");
  s.compute.linear = {decimal_of(compute.require_number("step_us")),
                      decimal_of(compute.require_number("token_ns")),
                      decimal_of(compute.require_number("kv_token_ns"))};
  try {
    make_linear_cost(s.compute.linear);
  } catch (const std::out_of_range&) {
    compute.fail("kind", "expected times of at most nine decimals of a nanosecond");
  }
}

/// Where the times of collectives come from.
void note_collectives(const ObjectReader& top, bool profiled, Scenario& s) {
  const std::uint32_t ranks = s.engine.tensor_parallel;
  if (ranks == 1) return;
  if (ranks > kMostCollectiveRanks) {
    top.fail("engine", fmt::format("tensor_parallel_size {}: collectives of more than one node are "
                                   "not modelled; expected at most {}, or compute of kind linear",
                                   ranks, kMostCollectiveRanks));
  }
  std::string source = all_reduce_of(*s.gpu, ranks).source;
  if (profiled && s.gpu->peer_gbs > 0) source += "; " + SmallReduce(*s.gpu, ranks).source();
  s.notes.push_back(fmt::format("compute: {} ranks, {}", ranks, source));
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
  s.compute.graph_tokens = eager ? 0 : largest_graph(given);
  const bool matters =
      s.compute.kind == ComputeChoice::Kind::kProfile || s.compute.eager_overhead_us > 0;
  if (matters || (!limit && !eager)) return;
  s.notes.push_back(fmt::format("engine.{} changes nothing: compute has no eager_overhead_us",
                                eager ? "enforce_eager" : "max_cudagraph_capture_size"));
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

/// Where the scenario is outside what the profile's kernels were measured on.
std::vector<std::string> beyond_profile(const ComputeProfile& p, const Scenario& s, bool fp8,
                                        const ProductKernels* products,
                                        const AttentionKernels* attention) {
  std::vector<std::string> out;
  const ModelSpec& m = *s.model.spec;
  const std::string_view weights = fp8 ? "fp8" : "bf16";
  if (p.gpu != s.gpu->name) {
    out.push_back(
        fmt::format("it was measured on {}, the scenario's gpu is {}: shares of peak "
                    "rates and ratios are carried over",
                    p.gpu, s.gpu->name));
  }
  if (!p.model.empty() && p.model != m.name) {
    out.push_back(
        fmt::format("only kernels of {} were measured; shapes of {} follow the forms and "
                    "the nearest of its shapes",
                    p.model, m.name));
  }
  if (!p.model.empty() && p.tensor_parallel != s.engine.tensor_parallel) {
    out.push_back(fmt::format("its table is of tensor_parallel_size {}, the engine has {}",
                              p.tensor_parallel, s.engine.tensor_parallel));
  }
  if (products == nullptr) {
    out.push_back("it holds no products: efficiencies of the GPU's defaults are used");
  } else if (products->dtype != weights) {
    out.push_back(
        fmt::format("products with {} weights were not measured: efficiencies of {} are "
                    "used at the rate of {}",
                    weights, products->dtype, weights));
  }
  if (products != nullptr && !products->curves.empty() &&
      most_rows(*products) < s.engine.max_num_batched_tokens) {
    out.push_back(
        fmt::format("products were measured up to {} rows, batches have up to {} tokens: "
                    "the ratio of the largest is kept",
                    most_rows(*products), s.engine.max_num_batched_tokens));
  }
  if (attention == nullptr) {
    out.push_back("it holds no attention: efficiencies of the GPU's defaults are used");
    return out;
  }
  const int kv_bits = bits_of(s.model.kv_dtype);
  if (kv_bits_of(attention->kv_dtype) != kv_bits) {
    out.push_back(
        fmt::format("attention over a KV cache of {} bits was not measured: that over "
                    "{} is used",
                    kv_bits, attention->kv_dtype));
  }
  if (m.head_dim > 0 && static_cast<std::uint32_t>(m.head_dim) != attention->head_dim) {
    out.push_back(
        fmt::format("attention of heads of width {} was not measured: that of {} is "
                    "scaled",
                    m.head_dim, attention->head_dim));
  }
  if (!attention->mixed_measured) {
    out.push_back("decodes beside a prefill were not measured: their slowdown is another GPU's");
  }
  return out;
}

void read_profile_compute(const ObjectReader& compute, Scenario& s) {
  ComputeChoice& c = s.compute;
  c.kind = ComputeChoice::Kind::kProfile;
  const std::string named = compute.require_text("profile", "a compute profile's name or path");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  c.path = find_hardware(named, folder, compute.where("profile"), "compute profile",
                         "Make one of kernel tables or logs with: spillway fit");
  const JsonSource source = JsonSource::from_file(c.path);
  c.profile = read_compute_profile(source, s.notes);
  c.digest = digest_of(source.root().at("results"));
  ComputeProfile& p = *c.profile;
  if (p.name.empty()) p.name = std::filesystem::path(c.path).stem().string();
  c.host_overhead_us = p.host_overhead_us;
  c.eager_overhead_us = p.eager_overhead_us;
  c.sequence_us = p.sequence_us;

  const double weight_bytes =
      s.model.weights ? s.model.weights->bytes : published_weight_bytes(*s.model.spec);
  const bool widened = s.model.weights && s.model.weights->bf16_products;
  const bool fp8 = weight_bytes < kFp8WeightBytes && !widened;
  const ProductKernels* products = choose_products(p, fp8);
  const AttentionKernels* attention =
      choose_attention(p, bits_of(s.model.kv_dtype), s.model.spec->head_dim);
  s.notes.push_back(fmt::format(
      "compute: profile {} of {}, fitted from {}; held-out error: {}", p.name, p.gpu,
      p.source.empty() ? "data it does not name" : p.source, scores_text(p, products, attention)));
  for (const std::string& note : beyond_profile(p, s, fp8, products, attention)) {
    s.notes.push_back(fmt::format("compute: profile {}: {}", p.name, note));
  }
  if (p.warnings.empty()) return;
  s.notes.push_back(fmt::format("compute: profile {}: its fit came with {} warnings, first: {}",
                                p.name, p.warnings.size(), p.warnings.front()));
}

/// What is not checked against measurements, whatever the kernels.
void note_unchecked(Scenario& s) {
  const ModelSpec& m = *s.model.spec;
  if (m.is_moe() || m.is_mla()) {
    s.notes.push_back(fmt::format(
        "compute: {} is {}; step times of such models are not checked against measurements yet",
        m.name, m.is_mla() ? "MLA" : "a mixture of experts"));
  }
  if (s.engine.groups.hybrid()) {
    s.notes.push_back(fmt::format(
        "compute: attention of the {} sliding-window layers of {} is charged over the whole "
        "context, which overstates step times of long contexts",
        m.sliding_layers, m.name));
  } else if (m.sliding_layers > 0) {
    s.notes.push_back(fmt::format(
        "{} has {} sliding-window layers; all layers are charged as full attention, which "
        "overstates KV bytes of long contexts",
        m.name, m.sliding_layers));
  }
}

}  // namespace

const KeyTable ScenarioKeys::kCompute = kComputeKeys;

void read_compute(const ObjectReader& top, Scenario& s) {
  const auto compute = top.object("compute", ScenarioKeys::kCompute);
  const bool shaped = s.model.spec != nullptr && s.gpu != nullptr;
  if (!compute && !shaped) {
    top.missing("compute", "a compute model, or a named model and a gpu to derive one from");
  }
  const std::string kind = compute ? compute->require_text("kind") : std::string("components");
  if (compute && kind != "profile") {
    compute->refuse({"profile"}, "expected only with kind profile");
  }
  if (kind == "linear") {
    read_linear(*compute, s);
    read_graphs(top, s);
    return;
  }
  if (!shaped) compute->fail("kind", kind + " needs a named model and a gpu");
  s.compute.kind = ComputeChoice::Kind::kComponents;
  note_collectives(top, kind == "profile", s);
  if (kind == "profile") read_profile_compute(*compute, s);
  if (compute) {
    ComputeChoice& c = s.compute;
    compute->refuse({"step_us", "token_ns", "kv_token_ns"}, "expected only with kind linear");
    const double least = kind == "profile" ? -kMostHostSavingUs : 0;
    c.host_overhead_us =
        compute->number("host_overhead_us", least, 1e6).value_or(c.host_overhead_us);
    c.eager_overhead_us = compute->number("eager_overhead_us").value_or(c.eager_overhead_us);
    c.sequence_us = compute->number("sequence_us").value_or(c.sequence_us);
  }
  read_graphs(top, s);
  const bool fitted = s.compute.profile && s.compute.profile->overhead_fitted;
  if ((!compute || !compute->has("host_overhead_us")) && !fitted) {
    const bool usual = s.compute.host_overhead_us == kDefaultHostOverheadUs;
    s.notes.push_back(fmt::format(
        "compute: host overhead {} us per step ({})", s.compute.host_overhead_us,
        usual ? fmt::format("default; {}", host_overhead_source()) : "the profile's, not fitted"));
  }
  if (kind == "components") {
    const KernelSource kernels = kernel_coefficients(*s.gpu);
    s.notes.push_back(fmt::format("compute: kernel efficiencies of {}: {}{}", s.gpu->name,
                                  kernels.source,
                                  kernels.measured ? "" : "; not measured on this GPU"));
  }
  note_unchecked(s);
}

}  // namespace spillway

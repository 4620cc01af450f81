// `spillway kvsize`: KV bytes of a model, with the formula filled in, and what fits a GPU.
#include <fmt/format.h>

#include "models/kv_geometry.hpp"
#include "models/releases/kv_groups.hpp"
#include "models/releases/presets.hpp"
#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/kvsize_fields.hpp"
#include "scenarios/scenario/sections/known_models.hpp"

namespace spillway {

namespace {

constexpr ValueKind kDtype{"DTYPE", "", Offer::kWords,
                           [] { return key_choices("model.kv_dtype"); }};

struct KvSizeOptions {
  std::string model;
  std::int64_t tokens = 1;
  std::string kv_dtype = "auto";
  std::string gpu;
  std::string preset = "vllm";
  double gpu_memory_utilization = 0;
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
  CommonOptions common;
};

std::string gib(Bytes bytes) {
  return fmt::format("{:.4g} GiB", in_gib(bytes.count()));
}

/// What the sequence holds where sliding layers keep their window (engine.hybrid_kv_cache), when
/// its last token is computed.
void add_groups(const KvSizeOptions& o, const ModelSpec& model, KvDtype dtype, KvSize& results,
                Section& section) {
  const KvGroups groups = kv_groups_of(model);
  if (!groups.hybrid()) return;
  const std::int64_t block =
      engine_defaults(find_preset(o.preset, {"--preset", 0, ""}), nullptr).block_tokens;
  const Bytes page(ceil_div((kv_bytes_per_token(model, dtype) * block).count() * groups.layers,
                            model.kv_layers));
  const std::int64_t whole = ceil_div(o.tokens, block);
  const std::int64_t skipped = std::max<std::int64_t>(0, o.tokens - groups.window) / block;
  const std::int64_t pages = groups.full * whole + groups.sliding * (whole - skipped);
  const Bytes total = page * pages;
  results.groups = KvGroupBytes{groups.sliding, groups.full, groups.layers, groups.window,
                                page.count(),   pages,       total.count()};
  section.paragraphs.push_back(fmt::format(
      "With sliding layers held to their window of {} tokens (engine.hybrid_kv_cache; vLLM's "
      "default): {} in {} pages of {} layers, {} of full attention and {} in each of {} sliding "
      "groups.",
      groups.window, gib(total), format_count(static_cast<std::uint64_t>(pages)), groups.layers,
      format_count(static_cast<std::uint64_t>(groups.full * whole)),
      format_count(static_cast<std::uint64_t>(whole - skipped)), groups.sliding));
}

/// Blocks and tokens that a GPU holds beside the weights, as `run` would size its pool.
void add_capacity(const KvSizeOptions& o, const ModelSpec& model, KvDtype dtype, KvSize& results,
                  Section& section) {
  const GpuSpec& gpu = find_gpu(o.gpu, {"--gpu", 0, ""});
  const EnginePreset& preset = find_preset(o.preset, {"--preset", 0, ""});
  const EngineConfig defaults = engine_defaults(preset, &gpu);
  EngineMemory memory;
  memory.gpu_memory_utilization =
      o.gpu_memory_utilization > 0 ? o.gpu_memory_utilization : preset.gpu_memory_utilization;
  memory.max_num_seqs = o.max_num_seqs > 0 ? o.max_num_seqs : defaults.max_num_seqs;
  memory.max_num_batched_tokens =
      o.max_num_batched_tokens > 0 ? o.max_num_batched_tokens : defaults.max_num_batched_tokens;
  const HbmBudget budget = hbm_budget(model, gpu, memory);
  const Bytes block = kv_bytes_per_token(model, dtype) * defaults.block_tokens;
  const std::int64_t blocks = budget.kv > Bytes(0) ? budget.kv / block : 0;
  KvOnGpu& fits = results.gpu.emplace();
  fits.name = gpu.name;
  fits.gpu_memory_utilization = memory.gpu_memory_utilization;
  fits.max_num_seqs = memory.max_num_seqs;
  fits.max_num_batched_tokens = memory.max_num_batched_tokens;
  fits.visible_bytes = budget.visible.count();
  fits.requested_bytes = budget.requested.count();
  fits.weight_bytes = budget.weights.count();
  fits.activation_bytes = budget.activations.count();
  fits.other_bytes = budget.other.count();
  fits.kv_bytes = budget.kv.count();
  fits.num_gpu_blocks = blocks;
  fits.kv_tokens = blocks * defaults.block_tokens;
  Table table;
  table.title = fmt::format("On one {} at utilisation {}", gpu.name, memory.gpu_memory_utilization);
  table.header = {"part", "size"};
  table.rows = {{"visible to CUDA", gib(budget.visible)},
                {"vLLM may use", gib(budget.requested)},
                {"weights", gib(budget.weights)},
                {"activations (profiling peak)", gib(budget.activations)},
                {"other (context, workspaces)", gib(budget.other)},
                {"left for KV", gib(budget.kv)}};
  section.tables.push_back(std::move(table));
  if (blocks < 2) {
    section.paragraphs.push_back(fmt::format(
        "{} does not fit {} at this utilization; weights are counted as published, on one GPU",
        model.name, gpu.name));
  }
  section.paragraphs.push_back(
      fmt::format("KV pool: {} blocks of {} tokens = {} tokens",
                  format_count(static_cast<std::uint64_t>(blocks)), defaults.block_tokens,
                  format_count(static_cast<std::uint64_t>(fits.kv_tokens))));
}

int run(const KvSizeOptions& o) {
  const CommonOptions& common = o.common;
  check_writable(common);
  const KnownModel known = known_model(o.model, {"--model", 0, ""});
  ModelSpec model = *known.spec;
  if (known.weights) model.weight_bytes = known.weights->total.count();
  const KvDtype dtype = parse_kv_dtype(o.kv_dtype, {"--kv-dtype", 0, ""});
  const Bytes per_token = kv_bytes_per_token(model, dtype);
  const Bytes total = per_token * o.tokens;

  Document document;
  document.kind = "kvsize";
  document.inputs = {{"model", model.name}, {"tokens", o.tokens}, {"kv_dtype", o.kv_dtype}};
  KvSize results;
  results.model = model.name;
  results.tokens = o.tokens;
  results.kv_bits = bits_of(dtype);
  results.bytes_per_token = per_token.count();
  results.bytes = total.count();
  results.formula = kv_formula(model, dtype, Tokens(o.tokens));
  Report report;
  report.title = fmt::format("{}: {} tokens take {} of KV cache", model.name,
                             format_count(static_cast<std::uint64_t>(o.tokens)), gib(total));
  Section section;
  section.paragraphs.push_back(results.formula);
  section.paragraphs.push_back(fmt::format(
      "per token: {} bytes", format_count(static_cast<std::uint64_t>(per_token.count()))));
  if (!model.is_mla() && model.kv_heads != model.q_heads) {
    const Bytes mha = kv_bytes_per_token_mha(model, dtype) * o.tokens;
    results.all_heads = KvAllHeads{model.q_heads, mha.count()};
    section.paragraphs.push_back(
        fmt::format("With {} KV heads, one per query head, it would be {}; {} has {} (GQA).",
                    model.q_heads, gib(mha), model.name, model.kv_heads));
  }
  add_groups(o, model, dtype, results, section);
  if (!model.note.empty()) {
    document.warnings.emplace_back(std::string(model.note));
    section.paragraphs.push_back(fmt::format("Note: {}.", model.note));
  }
  if (!o.gpu.empty()) add_capacity(o, model, dtype, results, section);
  section.paragraphs.push_back(fmt::format("Source: {}", known.own
                                                             ? std::string("its config.json")
                                                             : std::string(model_specs_source())));
  report.sections.push_back(std::move(section));
  document.results = to_document(results);
  write_document(document, common, "kvsize");
  print_report(report, common);
  return 0;
}

}  // namespace

void add_kvsize(Verb& program) {
  auto [command, o] = add_command<KvSizeOptions>(
      program, "kvsize", "KV bytes of a model, with the formula filled in",
      "  spillway kvsize --model Llama-3.1-70B --tokens 8192\n"
      "  spillway kvsize --model Llama-3.1-8B --tokens 4096 --gpu H100\n"
      "  spillway kvsize --model Qwen3-14B --kv-dtype fp8 --gpu RTX4090\n",
      run);
  command
      .add("--model", o.model, kinds::kModel,
           "Model (see `spillway list models`), or the path of its config.json")
      .require();
  command.add("--tokens", o.tokens, kinds::kTokens, "Number of tokens (default: 1)")
      .range(std::int64_t{1}, std::int64_t{1} << 40);
  command.add("--kv-dtype", o.kv_dtype, kDtype,
              "Type of the cached values: auto, bf16, fp16, fp8, int8 or fp4 (default: auto, "
              "the model's)");
  command.add("--gpu", o.gpu, kinds::kGpu,
              "Also show what fits this GPU (see `spillway list gpus`)");
  command.add("--preset", o.preset, kinds::kEngine,
              "Engine release for its defaults (default: vllm, the newest)");
  command
      .add("--gpu-memory-utilization", o.gpu_memory_utilization, kinds::kShare,
           "Share of GPU memory the engine may use (default: the preset's)")
      .range<double>(0.01, 1);
  command
      .add("--max-num-seqs", o.max_num_seqs, kinds::kCount,
           "As the engine's flag (default: its own)")
      .range(1, 1 << 20);
  command
      .add("--max-num-batched-tokens", o.max_num_batched_tokens, kinds::kTokens,
           "As the engine's flag (default: its own)")
      .range(1, 1 << 24);
}

}  // namespace spillway

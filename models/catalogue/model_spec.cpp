#include "models/catalogue/model_spec.hpp"

#include "models/catalogue/lookup.hpp"
#include "models/catalogue/unknown_model.hpp"

namespace spillway {

namespace {

constexpr std::string_view kSlidingNote =
    "sliding layers stop growing at the window; a pool without groups charges them in full";

// Published configurations as read by ai-dynamo/aiconfigurator (commit 095f58a51c4c,
// model_configs/*.json); weight bytes count linear layers and embeddings, FP8 and MXFP4 checkpoints
// at their shipped size (gpt-oss: 12.8 and 60.8 GiB, its model card, arXiv 2508.10925).
// One model a paragraph.
// clang-format off
constexpr ModelSpec kModels[] = {
    {.name = "meta-llama/Meta-Llama-3.1-8B", .layers = 32, .hidden = 4096, .q_heads = 32,
     .kv_heads = 8, .head_dim = 128, .intermediate = 14336, .vocab = 128256, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 32, .params_total = 8029995008,
     .weight_bytes = 16059990016},
    {.name = "meta-llama/Meta-Llama-3.1-70B", .layers = 80, .hidden = 8192, .q_heads = 64,
     .kv_heads = 8, .head_dim = 128, .intermediate = 28672, .vocab = 128256, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 80, .params_total = 70552387584,
     .weight_bytes = 141104775168},
    {.name = "meta-llama/Meta-Llama-3.1-405B", .layers = 126, .hidden = 16384, .q_heads = 128,
     .kv_heads = 8, .head_dim = 128, .intermediate = 53248, .vocab = 128256, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 126, .params_total = 405849243648,
     .weight_bytes = 811698487296},
    {.name = "Qwen/Qwen3-0.6B", .layers = 28, .hidden = 1024, .q_heads = 16, .kv_heads = 8,
     .head_dim = 128, .intermediate = 3072, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 2048, .kv_layers = 28, .params_total = 595984384,
     .weight_bytes = 1191968768, .qk_norm = true},
    {.name = "Qwen/Qwen3-1.7B", .layers = 28, .hidden = 2048, .q_heads = 16, .kv_heads = 8,
     .head_dim = 128, .intermediate = 6144, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 2048, .kv_layers = 28, .params_total = 1720451072,
     .weight_bytes = 3440902144, .qk_norm = true},
    {.name = "Qwen/Qwen3-8B", .layers = 36, .hidden = 4096, .q_heads = 32, .kv_heads = 8,
     .head_dim = 128, .intermediate = 12288, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 2048, .kv_layers = 36, .params_total = 8190427136,
     .weight_bytes = 16380854272, .qk_norm = true},
    {.name = "Qwen/Qwen3-32B", .layers = 64, .hidden = 5120, .q_heads = 64, .kv_heads = 8,
     .head_dim = 128, .intermediate = 25600, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 2048, .kv_layers = 64, .params_total = 32761446400,
     .weight_bytes = 65522892800, .qk_norm = true},
    {.name = "Qwen/Qwen3-30B-A3B", .layers = 48, .hidden = 2048, .q_heads = 32, .kv_heads = 4,
     .head_dim = 128, .intermediate = 6144, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 1024, .kv_layers = 48, .params_total = 30531911680,
     .weight_bytes = 61063823360, .experts = 128, .experts_per_token = 8,
     .expert_intermediate = 768, .shared_experts = 0, .first_dense_layers = 0, .qk_norm = true},
    {.name = "Qwen/Qwen3-235B-A22B", .layers = 94, .hidden = 4096, .q_heads = 64, .kv_heads = 4,
     .head_dim = 128, .intermediate = 12288, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 1024, .kv_layers = 94, .params_total = 235092836352,
     .weight_bytes = 470185672704, .experts = 128, .experts_per_token = 8,
     .expert_intermediate = 1536, .shared_experts = 0, .first_dense_layers = 0, .qk_norm = true},
    {.name = "Qwen/Qwen3-Coder-480B-A35B-Instruct", .layers = 62, .hidden = 6144, .q_heads = 96,
     .kv_heads = 8, .head_dim = 128, .intermediate = 8192, .vocab = 151936, .max_position = 262144,
     .kv_elements_per_token_layer = 2048, .kv_layers = 62, .params_total = 480154091520,
     .weight_bytes = 960308183040, .experts = 160, .experts_per_token = 8,
     .expert_intermediate = 2560, .shared_experts = 0, .first_dense_layers = 0, .qk_norm = true},
    {.name = "deepseek-ai/DeepSeek-V3", .layers = 61, .hidden = 7168, .q_heads = 128, .kv_heads = 1,
     .head_dim = 0, .intermediate = 18432, .vocab = 129280, .max_position = 163840,
     .kv_elements_per_token_layer = 576, .kv_layers = 61, .params_total = 671025397760,
     .weight_bytes = 671025397760, .weight_type = "fp8", .experts = 256, .experts_per_token = 8,
     .expert_intermediate = 2048, .shared_experts = 1, .first_dense_layers = 3, .kv_lora_rank = 512,
     .qk_nope_dim = 128, .qk_rope_dim = 64, .v_head_dim = 128, .q_lora_rank = 1536},
    {.name = "deepseek-ai/DeepSeek-R1", .layers = 61, .hidden = 7168, .q_heads = 128, .kv_heads = 1,
     .head_dim = 0, .intermediate = 18432, .vocab = 129280, .max_position = 163840,
     .kv_elements_per_token_layer = 576, .kv_layers = 61, .params_total = 671025397760,
     .weight_bytes = 671025397760, .weight_type = "fp8", .experts = 256, .experts_per_token = 8,
     .expert_intermediate = 2048, .shared_experts = 1, .first_dense_layers = 3, .kv_lora_rank = 512,
     .qk_nope_dim = 128, .qk_rope_dim = 64, .v_head_dim = 128, .q_lora_rank = 1536},
    {.name = "deepseek-ai/DeepSeek-V3.2", .layers = 61, .hidden = 7168, .q_heads = 128,
     .kv_heads = 1, .head_dim = 0, .intermediate = 18432, .vocab = 129280, .max_position = 163840,
     .kv_elements_per_token_layer = 576, .kv_layers = 61, .params_total = 671025397760,
     .weight_bytes = 671025397760, .weight_type = "fp8", .experts = 256, .experts_per_token = 8,
     .expert_intermediate = 2048, .shared_experts = 1, .first_dense_layers = 3, .kv_lora_rank = 512,
     .qk_nope_dim = 128, .qk_rope_dim = 64, .v_head_dim = 128, .q_lora_rank = 1536,
     .note = "keeps one FP8 indexer key of 128 per token and layer besides, not counted here"},
    {.name = "moonshotai/Kimi-K2-Instruct", .layers = 61, .hidden = 7168, .q_heads = 64,
     .kv_heads = 1, .head_dim = 0, .intermediate = 18432, .vocab = 163840, .max_position = 131072,
     .kv_elements_per_token_layer = 576, .kv_layers = 61, .params_total = 1026407202816,
     .weight_bytes = 1026407202816, .weight_type = "fp8", .experts = 384, .experts_per_token = 8,
     .expert_intermediate = 2048, .shared_experts = 1, .first_dense_layers = 1, .kv_lora_rank = 512,
     .qk_nope_dim = 128, .qk_rope_dim = 64, .v_head_dim = 128, .q_lora_rank = 1536},
    {.name = "openai/gpt-oss-20b", .layers = 24, .hidden = 2880, .q_heads = 64, .kv_heads = 8,
     .head_dim = 64, .intermediate = 2880, .vocab = 201088, .max_position = 131072,
     .kv_elements_per_token_layer = 1024, .kv_layers = 24, .sliding_layers = 12, .window = 128,
     .params_total = 20907786240, .weight_bytes = 13743895347, .weight_type = "mxfp4",
     .experts = 32, .experts_per_token = 4, .expert_intermediate = 2880, .shared_experts = 0,
     .first_dense_layers = 0,
     .note = kSlidingNote},
    {.name = "openai/gpt-oss-120b", .layers = 36, .hidden = 2880, .q_heads = 64, .kv_heads = 8,
     .head_dim = 64, .intermediate = 2880, .vocab = 201088, .max_position = 131072,
     .kv_elements_per_token_layer = 1024, .kv_layers = 36, .sliding_layers = 18, .window = 128,
     .params_total = 116788838400, .weight_bytes = 65283502899, .weight_type = "mxfp4",
     .experts = 128, .experts_per_token = 4, .expert_intermediate = 2880, .shared_experts = 0,
     .first_dense_layers = 0,
     .note = kSlidingNote},
    {.name = "mistralai/Mixtral-8x7B-v0.1", .layers = 32, .hidden = 4096, .q_heads = 32,
     .kv_heads = 8, .head_dim = 128, .intermediate = 14336, .vocab = 32000, .max_position = 32768,
     .kv_elements_per_token_layer = 2048, .kv_layers = 32, .params_total = 46702526464,
     .weight_bytes = 93405052928, .experts = 8, .experts_per_token = 2,
     .expert_intermediate = 14336, .shared_experts = 0, .first_dense_layers = 0},
    {.name = "mistralai/Mixtral-8x22B-v0.1", .layers = 56, .hidden = 6144, .q_heads = 48,
     .kv_heads = 8, .head_dim = 128, .intermediate = 16384, .vocab = 32000, .max_position = 65536,
     .kv_elements_per_token_layer = 2048, .kv_layers = 56, .params_total = 140619939840,
     .weight_bytes = 281239879680, .experts = 8, .experts_per_token = 2,
     .expert_intermediate = 16384, .shared_experts = 0, .first_dense_layers = 0},
    {.name = "MiniMaxAI/MiniMax-M2.5", .layers = 62, .hidden = 3072, .q_heads = 48, .kv_heads = 8,
     .head_dim = 128, .intermediate = 1536, .vocab = 200064, .max_position = 196608,
     .kv_elements_per_token_layer = 2048, .kv_layers = 62, .params_total = 228688920576,
     .weight_bytes = 228688920576, .weight_type = "fp8", .experts = 256, .experts_per_token = 8,
     .expert_intermediate = 1536, .shared_experts = 0, .first_dense_layers = 0, .qk_norm = true},
    {.name = "Qwen/Qwen3.5-27B", .layers = 64, .hidden = 5120, .q_heads = 24, .kv_heads = 4,
     .head_dim = 256, .intermediate = 17408, .vocab = 248320, .max_position = 262144,
     .kv_elements_per_token_layer = 2048, .kv_layers = 16, .params_total = 24353177600,
     .weight_bytes = 48706355200, .qk_norm = true,
     .note = "only the 16 full-attention layers keep KV per token"},
    {.name = "Qwen/Qwen2.5-7B-Instruct", .layers = 28, .hidden = 3584, .q_heads = 28, .kv_heads = 4,
     .head_dim = 128, .intermediate = 18944, .vocab = 152064, .max_position = 32768,
     .kv_elements_per_token_layer = 1024, .kv_layers = 28, .params_total = 7615283200,
     .weight_bytes = 15230566400},
    {.name = "mistralai/Mistral-Nemo-Instruct-2407", .layers = 40, .hidden = 5120, .q_heads = 32,
     .kv_heads = 8, .head_dim = 128, .intermediate = 14336, .vocab = 131072, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 40, .params_total = 12247367680,
     .weight_bytes = 24494735360},
    {.name = "meta-llama/Llama-2-7b-hf", .layers = 32, .hidden = 4096, .q_heads = 32,
     .kv_heads = 32, .head_dim = 128, .intermediate = 11008, .vocab = 32000, .max_position = 4096,
     .kv_elements_per_token_layer = 8192, .kv_layers = 32, .params_total = 6738149376,
     .weight_bytes = 13476298752},
    {.name = "Qwen/Qwen3-14B", .layers = 40, .hidden = 5120, .q_heads = 40, .kv_heads = 8,
     .head_dim = 128, .intermediate = 17408, .vocab = 151936, .max_position = 40960,
     .kv_elements_per_token_layer = 2048, .kv_layers = 40, .params_total = 14767882240,
     .weight_bytes = 29535764480, .qk_norm = true},
    {.name = "Qwen/Qwen2.5-72B-Instruct", .layers = 80, .hidden = 8192, .q_heads = 64,
     .kv_heads = 8, .head_dim = 128, .intermediate = 29568, .vocab = 152064, .max_position = 32768,
     .kv_elements_per_token_layer = 2048, .kv_layers = 80, .params_total = 72704065536,
     .weight_bytes = 145408131072},
    {.name = "Qwen/Qwen2.5-32B-Instruct", .layers = 64, .hidden = 5120, .q_heads = 40,
     .kv_heads = 8, .head_dim = 128, .intermediate = 27648, .vocab = 152064, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 64, .params_total = 32762757120,
     .weight_bytes = 65525514240},
    {.name = "mistralai/Mistral-7B-v0.3", .layers = 32, .hidden = 4096, .q_heads = 32,
     .kv_heads = 8, .head_dim = 128, .intermediate = 14336, .vocab = 32768, .max_position = 32768,
     .kv_elements_per_token_layer = 2048, .kv_layers = 32, .params_total = 7247757312,
     .weight_bytes = 14495514624},
    {.name = "google/gemma-3-4b-it", .layers = 34, .hidden = 2560, .q_heads = 8, .kv_heads = 4,
     .head_dim = 256, .intermediate = 10240, .vocab = 262208, .max_position = 131072,
     .kv_elements_per_token_layer = 2048, .kv_layers = 34, .sliding_layers = 29, .window = 1024,
     .params_total = 3879895040, .weight_bytes = 7759790080, .norms = 4, .qk_norm = true,
     .note = kSlidingNote},
    {.name = "google/gemma-3-1b-it", .layers = 26, .hidden = 1152, .q_heads = 4, .kv_heads = 1,
     .head_dim = 256, .intermediate = 6912, .vocab = 262144, .max_position = 32768,
     .kv_elements_per_token_layer = 512, .kv_layers = 26, .sliding_layers = 22, .window = 512,
     .params_total = 999751680, .weight_bytes = 1999503360, .norms = 4, .qk_norm = true,
     .note = kSlidingNote},
    {.name = "google/gemma-3-27b-it", .layers = 62, .hidden = 5376, .q_heads = 32, .kv_heads = 16,
     .head_dim = 128, .intermediate = 21504, .vocab = 262208, .max_position = 131072,
     .kv_elements_per_token_layer = 4096, .kv_layers = 62, .sliding_layers = 52, .window = 1024,
     .params_total = 27007991808, .weight_bytes = 54015983616, .norms = 4, .qk_norm = true,
     .note = "entry from memory of the published configuration, unverified"},
    {.name = "meta-llama/Llama-3.2-1B", .layers = 16, .hidden = 2048, .q_heads = 32, .kv_heads = 8,
     .head_dim = 64, .intermediate = 8192, .vocab = 128256, .max_position = 131072,
     .kv_elements_per_token_layer = 1024, .kv_layers = 16, .params_total = 1235814400,
     .weight_bytes = 2471628800},
    {.name = "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", .layers = 64, .hidden = 5120,
     .q_heads = 40, .kv_heads = 8, .head_dim = 128, .intermediate = 27648, .vocab = 152064,
     .max_position = 131072, .kv_elements_per_token_layer = 2048, .kv_layers = 64,
     .params_total = 32762757120, .weight_bytes = 65525514240},
};
// clang-format on

constexpr Alias kModelAliases[] = {
    {"llama3.1-8b", "meta-llama/Meta-Llama-3.1-8B"},
    {"llama3.1-70b", "meta-llama/Meta-Llama-3.1-70B"},
    {"llama-3.3-70b", "meta-llama/Meta-Llama-3.1-70B"},
    {"llama3.1-405b", "meta-llama/Meta-Llama-3.1-405B"},
    {"llama-3.1-8b-instruct", "meta-llama/Meta-Llama-3.1-8B"},
    {"llama-3.1-70b-instruct", "meta-llama/Meta-Llama-3.1-70B"},
    {"llama-3.1-405b-instruct", "meta-llama/Meta-Llama-3.1-405B"},
    {"meta-llama-3.1-8b-instruct", "meta-llama/Meta-Llama-3.1-8B"},
    {"meta-llama-3.1-70b-instruct", "meta-llama/Meta-Llama-3.1-70B"},
    {"meta-llama-3.1-405b-instruct", "meta-llama/Meta-Llama-3.1-405B"},
    {"llama-3.3-70b-instruct", "meta-llama/Meta-Llama-3.1-70B"},
    {"llama-2-7b", "meta-llama/Llama-2-7b-hf"},
    {"mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"},
    {"mixtral-8x22b", "mistralai/Mixtral-8x22B-v0.1"},
    {"mistral-7b", "mistralai/Mistral-7B-v0.3"},
    {"mistral-nemo", "mistralai/Mistral-Nemo-Instruct-2407"},
    {"qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct"},
    {"qwen2.5-32b", "Qwen/Qwen2.5-32B-Instruct"},
    {"qwen2.5-72b", "Qwen/Qwen2.5-72B-Instruct"},
    {"kimi-k2", "moonshotai/Kimi-K2-Instruct"},
    {"gemma-3-1b", "google/gemma-3-1b-it"},
    {"gemma-3-4b", "google/gemma-3-4b-it"},
    {"gemma-3-27b", "google/gemma-3-27b-it"},
};

}  // namespace

std::span<const ModelSpec> model_specs() {
  return kModels;
}

std::string_view model_specs_source() {
  return "published model configurations (ai-dynamo/aiconfigurator@095f58a51c4c: model_configs)";
}

const ModelSpec* known_model_spec(std::string_view name) {
  return only_by_suffix<ModelSpec>(kModels, kModelAliases, name);
}

bool ambiguous_model(std::string_view name) {
  return rows_meant<ModelSpec>(kModels, kModelAliases, name).size() > 1;
}

std::vector<Alias> model_labels() {
  std::vector<Alias> out(std::begin(kModelAliases), std::end(kModelAliases));
  for (const ModelSpec& model : kModels) out.push_back({model.name, model.name});
  return out;
}

const ModelSpec& find_model(std::string_view name, const SourceRef& where) {
  if (rows_meant<ModelSpec>(kModels, kModelAliases, name).empty()) {
    throw InputError(Fault::kUsage, where, unknown_model(name, model_labels()));
  }
  return find_by_suffix<ModelSpec>(kModels, kModelAliases, "model", name, where);
}

}  // namespace spillway

#include "scenarios/fidelity/fit/read_kernel_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "scenarios/fidelity/fit/table_readers.hpp"
#include "sim/error.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostRows = 20'000'000;

struct KindRow {
  KernelTableKind kind;
  std::array<std::string_view, 2> columns;  ///< that together tell it from all others
  void (*read)(const TableInput&);
};

constexpr KindRow kKinds[] = {
    {KernelTableKind::kOperations, {"num_tensor_parallel_workers", "num_tokens"}, read_operations},
    {KernelTableKind::kContext, {"num_key_value_heads", "isl"}, read_attention_context},
    {KernelTableKind::kGeneration, {"num_key_value_heads", "ctx"}, read_attention_generation},
    {KernelTableKind::kLayerSkew, {"t_mean_us", "t_skew_us"}, read_layer_skew},
    {KernelTableKind::kLayerAttention, {"prefill_chunk", "kv_prefill"}, read_layer_attention},
    {KernelTableKind::kLayerAttention, {"n_decode", "kv_decode"}, read_layer_attention},
    {KernelTableKind::kLayerExperts, {"tokens", "activated_experts"}, read_layer_experts},
    {KernelTableKind::kLayerSequence, {"layer", "sequences"}, read_layer_sequence},
    {KernelTableKind::kLayerDense, {"layer", "tokens"}, read_layer_dense},
    {KernelTableKind::kLayerDense, {"layer", "time_us"}, read_layer_dense},
    {KernelTableKind::kGemm, {"m", "n"}, read_gemm},
    {KernelTableKind::kGemm, {"m", "k"}, read_gemm},
    {KernelTableKind::kGemm, {"n", "k"}, read_gemm},
};

const KindRow* find_kind(std::string_view header) {
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);
  if (header.empty() || header.front() == '{' || header.front() == '[') return nullptr;
  const auto has = [&](std::string_view column) {
    for (std::size_t at = 0; at <= header.size();) {
      const std::size_t end = std::min(header.find(',', at), header.size());
      std::string_view cell = header.substr(at, end - at);
      if (cell.size() > 1 && cell.front() == '"') cell = cell.substr(1, cell.size() - 2);
      if (cell == column) return true;
      at = end + 1;
    }
    return false;
  };
  for (const KindRow& row : kKinds) {
    if (has(row.columns[0]) && has(row.columns[1])) return &row;
  }
  return nullptr;
}

std::string header_of(const std::string& path) {
  LineReader lines(path, open_bytes(path));
  std::string_view header;
  return lines.next(header) ? std::string(header) : std::string();
}

/// "..._tp2_..." in a file's name.
std::optional<std::uint32_t> ranks_in_name(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  for (std::size_t at = name.find("_tp"); at != std::string::npos; at = name.find("_tp", at + 1)) {
    std::uint32_t ranks = 0;
    const char* first = name.data() + at + 3;
    const auto [end, status] = std::from_chars(first, name.data() + name.size(), ranks);
    if (status == std::errc() && ranks >= 1 && (*end == '_' || *end == '.' || *end == '\0')) {
      return ranks;
    }
  }
  return std::nullopt;
}

std::size_t rows_of(const KernelTables& tables) {
  std::size_t rows = tables.elementwise.size() + tables.sampler.size() + tables.skew.size();
  for (const auto& [type, products] : tables.products) rows += products.size();
  for (const auto& [type, experts] : tables.experts) rows += experts.size();
  for (const auto& [type, set] : tables.attention) {
    rows += set.prefill.size() + set.decode.size() + set.mixed.size();
  }
  return rows;
}

/// Sums the operations of one layer, at the token counts that all of them have.
void add_operations(KernelTables& tables, LayerOperations& operations) {
  struct Sum {
    double us = 0;
    std::size_t parts = 0;
    RowSource from{};
  };
  std::map<double, Sum> sums;
  for (auto& [name, operation] : operations.by_name) {
    merge_repeats(tables, name, operation.rows);
    for (const CountRow& row : operation.rows) {
      Sum& sum = sums[row.count];
      if (sum.parts++ == 0) sum.from = row.from;
      sum.us += operation.times * row.us;
    }
  }
  std::size_t partial = 0;
  for (const auto& [tokens, sum] : sums) {
    if (sum.parts == operations.by_name.size()) {
      tables.elementwise.push_back({tokens, sum.us, sum.from});
    } else {
      ++partial;
    }
  }
  if (partial > 0) {
    tables.notes.push_back(
        fmt::format("left out {} token counts at which some element-wise "
                    "operation was not measured",
                    partial));
  }
}

void merge_all(KernelTables& tables) {
  for (auto& [type, rows] : tables.products) merge_repeats(tables, "products " + type, rows);
  for (auto& [key, set] : tables.attention) {
    const std::string of = fmt::format(" of {} caches, heads of {}", key.first, key.second);
    merge_repeats(tables, "prefill attention" + of, set.prefill);
    merge_repeats(tables, "decode attention" + of, set.decode);
    merge_repeats(tables, "mixed attention" + of, set.mixed);
  }
  for (auto& [type, rows] : tables.experts) merge_repeats(tables, "experts " + type, rows);
  merge_repeats(tables, "sampler", tables.sampler);
}

}  // namespace

const ModelSpec& TableInput::model() const {
  if (options->model != nullptr) return *options->model;
  throw InputError(Fault::kUsage, {path, 0, ""},
                   "holds times of one model's layer, not of shapes; expected --model NAME");
}

std::unique_ptr<LineReader> TableInput::open() const {
  return std::make_unique<LineReader>(path, open_bytes(path));
}

std::optional<KernelTableKind> kernel_table_kind(std::string_view header) {
  const KindRow* row = find_kind(header);
  return row == nullptr ? std::nullopt : std::optional(row->kind);
}

std::optional<KernelTableKind> kernel_table_kind_of(const std::string& path) {
  return kernel_table_kind(header_of(path));
}

KernelTables read_kernel_tables(const std::vector<std::string>& files,
                                const KernelTableOptions& options) {
  KV_ASSERT(options.gpu != nullptr, "kernel tables of no GPU");
  KernelTables out;
  out.gpu = options.gpu;
  out.files = files;
  LayerOperations operations;
  std::optional<std::uint32_t> ranks = options.tensor_parallel;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const KindRow* kind = find_kind(header_of(files[i]));
    if (kind == nullptr) {
      throw InputError(Fault::kTrace, {files[i], 1, "header"},
                       "expected the columns of a kernel table: dtype,m,n,k,latency_ms; "
                       "batch_size,isl (or ctx),num_heads,...,latency_ms; layer,tokens (or "
                       "sequences),time_us; tokens,activated_experts,time_us; "
                       "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us; or "
                       "num_tensor_parallel_workers,num_tokens,...");
    }
    const bool of_layer = kind->kind >= KernelTableKind::kLayerDense;
    const auto named = of_layer ? ranks_in_name(files[i]) : std::nullopt;
    if (named && ranks && *named != *ranks) {
      throw InputError(Fault::kUsage, {files[i], 0, ""},
                       fmt::format("is named as measured on {} ranks, other tables or --tp say {}; "
                                   "expected tables of one number of ranks",
                                   *named, *ranks));
    }
    if (named) ranks = named;
    TableInput in = {files[i], i, &options, ranks.value_or(1), &out, &operations};
    try {
      kind->read(in);
    } catch (const RowError& error) {  // which advises to check a trace
      throw InputError(error.fault(), error.where(), error.message());
    }
    if (of_layer) out.model = options.model;
    if (rows_of(out) > kMostRows) {
      throw InputError(Fault::kTrace, {files[i], 0, ""},
                       fmt::format("expected at most {} rows in all tables", kMostRows));
    }
  }
  out.tensor_parallel = ranks.value_or(1);
  add_operations(out, operations);
  merge_all(out);
  return out;
}

}  // namespace spillway

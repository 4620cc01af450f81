// Tables of kernels over many shapes: aiconfigurator's products and attention.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "models/compute/kernel_forms.hpp"
#include "scenarios/fidelity/fit/table_readers.hpp"

namespace spillway {

namespace {

/// The column called `first`, or `second` as other releases call it.
std::size_t either(const CsvTable& table, std::span<const CsvColumn> columns, std::size_t first,
                   std::size_t second) {
  if (table.has(first)) return first;
  if (table.has(second)) return second;
  throw InputError(Fault::kTrace, {table.path(), 1, "header"},
                   fmt::format("missing column \"{}\"", columns[first].name));
}

/// What was left out on purpose, said once.
class LeftOut {
 public:
  void type(std::string_view name) {
    ++types_;
    names_.insert(std::string(name));
  }
  void window() { ++windows_; }
  void note(const TableInput& in, const char* what) const {
    if (types_ > 0) {
      in.out->notes.push_back(
          fmt::format("{}: left out {} rows of {} types that no step model "
                      "knows: {}",
                      in.path, types_, what, fmt::join(names_, ", ")));
    }
    if (windows_ > 0) {
      in.out->notes.push_back(
          fmt::format("{}: left out {} rows of sliding-window attention; step times charge every "
                      "layer the whole context",
                      in.path, windows_));
    }
  }

 private:
  std::size_t types_ = 0;
  std::size_t windows_ = 0;
  std::set<std::string> names_;
};

struct HeadShape {
  double q_heads;
  double kv_heads;
  std::uint32_t width;
  std::string kv_type;
};

double type_bytes(const std::string& type) {
  return type == "fp8" ? 1 : 2;
}

enum : std::size_t {
  kBatch,
  kTokenCount,
  kHeads,
  kKvHeads,
  kWidth,
  kKvType,
  kWindow,
  kTime,
  kTimeRaw
};

constexpr CsvColumn attention_columns(std::size_t at, std::string_view tokens) {
  const CsvColumn columns[] = {
      {"batch_size"},    {tokens},           {"num_heads"},          {"num_key_value_heads"},
      {"head_dim"},      {"kv_cache_dtype"}, {"window_size", false}, {"latency_ms", false},
      {"latency", false}};
  return columns[at];
}
constexpr std::array<CsvColumn, 9> attention_table(std::string_view tokens) {
  std::array<CsvColumn, 9> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = attention_columns(i, tokens);
  return out;
}
constexpr auto kContextColumns = attention_table("isl");
constexpr auto kGenerationColumns = attention_table("ctx");

/// Calls `row(sequences, tokens, heads, us)` for each line of full attention.
template <class Row>
void read_attention(const TableInput& in, std::span<const CsvColumn> columns, Row&& row) {
  CsvTable table(in.open(), columns, OtherColumns::kIgnore);
  const std::size_t time = either(table, columns, kTime, kTimeRaw);
  LeftOut left_out;
  while (table.next()) {
    const double us = table_time(table, time, kTableMilliseconds);
    HeadShape heads;
    heads.q_heads = table_number(table, kHeads, 1);
    heads.kv_heads = table_number(table, kKvHeads, 1);
    heads.width = static_cast<std::uint32_t>(table.whole(kWidth, 1, 4096));
    heads.kv_type = plain_type(table.cell(kKvType));
    const double sequences = table_number(table, kBatch, 1);
    const double tokens = table_number(table, kTokenCount, 1);
    if (table.has(kWindow) && table_number(table, kWindow, 0) > 0) {
      left_out.window();
    } else if (heads.kv_type.empty()) {
      left_out.type(table.cell(kKvType));
    } else {
      row(table.line(), sequences, tokens, heads, us);
    }
  }
  left_out.note(in, "KV cache");
  for (std::string& note : table.notes()) in.out->notes.push_back(std::move(note));
}

bool wanted(const TableInput& in, const std::string& type) {
  const std::vector<std::string>& types = in.options->weights;
  return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
}

/// FP8 keys may be multiplied at the FP8 rate.
double attention_flops(const GpuSpec& gpu, const std::string& kv_type) {
  return product_peaks(gpu, kv_type == "fp8").flops;
}

}  // namespace

std::string plain_type(std::string_view name) {
  if (name == "bfloat16" || name == "bf16" || name == "float16" || name == "fp16") return "bf16";
  if (name == "fp8" || name == "fp8_e4m3" || name == "fp8_block" || name == "float8") return "fp8";
  return "";
}

void read_gemm(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {
      {"dtype", false},  {"m"}, {"n"}, {"k"}, {"latency_ms", false}, {"gemm_dtype", false},
      {"latency", false}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  const std::size_t type = either(table, kColumns, 0, 5);
  const std::size_t time = either(table, kColumns, 4, 6);
  RowGate gate(in.path, *in.options->gpu, kTableMilliseconds);
  LeftOut left_out;
  while (table.next()) {
    ProductRow row;
    row.rows = table_number(table, 1, 1);
    row.outputs = table_number(table, 2, 1);
    row.inputs = table_number(table, 3, 1);
    row.us = table_time(table, time, kTableMilliseconds);
    row.from = in.at(table.line());
    const std::string name = plain_type(table.cell(type));
    if (name.empty()) {
      left_out.type(table.cell(type));
      continue;
    }
    if (!wanted(in, name)) continue;
    const KernelWork work = {2 * row.rows * row.inputs * row.outputs,
                             row.inputs * row.outputs * type_bytes(name) +
                                 row.rows * (row.inputs + row.outputs) * kActivationBytes};
    gate.add(table.line(), row.us, work, product_peaks(*in.options->gpu, name == "fp8").flops,
             [rows = &in.out->products[name], row] { rows->push_back(row); });
  }
  left_out.note(in, "weight");
  for (std::string& note : table.notes()) in.out->notes.push_back(std::move(note));
  gate.finish(in.out->notes);
}

void read_attention_context(const TableInput& in) {
  RowGate gate(in.path, *in.options->gpu, kTableMilliseconds);
  read_attention(
      in, kContextColumns,
      [&](std::int64_t line, double sequences, double tokens, const HeadShape& heads, double us) {
        const PrefillRow row = {sequences,      tokens, 0,          heads.q_heads,
                                heads.kv_heads, us,     in.at(line)};
        const double width = heads.width;
        const KernelWork work = {2 * sequences * heads.q_heads * width * tokens * tokens,
                                 sequences * tokens * 2 * (heads.q_heads + heads.kv_heads) * width *
                                     type_bytes(heads.kv_type)};
        auto* rows = &in.out->attention[{heads.kv_type, heads.width}].prefill;
        gate.add(line, us, work, attention_flops(*in.options->gpu, heads.kv_type),
                 [rows, row] { rows->push_back(row); });
      });
  gate.finish(in.out->notes);
}

void read_attention_generation(const TableInput& in) {
  RowGate gate(in.path, *in.options->gpu, kTableMilliseconds);
  read_attention(
      in, kGenerationColumns,
      [&](std::int64_t line, double sequences, double cached, const HeadShape& heads, double us) {
        const DecodeRow row = {sequences,      cached + 1, heads.q_heads,
                               heads.kv_heads, us,         in.at(line)};
        const double width = heads.width;
        const KernelWork work = {
            4 * sequences * heads.q_heads * width * row.held,
            sequences * row.held * 2 * heads.kv_heads * width * type_bytes(heads.kv_type)};
        auto* rows = &in.out->attention[{heads.kv_type, heads.width}].decode;
        gate.add(line, us, work, attention_flops(*in.options->gpu, heads.kv_type),
                 [rows, row] { rows->push_back(row); });
      });
  gate.finish(in.out->notes);
}

}  // namespace spillway

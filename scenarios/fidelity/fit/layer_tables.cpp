// Tables of one model's layer: LLMServingSim's profiles, Vidur's operations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "models/compute/kernel_choice.hpp"
#include "models/compute/kernel_forms.hpp"
#include "scenarios/fidelity/fit/table_readers.hpp"

namespace spillway {

namespace {

constexpr double kMib = 1 << 20;

/// Times that an element-wise operation runs in one layer; 0: once a step.
struct ElementwiseName {
  std::string_view name;
  double times;
};
constexpr ElementwiseName kLayerElementwise[] = {
    {"layernorm", 2}, {"rotary_emb", 1}, {"qk_norm", 1},
    {"act_fn", 1},    {"embedding", 0},  {"final_layernorm", 0}};
constexpr ElementwiseName kOperationElementwise[] = {{"input_layernorm", 1},
                                                     {"post_attention_layernorm", 1},
                                                     {"attn_rope", 1},
                                                     {"mlp_act", 1},
                                                     {"add", 1},
                                                     {"emb", 0}};

/// Whole-layer tables do not name a type: the model's published weights do.
std::string weight_type(const ModelSpec& model, const GpuSpec& gpu) {
  return product_units(gpu, published_format(model), model.is_moe()).fp8 ? "fp8" : "bf16";
}

class LayerTable {
 public:
  LayerTable(const TableInput& in, const TimeUnit& unit)
      : in_(in), model_(in.model()), gate_(in.path, *in.options->gpu, unit) {
    if (model_.is_mla()) {
      throw InputError(Fault::kUsage, {"--model", 0, ""},
                       fmt::format("{} has latent attention, whose layer these tables do not "
                                   "describe; expected a model with query, key and value heads",
                                   model_.name));
    }
  }

  void product(std::int64_t line, double rows, const std::pair<double, double>& shape, double us) {
    const std::string type = weight_type(model_, *in_.options->gpu);
    const ProductRow row = {rows, shape.first, shape.second, us, in_.at(line)};
    const double bytes = type == "fp8" ? 1 : 2;
    const KernelWork work = {
        2 * rows * row.inputs * row.outputs,
        row.inputs * row.outputs * bytes + rows * (row.inputs + row.outputs) * kActivationBytes};
    gate_.add(line, us, work, product_peaks(*in_.options->gpu, type == "fp8").flops,
              [rows_of = &in_.out->products[type], row] { rows_of->push_back(row); });
  }

  /// Each reads and writes a hidden state of every token, at least.
  void elementwise(std::int64_t line, double tokens, const ElementwiseName& of, double us) {
    LayerOperations::Operation& operation = in_.operations->by_name[std::string(of.name)];
    operation.times = of.times > 0 ? of.times : 1.0 / model_.layers;
    const KernelWork work = {0, tokens * model_.hidden * kActivationBytes / in_.tensor_parallel};
    const CountRow row = {tokens, us, in_.at(line)};
    gate_.add(line, us, work, 1, [rows = &operation.rows, row] { rows->push_back(row); });
  }

  /// Leaves out, counted, experts that a benchmark finds in the cache: a model has many layers, so
  /// that serving reads each one's from memory.
  void experts(std::int64_t line, double tokens, double activated, double us) {
    const std::string type = weight_type(model_, *in_.options->gpu);
    const double width = double(model_.expert_intermediate) / in_.tensor_parallel;
    constexpr double kMatrices = 3;  // gate, up and down
    const double weights = kMatrices * model_.hidden * width;
    const double bytes = activated * weights * (type == "fp8" ? 1 : 2);
    if (bytes <= in_.options->gpu->l2_mib * kMib) {
      ++cached_;
      return;
    }
    const ExpertRow row = {tokens * model_.experts_per_token,
                           activated,
                           double(model_.hidden),
                           width,
                           us,
                           in_.at(line)};
    gate_.add(line, us, {2 * row.rows * weights, bytes},
              product_peaks(*in_.options->gpu, type == "fp8").flops,
              [rows = &in_.out->experts[type], row] { rows->push_back(row); });
  }
  std::size_t cached() const { return cached_; }

  template <class Row>
  void attention(std::int64_t line, const KernelWork& work, const Row& row,
                 std::vector<Row>& rows) {
    gate_.add(line, row.us, work, in_.options->gpu->bf16_tflops * 1e12,
              [rows = &rows, row] { rows->push_back(row); });
  }

  RowGate& gate() { return gate_; }
  const ModelSpec& model() const { return model_; }

 private:
  const TableInput& in_;
  const ModelSpec& model_;
  RowGate gate_;
  std::size_t cached_ = 0;
};

constexpr double kKvBytes = 2;  // whole-layer tables were measured with BF16 caches

double decode_bytes(const LayerShapes& shapes, const ModelSpec& model, double tokens) {
  return tokens * 2 * shapes.kv_heads * model.head_dim * kKvBytes;
}

double prefill_flops(const LayerShapes& shapes, const ModelSpec& model, double tokens,
                     double cached) {
  return 4 * shapes.q_heads * model.head_dim * tokens * (cached + tokens / 2);
}

void finish(const TableInput& in, const CsvTable& table, LayerTable& rows,
            const std::set<std::string>& unknown) {
  if (!unknown.empty()) {
    in.out->notes.push_back(fmt::format("{}: left out layers that no step model knows: {}", in.path,
                                        fmt::join(unknown, ", ")));
  }
  for (std::string& note : table.notes()) in.out->notes.push_back(std::move(note));
  rows.gate().finish(in.out->notes);
}

}  // namespace

void read_layer_dense(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {{"layer"}, {"tokens"}, {"time_us"}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMicroseconds);
  const LayerShapes shapes = layer_shapes(rows.model(), in.tensor_parallel);
  const std::pair<std::string_view, std::pair<double, double>> products[] = {
      {"qkv_proj", shapes.qkv},
      {"o_proj", shapes.output},
      {"gate_up_proj", shapes.up},
      {"down_proj", shapes.down}};
  std::set<std::string> unknown;
  while (table.next()) {
    const std::string_view layer = table.cell(0);
    const double tokens = table_number(table, 1, 1);
    const double us = table_time(table, 2, kTableMicroseconds);
    const auto product = std::find_if(std::begin(products), std::end(products),
                                      [&](const auto& p) { return p.first == layer; });
    const auto other =
        std::find_if(std::begin(kLayerElementwise), std::end(kLayerElementwise),
                     [&](const ElementwiseName& name) { return name.name == layer; });
    if (product != std::end(products)) {
      rows.product(table.line(), tokens, product->second, us);
    } else if (other != std::end(kLayerElementwise)) {
      rows.elementwise(table.line(), tokens, *other, us);
    } else {
      unknown.insert(std::string(layer));
    }
  }
  finish(in, table, rows, unknown);
}

void read_layer_sequence(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {{"layer"}, {"sequences"}, {"time_us"}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMicroseconds);
  const LayerShapes shapes = layer_shapes(rows.model(), in.tensor_parallel);
  std::set<std::string> unknown;
  while (table.next()) {
    const std::string_view layer = table.cell(0);
    const double sequences = table_number(table, 1, 1);
    const double us = table_time(table, 2, kTableMicroseconds);
    if (layer == "lm_head") {
      rows.product(table.line(), sequences, shapes.head, us);
    } else if (layer == "sampler") {
      const CountRow row = {sequences, us, in.at(table.line())};
      // Each pass reads the logits; a sampler makes a few.
      rows.attention(table.line(), {0, sequences * rows.model().vocab * 4.0}, row, in.out->sampler);
    } else {
      unknown.insert(std::string(layer));
    }
  }
  finish(in, table, rows, unknown);
}

void read_layer_attention(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {
      {"prefill_chunk"}, {"kv_prefill"}, {"n_decode"}, {"kv_decode"}, {"time_us"}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMicroseconds);
  const ModelSpec& model = rows.model();
  const LayerShapes shapes = layer_shapes(model, in.tensor_parallel);
  const double q = shapes.q_heads;
  const double kv = shapes.kv_heads;
  AttentionRows& out = in.out->attention[{"bf16", static_cast<std::uint32_t>(model.head_dim)}];
  while (table.next()) {
    const double tokens = table_number(table, 0, 0);
    const double cached = table_number(table, 1, 0);
    const double decodes = table_number(table, 2, 0);
    const double held = table_number(table, 3, 0) + 1;
    const double us = table_time(table, 4, kTableMicroseconds);
    const RowSource from = in.at(table.line());
    if (tokens == 0 && decodes == 0) {
      table.fail(0, "expected a prefill chunk or decodes, found neither");
    }
    const KernelWork work = {prefill_flops(shapes, model, tokens, cached),
                             decode_bytes(shapes, model, decodes * held + cached)};
    if (decodes == 0) {
      rows.attention<PrefillRow>(table.line(), work, {1, tokens, cached, q, kv, us, from},
                                 out.prefill);
    } else if (tokens == 0) {
      rows.attention<DecodeRow>(table.line(), work, {decodes, held, q, kv, us, from}, out.decode);
    } else {
      rows.attention<MixedRow>(table.line(), work, {tokens, cached, decodes, held, q, kv, us, from},
                               out.mixed);
    }
  }
  finish(in, table, rows, {});
}

void read_layer_skew(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {{"n"},       {"pc"},        {"kp"},
                                           {"kv_mean"}, {"t_mean_us"}, {"t_skew_us"}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMicroseconds);
  const LayerShapes shapes = layer_shapes(rows.model(), in.tensor_parallel);
  while (table.next()) {
    const double sequences = table_number(table, 0, 1);
    const double tokens = table_number(table, 1, 0);
    const double cached = table_number(table, 2, 0);
    const double held = table_number(table, 3, 0) + 1;
    SkewRow row;
    row.mean_us = table_time(table, 4, kTableMicroseconds);
    row.skewed_us = table_time(table, 5, kTableMicroseconds);
    row.mixed = tokens > 0;
    row.from = in.at(table.line());
    const KernelWork work = {
        prefill_flops(shapes, rows.model(), tokens, cached),
        decode_bytes(shapes, rows.model(), sequences * held + (tokens > 0 ? cached : 0))};
    rows.gate().add(table.line(), row.skewed_us, work, in.options->gpu->bf16_tflops * 1e12,
                    [out = &in.out->skew, row] { out->push_back(row); });
  }
  rows.gate().finish(in.out->notes);
}

void read_layer_experts(const TableInput& in) {
  static constexpr CsvColumn kColumns[] = {{"tokens"}, {"activated_experts"}, {"time_us"}};
  CsvTable table(in.open(), kColumns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMicroseconds);
  const ModelSpec& model = rows.model();
  if (!model.is_moe()) {
    throw InputError(Fault::kUsage, {"--model", 0, ""},
                     fmt::format("{} has no experts, whose times {} holds; expected a mixture of "
                                 "experts",
                                 model.name, in.path));
  }
  while (table.next()) {
    const double tokens = table_number(table, 0, 1);
    const auto experts = static_cast<std::uint64_t>(model.experts);
    const auto activated = static_cast<double>(table.whole(1, 1, experts));
    rows.experts(table.line(), tokens, activated, table_time(table, 2, kTableMicroseconds));
  }
  if (rows.cached() > 0) {
    in.out->notes.push_back(
        fmt::format("{}: left out {} rows whose experts fit the L2 cache of {:.0f} MiB; serving "
                    "reads them from memory",
                    in.path, rows.cached(), in.options->gpu->l2_mib));
  }
  finish(in, table, rows, {});
}

void read_operations(const TableInput& in) {
  struct Operation {
    std::string_view name;
    std::pair<double, double> LayerShapes::*product;  ///< null: element-wise
    const ElementwiseName* elementwise;
  };
  std::vector<Operation> operations = {{"attn_pre_proj", &LayerShapes::qkv, nullptr},
                                       {"attn_post_proj", &LayerShapes::output, nullptr},
                                       {"mlp_up_proj", &LayerShapes::up, nullptr},
                                       {"mlp_down_proj", &LayerShapes::down, nullptr}};
  for (const ElementwiseName& name : kOperationElementwise) {
    operations.push_back({name.name, nullptr, &name});
  }
  // Published reductions call a median "mlp_act_ms", the original "time_stats.mlp_act.median".
  std::vector<std::string> names;
  for (const Operation& operation : operations) {
    names.push_back(fmt::format("{}_ms", operation.name));
    names.push_back(fmt::format("time_stats.{}.median", operation.name));
  }
  std::vector<CsvColumn> columns = {{"num_tensor_parallel_workers"}, {"num_tokens"}};
  const std::size_t first = columns.size();
  for (const std::string& name : names) columns.push_back({name, false});
  CsvTable table(in.open(), columns, OtherColumns::kIgnore);
  LayerTable rows(in, kTableMilliseconds);
  while (table.next()) {
    const auto ranks = static_cast<std::uint32_t>(table.whole(0, 1, 1024));
    const double tokens = table_number(table, 1, 1);
    const LayerShapes shapes = layer_shapes(rows.model(), ranks);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::size_t column = first + 2 * i + (table.has(first + 2 * i) ? 0 : 1);
      if (!table.has(column) || table.cell(column).empty()) continue;
      const double us = table_time(table, column, kTableMilliseconds);
      if (operations[i].product != nullptr) {
        rows.product(table.line(), tokens, shapes.*operations[i].product, us);
      } else if (ranks == in.tensor_parallel) {
        rows.elementwise(table.line(), tokens, *operations[i].elementwise, us);
      }
    }
  }
  finish(in, table, rows, {});
}

}  // namespace spillway

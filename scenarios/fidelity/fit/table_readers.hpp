// One reader per form of kernel table; read_kernel_tables calls them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/layer_shapes.hpp"
#include "scenarios/fidelity/fit/kernel_rows.hpp"
#include "scenarios/fidelity/fit/read_kernel_tables.hpp"

namespace spillway {

/// Element-wise operations by name: what one layer spends in them over tokens, and how many times.
struct LayerOperations {
  struct Operation {
    double times = 1;  ///< in one layer; a share where it runs once a step
    std::vector<CountRow> rows;
  };
  std::map<std::string, Operation> by_name;
};

/// A file being read: where its rows go.
struct TableInput {
  std::string path;
  std::uint32_t file = 0;
  const KernelTableOptions* options = nullptr;
  std::uint32_t tensor_parallel = 1;
  KernelTables* out = nullptr;
  LayerOperations* operations = nullptr;

  /// Throws InputError (exit 2) where --model is not given.
  const ModelSpec& model() const;
  std::unique_ptr<LineReader> open() const;
  RowSource at(std::int64_t line) const { return {file, static_cast<std::uint32_t>(line)}; }
};

/// "bf16" or "fp8" of the names that tables use; empty for one that no step model knows.
std::string plain_type(std::string_view name);

void read_gemm(const TableInput& in);
void read_attention_context(const TableInput& in);
void read_attention_generation(const TableInput& in);
void read_layer_dense(const TableInput& in);
void read_layer_sequence(const TableInput& in);
void read_layer_attention(const TableInput& in);
void read_layer_experts(const TableInput& in);
void read_layer_skew(const TableInput& in);
void read_operations(const TableInput& in);

}  // namespace spillway

// Kernel tables of other projects, in the forms of their published files (CSV, plain or compressed,
// further columns ignored); each is told by its header.
//
//   aiconfigurator   gemm (dtype, m, n, k), attention context (isl) and generation (ctx): many
//                    shapes of one GPU, milliseconds
//   LLMServingSim    dense (layer, tokens), per_sequence (layer, sequences), attention, skew: the
//                    kernels of one model's layer, microseconds
//   Vidur            mlp: one model's operations by number of tensor-parallel workers, milliseconds
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/kernel_tables.hpp"

namespace spillway {

enum class KernelTableKind : std::uint8_t {
  kGemm,
  kContext,
  kGeneration,
  kLayerDense,
  kLayerSequence,
  kLayerAttention,
  kLayerSkew,
  kLayerExperts,
  kOperations,
};

/// Which form a file with that first line has; nothing where it is none of these.
std::optional<KernelTableKind> kernel_table_kind(std::string_view header);
/// The same of the file at `path`. Throws InputError (exit 7) where it cannot be read.
std::optional<KernelTableKind> kernel_table_kind_of(const std::string& path);

struct KernelTableOptions {
  const GpuSpec* gpu = nullptr;
  const ModelSpec* model = nullptr;  ///< whose layers whole-layer tables are; may be null
  std::optional<std::uint32_t> tensor_parallel;  ///< else from the name ("..._tp2_..."), else 1
  std::vector<std::string> weights;              ///< types of products to read; empty: all
};

/// Reads all of them into one set of rows; shapes measured more than once take the median. Throws
/// InputError with file, line, field and what was expected: exit 3 for content (also times in
/// another unit, or rows that no such GPU can have), 2 where a table needs a model that is not
/// given.
KernelTables read_kernel_tables(const std::vector<std::string>& files,
                                const KernelTableOptions& options);

}  // namespace spillway

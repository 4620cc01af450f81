// Serving points from a CSV, columns by name.
#include <array>
#include <cmath>

#include "scenarios/fidelity/fit/serving_points.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/numbers.hpp"
#include "traces/byte_source.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

enum PointColumn : std::size_t {
  kInput,
  kOutput,
  kConcurrency,
  kTensor,
  kTtft,
  kTpot,
  kBackend,
  kPrecision,
  kModel,
  kSystem,
  kPipeline,
  kData,
};
constexpr std::array<CsvColumn, 12> kPointColumns = {{
    {"isl"},
    {"osl"},
    {"concurrency"},
    {"tp_size"},
    {"silicon_ttft_ms"},
    {"silicon_tpot_ms"},
    {"backend", false},
    {"precision", false},
    {"model_path", false},
    {"system", false},
    {"pp_size", false},
    {"attention_dp_size", false},
}};
constexpr std::uint64_t kMostPointTokens = 1 << 24;
constexpr std::uint64_t kMostClients = 1 << 16;
constexpr double kMostMs = 1e7;

double milliseconds(const CsvTable& table, PointColumn column) {
  const std::string_view text = table.cell(column);
  const double value = parse_real(text).value_or(0);
  if (!(value > 0) || value > kMostMs) {
    table.fail(column, fmt::format("expected milliseconds, more than 0, found \"{}\"", text));
  }
  return value;
}

std::uint32_t whole(const CsvTable& table, PointColumn column, std::uint64_t most) {
  return static_cast<std::uint32_t>(table.whole(column, 1, most));
}

/// Pipelines and replicas are other engines than the one that is simulated.
bool one_engine(const CsvTable& table) {
  for (const PointColumn column : {kPipeline, kData}) {
    if (table.has(column) && !table.cell(column).empty() && table.whole(column, 1, 1 << 16) != 1) {
      return false;
    }
  }
  return true;
}

ServingPoint point_of(const CsvTable& table) {
  ServingPoint out;
  out.line = table.line();
  out.input_tokens = whole(table, kInput, kMostPointTokens);
  out.output_tokens = whole(table, kOutput, kMostPointTokens);
  out.concurrency = whole(table, kConcurrency, kMostClients);
  out.tensor_parallel = whole(table, kTensor, 256);
  out.ttft_ms = milliseconds(table, kTtft);
  out.tpot_ms = milliseconds(table, kTpot);
  out.backend = table.cell(kBackend);
  out.precision = table.cell(kPrecision);
  out.model = table.cell(kModel);
  out.system = table.cell(kSystem);
  return out;
}

}  // namespace

bool is_serving_points(std::string_view header) {
  return is_csv_header(header, "silicon_tpot_ms");
}

ServingPoints read_serving_points(const std::string& path) {
  ServingPoints out;
  out.path = path;
  CsvTable table(std::make_unique<LineReader>(path, open_bytes(path)), kPointColumns,
                 OtherColumns::kIgnore);
  try {
    while (table.next()) {
      if (one_engine(table)) out.points.push_back(point_of(table));
    }
  } catch (const RowError& error) {  // which advises to check a trace
    throw InputError(error.fault(), error.where(), error.message());
  }
  return out;
}

}  // namespace spillway

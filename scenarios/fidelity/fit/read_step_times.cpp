// Step times from a CSV, columns by name.
#include <array>

#include "scenarios/fidelity/fit/step_times.hpp"
#include "sim/error.hpp"
#include "sim/numbers.hpp"
#include "traces/byte_source.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

enum StepColumn : std::size_t {
  kMicroseconds,
  kMilliseconds,
  kDecodes,
  kContext,
  kTokens,
  kCached,
  kSampled,
  kGraph,
};
constexpr std::array<CsvColumn, 8> kStepColumns = {{
    {"time_us", false},
    {"time_ms", false},
    {"decodes"},
    {"decode_context"},
    {"prefill_tokens", false},
    {"prefill_cached", false},
    {"sampled", false},
    {"graph", false},
}};
constexpr std::uint64_t kMostRequests = 1 << 20;
constexpr std::uint64_t kMostStepTokens = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostChunk = 1 << 24;
constexpr double kMostUs = 1e9;

std::uint64_t whole_or_zero(const CsvTable& table, StepColumn column, std::uint64_t most) {
  if (table.cell(column).empty()) return 0;
  return static_cast<std::uint64_t>(table.whole(column, 0, most));
}

/// "512;1024".
std::vector<std::uint32_t> list(const CsvTable& table, StepColumn column) {
  std::vector<std::uint32_t> out;
  std::string_view rest = table.cell(column);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::uint64_t value = table.number(column, rest.substr(0, end));
    if (value > kMostChunk) {
      table.fail(column, fmt::format("expected at most {} tokens, found {}", kMostChunk, value));
    }
    out.push_back(static_cast<std::uint32_t>(value));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::vector<PrefillChunk> chunks(const CsvTable& table) {
  const std::vector<std::uint32_t> tokens = list(table, kTokens);
  const std::vector<std::uint32_t> cached = list(table, kCached);
  if (!cached.empty() && cached.size() != tokens.size()) {
    table.fail(kCached, fmt::format("expected one number for each of {} prompts, found {}",
                                    tokens.size(), cached.size()));
  }
  std::vector<PrefillChunk> out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint32_t before = cached.empty() ? 0 : cached[i];
    if (tokens[i] > 0) out.push_back({tokens[i], before});
  }
  return out;
}

double time_us(const CsvTable& table) {
  const StepColumn column = table.has(kMicroseconds) ? kMicroseconds : kMilliseconds;
  const std::string_view text = table.cell(column);
  const double value = parse_real(text).value_or(0) * (column == kMilliseconds ? 1e3 : 1);
  if (!(value > 0) || value > kMostUs) {
    table.fail(
        column,
        fmt::format("expected a time of more than 0 and at most 1000 s, found \"{}\"", text));
  }
  return value;
}

std::optional<bool> graph(const CsvTable& table) {
  const std::string_view text = table.cell(kGraph);
  if (text.empty()) return {};
  if (text == "yes" || text == "true" || text == "1") return true;
  if (text == "no" || text == "false" || text == "0") return false;
  table.fail(kGraph, fmt::format("expected yes or no, found \"{}\"", text));
}

TimedStep step_of(const CsvTable& table) {
  TimedStep out;
  out.line = table.line();
  out.time_us = time_us(table);
  out.shape.decodes = static_cast<std::uint32_t>(whole_or_zero(table, kDecodes, kMostRequests));
  out.shape.decode_context = whole_or_zero(table, kContext, kMostStepTokens);
  out.prefills = chunks(table);
  out.shape.sampled = out.shape.decodes + static_cast<std::uint32_t>(out.prefills.size());
  if (!table.cell(kSampled).empty()) {
    out.shape.sampled = static_cast<std::uint32_t>(table.whole(kSampled, 0, kMostRequests));
  }
  out.graph = graph(table);
  if (out.tokens() == 0) table.fail(kDecodes, "expected a step of at least one token, found none");
  if (out.shape.decode_context < out.shape.decodes) {
    table.fail(kContext, fmt::format("{} decodes hold {} tokens; expected at least one each",
                                     out.shape.decodes, out.shape.decode_context));
  }
  return out;
}

}  // namespace

std::uint64_t TimedStep::tokens() const {
  std::uint64_t out = shape.decodes;
  for (const PrefillChunk& chunk : prefills) out += chunk.tokens;
  return out;
}

bool is_step_times(std::string_view header) {
  return is_csv_header(header, "decode_context") &&
         (is_csv_header(header, "time_us") || is_csv_header(header, "time_ms"));
}

StepTimes read_step_times(const std::string& path) {
  StepTimes out;
  out.path = path;
  CsvTable table(std::make_unique<LineReader>(path, open_bytes(path)), kStepColumns,
                 OtherColumns::kIgnore);
  if (table.has(kMicroseconds) == table.has(kMilliseconds)) {
    throw InputError(Fault::kTrace, {path, 1, "time_us"},
                     "expected one of the columns time_us and time_ms");
  }
  try {
    while (table.next()) out.steps.push_back(step_of(table));
  } catch (const RowError& error) {  // which advises to check a trace
    throw InputError(error.fault(), error.where(), error.message());
  }
  return out;
}

}  // namespace spillway

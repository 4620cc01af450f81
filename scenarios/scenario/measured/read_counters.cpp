// An engine's counters over time: CSV with one row per tick, columns by name.
#include <cmath>

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/error.hpp"
#include "sim/numbers.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

enum Column : std::size_t { kTime, kRunning, kWaiting, kPercent, kShare, kPrompt, kOutput };
constexpr CsvColumn kColumns[] = {{"t", true},
                                  {"running", true},
                                  {"waiting", true},
                                  {"kv_cache_pct", false},
                                  {"kv_cache_usage", false},
                                  {"prompt_throughput", false},
                                  {"gen_throughput", false}};

double number(const CsvTable& table, std::size_t column, double most) {
  const std::string_view text = table.cell(column);
  const double value = parse_real(text).value_or(-1);
  if (!(value >= 0 && value <= most)) {
    table.fail(column, fmt::format("expected a number from 0 to {}, found \"{}\"", most,
                                   text.substr(0, 40)));
  }
  return value;
}

}  // namespace

void read_counter_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  constexpr double kMost = 1e12;
  constexpr double kMostPercent = 100.01;  // vLLM rounds
  CsvTable table(std::move(lines), kColumns, OtherColumns::kIgnore);
  CounterFile counters;
  counters.path = table.path();
  while (table.next()) {
    MeasuredCounters row;
    row.at_s = number(table, kTime, kMost);
    row.running = number(table, kRunning, kMost);
    row.waiting = number(table, kWaiting, kMost);
    if (table.has(kPercent)) row.kv_usage = number(table, kPercent, kMostPercent) / 100;
    if (table.has(kShare)) row.kv_usage = number(table, kShare, kMostPercent / 100);
    if (table.has(kPrompt)) row.prompt_tokens_per_s = number(table, kPrompt, kMost);
    if (table.has(kOutput)) row.output_tokens_per_s = number(table, kOutput, kMost);
    if (!counters.rows.empty() && row.at_s <= counters.rows.back().at_s) {
      table.fail(kTime, fmt::format("expected a time after {}, found {}", counters.rows.back().at_s,
                                    row.at_s));
    }
    counters.rows.push_back(row);
  }
  for (const std::string& note : table.notes()) parts.notes.push_back(note);
  parts.counters.push_back(std::move(counters));
}

}  // namespace spillway

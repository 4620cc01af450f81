#include "models/calibration/fit_table.hpp"

#include "models/link/grid_position.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

GridPosition locate_in_logs(const std::vector<double>& grid, double value) {
  return locate(grid, value, det::log2);
}

}  // namespace

double value_at(const FitTable& table, double x, double y) {
  KV_ASSERT(!table.x.empty() && table.values.size() == table.x.size() * table.y.size(),
            "a table of {} values for {} x {} points", table.values.size(), table.x.size(),
            table.y.size());
  const GridPosition column = locate_in_logs(table.x, x);
  const GridPosition row = locate_in_logs(table.y, y);
  const auto in_row = [&](std::size_t r) {
    const double low = det::log2(table.values[r * table.x.size() + column.low]);
    const double high = det::log2(table.values[r * table.x.size() + column.high]);
    return low + column.weight * (high - low);
  };
  const double low = in_row(row.low);
  return det::exp2(low + row.weight * (in_row(row.high) - low));
}

bool within(const FitTable& table, double x, double y) {
  if (table.x.empty() || x < table.x.front() || x > table.x.back() || y < table.y.front() ||
      y > table.y.back()) {
    return false;
  }
  if (table.measured.empty()) return true;
  const GridPosition column = locate_in_logs(table.x, x);
  const GridPosition row = locate_in_logs(table.y, y);
  // On a line of the grid the next one has no part in the value.
  for (const std::size_t r : {row.low, row.weight > 0 ? row.high : row.low}) {
    for (const std::size_t c : {column.low, column.weight > 0 ? column.high : column.low}) {
      if (!table.measured[r * table.x.size() + c]) return false;
    }
  }
  return true;
}

RateTable rate_table(const FitTable& table, std::string source) {
  RateTable out;
  out.copy_bytes = table.x;
  out.copies = table.y;
  out.gbs = table.values;
  out.measured = table.measured;
  out.source = std::move(source);
  return out;
}

}  // namespace spillway

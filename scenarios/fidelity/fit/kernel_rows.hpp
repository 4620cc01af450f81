// What readers of kernel tables share: cells, rows that no GPU can have, shapes measured twice.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/calibration/kernel_tables.hpp"
#include "sim/quantile.hpp"
#include "traces/formats/csv_table.hpp"

namespace spillway {

/// The unit of a table's times.
struct TimeUnit {
  const char* name;    ///< as people write it
  const char* larger;  ///< a thousand times it
  const char* smaller;
  double us;
};
inline constexpr TimeUnit kTableMilliseconds = {"milliseconds", "seconds", "microseconds", 1e3};
inline constexpr TimeUnit kTableMicroseconds = {"microseconds", "milliseconds", "nanoseconds", 1};

/// What a kernel has to do at least.
struct KernelWork {
  double flops = 0;
  double bytes = 0;
};

/// Rows of one file that are not believed before the whole of it was seen.
class RowGate {
 public:
  RowGate(std::string path, const GpuSpec& gpu, const TimeUnit& unit)
      : path_(std::move(path)), gpu_(&gpu), unit_(&unit) {}

  /// `peak_flops` per second of the type it computes with. `keep` puts the row where it belongs.
  void add(std::int64_t line, double us, const KernelWork& work, double peak_flops,
           std::function<void()> keep);
  /// Throws InputError (exit 3) where times are in another unit, or more than 1% of the rows beat
  /// the GPU or are hundreds of times slower than it; fewer are left out with a note.
  void finish(std::vector<std::string>& notes);

 private:
  struct Pending {
    std::int64_t line;
    double us;
    double least_us;  ///< that the GPU can take
    double usual_us;
    std::function<void()> keep;
  };
  void check_unit() const;

  std::string path_;
  const GpuSpec* gpu_;
  const TimeUnit* unit_;
  std::vector<Pending> rows_;
};

/// A finite number of at least `least`, or RowError.
double table_number(const CsvTable& table, std::size_t column, double least);
/// A time above 0 in `unit`, as microseconds, or RowError.
double table_time(const CsvTable& table, std::size_t column, const TimeUnit& unit);

/// Throws InputError (exit 3): lines that measured one shape cannot be told apart.
[[noreturn]] void refuse_repeats(const KernelTables& tables, const std::string& what,
                                 std::size_t shapes, RowSource first, RowSource second);
void note_repeats(KernelTables& tables, const std::string& what, std::size_t shapes,
                  RowSource first);

/// Sorts by shape; a shape measured more than once takes its median time.
template <class Row>
void merge_repeats(KernelTables& tables, const std::string& what, std::vector<Row>& rows) {
  constexpr double kAgree = 2;  // times of one shape that differ by more contradict each other
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.key() < b.key(); });
  std::vector<Row> out;
  std::size_t repeated = 0;
  std::size_t contradicting = 0;
  RowSource first{};
  RowSource second{};
  RowSource first_repeat{};
  for (auto at = rows.begin(); at != rows.end();) {
    const auto end =
        std::find_if(at, rows.end(), [&](const Row& row) { return row.key() != at->key(); });
    std::vector<double> times;
    for (auto row = at; row != end; ++row) times.push_back(row->us);
    out.push_back(*at);
    if (times.size() > 1) {
      if (repeated++ == 0) first_repeat = (at + 1)->from;
      out.back().us = median(times);
      const auto [least, most] = std::minmax_element(times.begin(), times.end());
      if (*most > kAgree * *least && contradicting++ == 0) {
        first = (at + (least - times.begin()))->from;
        second = (at + (most - times.begin()))->from;
      }
    }
    at = end;
  }
  if (contradicting * 100 > out.size()) {
    refuse_repeats(tables, what, contradicting, first, second);
  }
  if (repeated > 0) note_repeats(tables, what, repeated, first_repeat);
  rows = std::move(out);
}

}  // namespace spillway

// A link from measured rates per copy size and copy count, interpolated in the logarithms of size,
// count and rate.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "models/link/grid_position.hpp"
#include "models/link/link_model.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

class TableLink final : public LinkModel {
 public:
  explicit TableLink(RateTable table) : table_(std::move(table)) {
    KV_ASSERT(
        !table_.gbs.empty() && table_.gbs.size() == table_.copies.size() * table_.copy_bytes.size(),
        "a rate table of {} cells for {} x {} points", table_.gbs.size(), table_.copies.size(),
        table_.copy_bytes.size());
    for (double& bytes : table_.copy_bytes) bytes = det::log2(bytes);
    for (double& count : table_.copies) count = det::log2(count);
    peak_ = *std::max_element(table_.gbs.begin(), table_.gbs.end());
    for (double& rate : table_.gbs) rate = det::log2(rate);
  }

  Duration service_time(Bytes payload, std::uint32_t copies) const override {
    const double bytes = static_cast<double>(payload.count());
    const double rate = gbs_at(bytes / copies, copies);  // GB/s is bytes per nanosecond
    return table_.job_latency + table_.per_copy * copies + at_most_longest(std::ceil(bytes / rate));
  }
  Reach reach(Bytes payload, std::uint32_t copies) const override {
    const double copy_bytes = det::log2(static_cast<double>(payload.count()) / copies);
    const double count = det::log2(copies);
    const GridPosition x = locate(table_.copy_bytes, copy_bytes);
    const GridPosition y = locate(table_.copies, count);
    if (outside(table_.copy_bytes, copy_bytes)) return Reach::kExtrapolated;
    if (x.low < table_.any_count_from && outside(table_.copies, count)) {
      return Reach::kExtrapolated;
    }
    double least = std::numeric_limits<double>::max();
    double most = std::numeric_limits<double>::lowest();
    bool known = true;
    const auto corner = [&](std::size_t row, std::size_t column) {
      const std::size_t cell = row * table_.copy_bytes.size() + column;
      const double rate = table_.gbs[cell];
      known = known && (table_.measured.empty() || table_.measured[cell]);
      least = std::min(least, rate);
      most = std::max(most, rate);
    };
    corner(y.low, x.low);
    if (x.weight > 0) corner(y.low, x.high);
    if (y.weight > 0) corner(y.high, x.low);
    if (x.weight > 0 && y.weight > 0) corner(y.high, x.high);
    if (!known) return Reach::kExtrapolated;
    return most - least > kStep ? Reach::kAcrossStep : Reach::kInside;
  }
  BytesPerSecond capacity() const override { return BytesPerSecond(peak_ * 1e9); }

 private:
  static constexpr double kStep = 1;  ///< a factor of 2, in logarithms to base 2

  static bool outside(const std::vector<double>& grid, double value) {
    return value < grid.front() || value > grid.back();
  }
  static GridPosition locate(const std::vector<double>& logs, double value) {
    return spillway::locate(logs, value, std::identity());
  }

  double gbs_at(double copy_bytes, double copies) const {
    const GridPosition x = locate(table_.copy_bytes, det::log2(copy_bytes));
    const GridPosition y = locate(table_.copies, det::log2(copies));
    const std::size_t columns = table_.copy_bytes.size();
    const auto row = [&](std::size_t r) {
      const double low = table_.gbs[r * columns + x.low];
      return low + x.weight * (table_.gbs[r * columns + x.high] - low);
    };
    const double low = row(y.low);
    return det::exp2(low + y.weight * (row(y.high) - low));
  }

  RateTable table_;
  double peak_ = 0;
};

}  // namespace

std::unique_ptr<LinkModel> make_table_link(RateTable table) {
  return std::make_unique<TableLink>(std::move(table));
}

}  // namespace spillway

// A numeric axis of a drawing: its range, its ticks, and where a value falls.
#pragma once

#include <limits>
#include <vector>

namespace spillway {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value);
  bool empty() const { return low > high; }
};

class Axis {
 public:
  /// Places 0, 1, 2, ... for named positions, half a place of room at either end.
  explicit Axis(std::size_t names);
  /// From round numbers to round numbers, or whole decades.
  Axis(double low, double high, bool logarithmic);

  /// 0 at the low end, 1 at the high end, and no further.
  double at(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  bool log_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

}  // namespace spillway

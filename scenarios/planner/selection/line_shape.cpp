#include "scenarios/planner/selection/line_shape.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

namespace {

// Standard errors between two points before their order counts as real: a line of ten has 45 pairs.
constexpr double kClearFall = 3;
constexpr double kLeastError = 1e-9;  // of a point that does not scatter

struct Block {
  double sum = 0;
  double weight = 0;
  std::size_t points = 0;
  double level() const { return sum / weight; }
};

}  // namespace

bool is_monotone(std::span<const ShapePoint> line) {
  for (std::size_t j = 1; j < line.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const double error = std::sqrt(line[i].error * line[i].error + line[j].error * line[j].error);
      if (line[i].distance - line[j].distance > kClearFall * std::max(error, kLeastError)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<double> isotonic_fit(std::span<const ShapePoint> line) {
  std::vector<Block> blocks;
  for (const ShapePoint& point : line) {
    const double error = std::max(point.error, kLeastError);
    const double weight = 1 / (error * error);
    blocks.push_back({point.distance * weight, weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].level() >= blocks.back().level()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().weight += last.weight;
      blocks.back().points += last.points;
    }
  }
  std::vector<double> out;
  for (const Block& block : blocks) out.insert(out.end(), block.points, block.level());
  return out;
}

}  // namespace spillway

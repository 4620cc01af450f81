#include "reports/plan/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "reports/format.hpp"

namespace spillway {

namespace {

std::pair<int, double> nearness(const PlanPoint& point) {
  switch (point.verdict) {
    case CellVerdict::kMet:
      return {3, 0};  // of several that meet it the first, which is the smallest
    case CellVerdict::kLooksMet:
      return {2, 0};
    case CellVerdict::kMissed:
    case CellVerdict::kLooksMissed:
      return {1, point.attainment};
    case CellVerdict::kExcluded:
      break;
  }
  return {0, 0};
}

}  // namespace

bool is_load_key(std::string_view key) {
  constexpr std::array<std::string_view, 5> kLoadKeys = {
      "workload.speed", "workload.rate_per_s", "workload.concurrency", "workload.growth.rate",
      "workload.synthetic.rate_per_s"};
  return std::find(kLoadKeys.begin(), kLoadKeys.end(), key) != kLoadKeys.end();
}

const TargetEstimate* broken_by(const PlanPoint& point, double never_served) {
  const auto found =
      std::find_if(point.targets.begin(), point.targets.end(), [&](const TargetEstimate& t) {
        return t.share && !t.at_least && t.tenant.empty() && never_served > t.limit;
      });
  return found == point.targets.end() ? nullptr : &*found;
}

const CellCost* cost_of(const PlanResult& plan, int cell) {
  if (!plan.cost) return nullptr;
  for (const CellCost& cost : plan.cost->cells) {
    if (static_cast<int>(cost.point) == cell) return &cost;
  }
  return nullptr;
}

const PlanPoint& cell_at(const PlanResult& plan, int index) {
  return plan.points[static_cast<std::size_t>(index)];
}

const std::string& name_of_cell(const PlanPoint& point) {
  return point.name.empty() ? point.capacity : point.name;
}

std::vector<std::vector<int>> size_lines(const PlanResult& plan) {
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> known;
  std::vector<std::vector<int>> out;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const std::size_t line = known.emplace(plan.points[i].values, out.size()).first->second;
    if (line == out.size()) out.emplace_back();
    out[line].push_back(static_cast<int>(i));
  }
  return out;
}

const std::vector<int>& line_of(const std::vector<std::vector<int>>& lines, int cell) {
  return *std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
    return std::find(line.begin(), line.end(), cell) != line.end();
  });
}

std::string line_name(const PlanPoint& point) {
  if (point.values.size() == 1) return point.values.front().second;
  std::string out;
  for (const auto& [key, value] : point.values) {
    const std::size_t dot = key.rfind('.');
    const std::string last = dot == std::string::npos ? key : key.substr(dot + 1);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", last, value);
  }
  return out;
}

bool stands_worse(const PlanPoint& a, const PlanPoint& b) {
  return nearness(a) < nearness(b);
}

int spoken_of(const PlanResult& plan) {
  if (plan.recommended >= 0) return plan.recommended;
  if (plan.provisional >= 0) return plan.provisional;
  if (plan.points.empty()) return -1;
  const auto& points = plan.points;
  if (plan.judgement.counterfactuals) {
    const auto asked = std::find_if(points.begin(), points.end(), [&](const PlanPoint& point) {
      return point.name == plan.judgement.counterfactuals->cell;
    });
    if (asked != points.end()) return static_cast<int>(asked - points.begin());
  }
  return static_cast<int>(std::max_element(points.begin(), points.end(), stands_worse) -
                          points.begin());
}

std::string memory_text(double bytes) {
  const double gib = bytes / kGiB;
  if (gib != std::floor(gib) || gib < 1) return format_bytes(bytes);
  return format_count(static_cast<std::uint64_t>(gib)) + " GiB";
}

}  // namespace spillway

#include "reports/plan/pages/size_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"

namespace spillway {

namespace {

/// One under the other.
class SizeBars {
 public:
  SizeBars(const PlanResult& plan, const Installed& installed)
      : plan_(plan),
        installed_(installed),
        engines_(installed.engines_per_host > 0 ? installed.engines_per_host : 1) {}

  Chart chart() {
    const bool per_host = installed_.engines_per_host > 0;
    out_.kind = ChartKind::kStacks;
    out_.title = fmt::format("{}: required, recommended, installed", kind_of_tier(plan_));
    out_.x_label = per_host ? "GiB per host" : "GiB per engine";
    out_.unit = "GiB";
    out_.part_names = {kind_of_tier(plan_)};
    if (plan_.feasible_min >= 0) {
      stack("required (smallest that meets the SLO)", cell_at(plan_, plan_.feasible_min));
    }
    if (plan_.recommended >= 0 && !cell_at(plan_, plan_.recommended).unbounded) {
      stack("recommended", static_cast<double>(plan_.recommended_bytes));
    }
    if (plan_.recommended < 0) stack_without_answer();
    if (installed_.capacity_bytes) {
      stack("installed (as the scenario has it)", *installed_.capacity_bytes);
    }
    add_host();
    const bool any = std::any_of(out_.stacks.begin(), out_.stacks.end(),
                                 [](const ChartStack& s) { return s.parts.front() > 0; });
    if (!any) return {};
    say();
    return std::move(out_);
  }

 private:
  void stack(const char* name, double bytes) {
    said_.push_back({name, bytes * engines_});
    out_.stacks.push_back({name, {bytes * engines_ / kGiB}});
  }
  void stack(const char* name, const PlanPoint& point) {
    if (!point.unbounded) stack(name, static_cast<double>(point.capacity_bytes));
  }

  void stack_without_answer() {
    if (plan_.provisional >= 0) {
      stack(plan_.undecided ? "best so far" : "comes nearest", cell_at(plan_, plan_.provisional));
    }
    const PlanPoint* largest = nullptr;
    for (const PlanPoint& point : plan_.points) {
      if (point.unbounded) continue;
      if (largest == nullptr || point.capacity_bytes > largest->capacity_bytes) largest = &point;
    }
    if (largest != nullptr) stack("largest tried", *largest);
  }

  /// The host's whole memory, in which the pools have to find room.
  void add_host() {
    const bool memory = kind_of_tier(plan_) == "DRAM" || kind_of_tier(plan_) == "swap space";
    if (installed_.host_bytes <= 0 || !memory) return;
    const double pools = plan_.recommended >= 0
                             ? static_cast<double>(plan_.recommended_bytes) * engines_
                             : installed_.capacity_bytes.value_or(0) * engines_;
    const double left = installed_.host_bytes - installed_.reserved_bytes - pools;
    for (ChartStack& stack : out_.stacks) stack.parts.resize(3, 0);
    out_.part_names.insert(out_.part_names.end(), {"reserved", "left for the rest"});
    said_.push_back({"the host's memory", installed_.host_bytes});
    out_.stacks.push_back(
        {"host memory",
         {pools / kGiB, installed_.reserved_bytes / kGiB, std::max(0.0, left) / kGiB}});
    if (left < 0) overflow_ = -left;
  }

  void say() {
    for (const auto& [name, bytes] : said_) {
      out_.note += fmt::format("{}{}: {}", out_.note.empty() ? "" : "; ", name, memory_text(bytes));
    }
    out_.note.front() = static_cast<char>(std::toupper(out_.note.front()));
    if (overflow_ > 0) {
      out_.note += fmt::format("; the pools do not fit, {} are lacking", memory_text(overflow_));
    }
    out_.note += ".";
  }

  const PlanResult& plan_;
  const Installed& installed_;
  double engines_;
  double overflow_ = 0;
  std::vector<std::pair<std::string, double>> said_;
  Chart out_;
};

}  // namespace

Chart size_bars(const PlanResult& plan, const Installed& installed) {
  return SizeBars(plan, installed).chart();
}

}  // namespace spillway

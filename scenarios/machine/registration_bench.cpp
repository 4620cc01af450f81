#include "scenarios/machine/registration_bench.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/machine/mapping.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kSmallPage = std::int64_t{4} << 10;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr std::int64_t kSizes[] = {std::int64_t{4} << 20, std::int64_t{64} << 20,
                                   std::int64_t{256} << 20, std::int64_t{1} << 30,
                                   std::int64_t{4} << 30};
constexpr int kRepeats = 7;
constexpr int kLeastRepeats = 3;
constexpr double kExpectedRate = 2e9;  ///< bytes/s, for the plan

}  // namespace

std::vector<CellPlan> RegistrationBench::plan(const BenchLimits& limits,
                                              std::vector<std::string>& missing) {
  limits_ = limits;
  const std::int64_t lock =
      host_.lock_exempt || host_.facts.memlock_bytes < 0 ? -1 : host_.facts.memlock_bytes;
  const bool huge = host_.huge_pages == "always" || host_.huge_pages == "madvise";
  if (!huge) {
    missing.push_back(fmt::format("registration on 2 MiB pages: transparent huge pages are {}",
                                  host_.huge_pages.empty() ? "not known here" : "off"));
  }
  const double longest_s = longest_cell_s(limits.budget_s);
  std::vector<CellPlan> out;
  std::int64_t refused = 0;
  for (const std::int64_t bytes : kSizes) {
    if (bytes > limits.memory_bytes) break;
    if (lock >= 0 && bytes > lock) {
      refused = bytes;
      continue;
    }
    for (const std::int64_t page : {kSmallPage, kHugePage}) {
      if (page == kHugePage && !huge) continue;
      const double once = 0.0005 + static_cast<double>(bytes) / kExpectedRate;
      out.push_back({"registration",
                     {{"method", "mlock"}, {"bytes", bytes}, {"page_bytes", page}},
                     std::min(kRepeats * once, std::max(longest_s, kLeastRepeats * once)),
                     bytes == kSizes[1] ? 0 : 2});
    }
  }
  if (refused > 0) {
    missing.push_back(fmt::format(
        "registration above {}: the memlock limit is {}; `ulimit -l {}` (KiB) or unlimited, as "
        "root or in limits.conf, allows sizes up to {}",
        format_bytes(static_cast<double>(lock)), format_bytes(static_cast<double>(lock)),
        refused >> 10, format_bytes(static_cast<double>(refused))));
  }
  return out;
}

nlohmann::json RegistrationBench::measure(const CellPlan& cell) {
  RegistrationCell row;
  row.method = cell.request.at("method");
  row.bytes = cell.request.at("bytes");
  row.page_bytes = cell.request.at("page_bytes");
  const bool huge = row.page_bytes == kHugePage;
  std::vector<double> seconds;
  const double longest_s = longest_cell_s(limits_.budget_s);
  const double begin = monotonic_s();
  for (int i = 0; i < kRepeats; ++i) {
    if (i >= kLeastRepeats && monotonic_s() - begin > longest_s) break;
    if (limits_.stop && limits_.stop()) break;
    try {
      const Mapping memory(row.bytes, huge ? Mapping::Pages::kHuge : Mapping::Pages::kSmall);
      const double from = monotonic_s();
      if (mlock(memory.data(), static_cast<std::size_t>(memory.size())) != 0) {
        row.state.problem = fmt::format("mlock: {}", std::strerror(errno));
        break;
      }
      seconds.push_back(monotonic_s() - from);
      const std::int64_t on_huge = memory.huge_bytes();
      if (huge && on_huge < row.bytes) {
        row.state.problem = on_huge < 0 ? "which pages it got is not known"
                                        : fmt::format("only {} came on 2 MiB pages",
                                                      format_bytes(static_cast<double>(on_huge)));
      }
    } catch (const std::bad_alloc&) {
      row.state.problem = "the system refused the memory";
      break;
    }
  }
  row.state.valid = row.state.problem.empty();
  row.state.stable = variation(seconds) <= kUnstableCv;
  std::sort(seconds.begin(), seconds.end());
  if (!seconds.empty()) row.seconds = quantile(seconds, 0.5);
  return to_document(row);
}

}  // namespace spillway

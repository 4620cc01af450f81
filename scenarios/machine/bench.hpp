// One group of measurements: lists its cells, and measures them one by one.
//
// `calibrate` collects the cells of all benches, orders them within the time budget and journals
// each row as it comes, so that a run that is cut short goes on where it was. A row is a row of the
// profile document (models/calibration/profile.hpp) as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;

struct CellPlan {
  std::string section;  ///< key of the profile's results: copy, dram, storage, ...
  nlohmann::json
      request;  ///< those members of the row that say what to measure; the cell's identity
  double expected_s = 0;
  int priority = 0;   ///< cells of a lower one come first: the budget may not reach the others
  bool once = false;  ///< unstable or not: measured again, it would be something else
};

/// What benches may use.
struct BenchLimits {
  double budget_s = 60;
  std::int64_t memory_bytes = 0;  ///< host memory in use at once, at most
  std::string scratch;            ///< folder for files; empty: none may be written
  std::int64_t scratch_bytes = 0;
  std::uint64_t seed = 1;
  /// Asked between samples: true when somebody wants to stop. The row is thrown away then, so
  /// measure() may return at once; empty: never.
  std::function<bool()> stop = {};
};

/// The device under a bench is gone: its remaining cells cannot be measured. Others can.
class BenchLost final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual std::string_view name() const = 0;
  /// The cells, or none with a reason in `missing` (e.g. no driver).
  virtual std::vector<CellPlan> plan(const BenchLimits& limits,
                                     std::vector<std::string>& missing) = 0;
  /// Writes what it knows of the machine; asked after plan() and again after the last cell.
  virtual void add_facts(MachineFacts& /*machine*/) {}
  /// The row of `cell`. A cell that fails by itself comes back with `valid` false and its problem.
  /// Throws BenchLost.
  virtual nlohmann::json measure(const CellPlan& cell) = 0;
  /// What a user should know of how it was measured; asked after the last cell.
  virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace spillway

// What resources cost: a prices file, and the price of one cell by it.
//
// The file is JSON with comments (schema: `spillway schema prices`):
//
//   {
//     "currency": "USD",
//     "source": "price list of ..., 2025-06",             // printed beside every figure
//     "gpu_hour": {"H100": 2.9, "default": 2},             // by name of the catalogue, or a number
//     "dram_gib_month": {"purchase": 3.4, "months": 48},   // bought: price over its months
//     "nvme_gib_month": 0.08,
//     "storage_gib_month": {"fs": 0.2, "object": 0.021, "kv": 4},
//     "network": {"per_gb": 0.01, "per_month": 0},         // bytes to and from fs, object and kv
//     "host_month": 250                                    // what an engine costs beside these
//   }
//
// Every price is a number, or {"purchase", "months", "monthly"}: bought for `purchase`, written off
// in equal parts over `months`, plus `monthly` for power and hosting. A GPU-hour is then a month of
// 730 hours' share of that. What the file leaves out has no price; a cell that needs it has none
// either.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/catalogue/gpu_spec.hpp"
#include "models/tier/storage_spec.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "sim/plan_parts.hpp"
#include "sim/result.hpp"

namespace spillway {

struct Scenario;

inline constexpr double kHoursPerMonth = 730;
inline constexpr double kSecondsPerMonth = kHoursPerMonth * 3600;

/// The known keys of each object, also what the published schema is checked against.
struct PriceKeys {
  static const KeyTable kTop, kAmortised, kStorage, kNetwork;
};

struct Prices {
  std::string path;
  std::string currency;
  std::string source;
  std::vector<std::pair<const GpuSpec*, double>> gpu_month;
  std::optional<double> any_gpu_month;  ///< of a GPU that the file does not name
  std::optional<double> dram_gib_month;
  std::optional<double> storage_gib_month[std::size(kStorageKinds)];  ///< by StorageKind
  std::optional<double> network_gb;
  double network_month = 0;
  double host_month = 0;
  Notes notes;  ///< what was written off over how long

  /// Of a GPU that the file does not name, the default, unless that is less than the price of a
  /// slower one: such a price would decide what to buy, and nobody gave it.
  std::optional<double> gpu(const GpuSpec* gpu) const;
  /// A slower GPU that costs more than the default; null where there is none.
  const GpuSpec* slower_and_dearer(const GpuSpec* gpu) const;
};

/// Of a list that comes along, or of a file. Throws InputError: exit 7 where the file cannot be
/// read, 2 for what it says.
Prices load_prices(const std::string& name_or_path);
Prices read_prices(const JsonSource& source);

struct CellPrice {
  std::vector<CostItem> items;
  double per_month = 0;
  std::vector<std::string> missing;  ///< keys of the file that would be needed; the sum lacks them
  std::string undercut;  ///< why the file's default is no price for this GPU; empty: it has one
  Notes notes;
};

/// What `scenario` costs a month. `run` is that of the workload itself: it says what unbounded
/// tiers hold and what goes over the network.
CellPrice price_of(const Scenario& scenario, const RunResult& run, const Prices& prices);

/// Throws InputError (exit 2) where a price is missing that `objective` needs.
void require_prices(const CellPrice& price, const Prices& prices, std::string_view objective);

/// Bytes of the tier below HBM that a cell reserves, over all engines and replicas; of an unbounded
/// one, what `run` held at most.
double tier_bytes_of(const Scenario& scenario, const RunResult& run);
/// Over how long the counts of tiers and links were taken: they cover the warm-up too.
double observed_s(const Scenario& scenario, const RunResult& run);

}  // namespace spillway

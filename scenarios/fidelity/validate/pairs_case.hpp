// A case of kind "pairs": published throughputs of one server without and with a tier below HBM. A
// simulator that is right says which of them gains, which loses, and by how much.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/json_source.hpp"
#include "sim/fields.hpp"

namespace spillway {

/// Which side a change is on: beyond the noise of the measurement or within it.
enum class PairSide : std::uint8_t { kHurts, kNeither, kHelps };
template <>
struct EnumNames<PairSide> {
  static constexpr std::array<std::string_view, 3> kNames = {"hurts", "neither", "helps"};
};

/// One server, without the tier and with it, each at the number of clients that served most.
struct PairCell {
  std::string model;
  std::string memory;  ///< how much of HBM the KV pool has, as the study calls it
  std::string tier;
  double band = 0;              ///< %; a smaller change is noise
  double measured_without = 0;  ///< answer tokens/s
  double measured_with = 0;
  double simulated_without = 0;
  double simulated_with = 0;

  double error_without() const { return 100 * (simulated_without / measured_without - 1); }
  double measured_change() const { return 100 * (measured_with / measured_without - 1); }
  double simulated_change() const { return 100 * (simulated_with / simulated_without - 1); }
  PairSide measured_side() const { return side_of(measured_change()); }
  /// Beside a change that was measured, the direction counts; beside noise, the band.
  bool right_side() const;

 private:
  PairSide side_of(double change) const {
    return change > band    ? PairSide::kHelps
           : change < -band ? PairSide::kHurts
                            : PairSide::kNeither;
  }
};

/// A figure over all cells, in percent: the smaller, the better.
struct PairsFigure {
  std::string name;
  double percent = 0;
};

struct PairsResult {
  std::vector<PairCell> cells;

  std::uint32_t right_sides() const;
  std::uint32_t harms() const;         ///< measured
  std::uint32_t harms_found() const;   ///< of these, simulated as such
  double median_change_error() const;  ///< percentage points
  double worst_without() const;        ///< %, without sign
  /// without (worst error of a server without the tier), change (median error of the change),
  /// wrong_sides and harms_missed (shares of the cells, of the harms).
  std::vector<PairsFigure> figures() const;
};

/// `path` holds the study (offload_measured.json): part l40s, `release` by release, where
/// `scenario` is the engine, to which each cell adds model, blocks, clients and tier; or, as
/// release "llmd", part llmd, whose cells are the stages of one run of `scenario` without and with
/// the tier. Throws InputError (3) where the file lacks the release or a figure.
PairsResult validate_pairs(const std::string& path, const std::string& release,
                           const JsonSource& scenario);

}  // namespace spillway

// What engines and stores do differently, as one table: a row for each of them, a column for each
// knob. Each cell names the test or the oracle that proves it. `spillway list engines` prints it,
// and scenarios/ENGINES.md is made of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace spillway {

/// The columns, in this order.
enum class Knob : std::uint8_t {
  kUnit,
  kWrite,
  kFilter,
  kInclusion,
  kLoadPath,
  kLoad,
  kPrefetch,
  kEvict,
  kAdmit,
  kPreempt,
  kFailure,
};
inline constexpr std::size_t kKnobs = 11;

/// Columns that stand in one table where eleven do not fit.
enum class KnobGroup : std::uint8_t { kKept, kMoved, kRun };
inline constexpr std::string_view kKnobGroups[] = {
    "What is kept", "What comes back and what leaves", "Who runs, and what fails"};

struct KnobColumn {
  Knob knob;
  std::string_view name;
  KnobGroup group;
  std::string_view help;
};
/// In the order of Knob.
std::span<const KnobColumn> knob_columns();

struct KnobCell {
  std::string_view text;   ///< six words at most
  std::string_view proof;  ///< a file of the source tree: a test, an oracle, a history of an oracle
};

/// An engine with what keeps its KV below HBM.
struct EngineKnobs {
  std::string_view engine;
  std::string_view choice;  ///< the keys of a scenario that choose it
  std::array<KnobCell, kKnobs> cells;

  const KnobCell& at(Knob knob) const { return cells[static_cast<std::size_t>(knob)]; }
};
std::span<const EngineKnobs> engine_knobs();

}  // namespace spillway

// The values of a campaign's cells as columns of a table: numbers as numbers, sizes and rates as
// they were written and, beside that, in bytes.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "scenarios/sweep/campaign.hpp"

namespace spillway {

struct VariedColumn {
  enum class Holds : std::uint8_t { kText, kNumber, kBytes, kBytesPerSecond };

  std::string name;
  std::size_t key = 0;  ///< of SweepCell::values
  Holds holds = Holds::kText;
};

/// One column for each varied key, and one more ("_bytes", "_bytes_per_s") for sizes and rates.
/// Names in `used` are told apart by "vary.".
std::vector<VariedColumn> varied_columns(const Campaign& campaign,
                                         const std::set<std::string>& used);

/// Null where the column has nothing to say: the bytes of "inf" or of a number of blocks.
nlohmann::json column_value(const VariedColumn& column, const SweepCell& cell);

using ColumnValue = std::variant<std::string, std::int64_t, std::uint64_t, double>;
using ColumnValues = std::map<std::string, ColumnValue>;

/// Of a cell, by column, without what is null.
ColumnValues values_of(const std::vector<VariedColumn>& columns, const SweepCell& cell);

}  // namespace spillway

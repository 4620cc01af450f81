#include "traces/trace_reader.hpp"

#include <fmt/format.h>

#include "sim/units.hpp"

namespace spillway {

std::optional<std::string> expected_blocks(const TraceRow& row, std::uint32_t block_tokens) {
  const std::int64_t full = row.input_tokens / block_tokens;
  const std::int64_t all = ceil_div(row.input_tokens, block_tokens);
  const auto found = static_cast<std::int64_t>(row.blocks.size());
  if (found == full || found == all) return std::nullopt;
  return full == all ? fmt::format("{}", all) : fmt::format("{} or {}", full, all);
}

}  // namespace spillway

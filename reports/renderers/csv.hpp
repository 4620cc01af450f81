// CSV cells: text, quoted where it must be and safe in a spreadsheet; times.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/units.hpp"

namespace spillway {

std::string csv_cell(std::string_view text);
/// Seconds with nine decimals; nothing of kNever.
void append_seconds(fmt::memory_buffer& out, Time t);

}  // namespace spillway

// One CSV cell, quoted where it must be and safe in a spreadsheet.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

std::string csv_cell(std::string_view text);

}  // namespace spillway

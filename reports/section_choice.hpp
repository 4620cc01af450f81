// Some sections of a report in place of all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace spillway {

/// What a section is called where one is asked for: its id, else its heading in lower case with
/// hyphens; empty where it has neither.
std::string section_name(const Section& section);

/// Keeps the sections with these names, in the report's order. Throws InputError (exit 2), which
/// names `option` and lists the known ones, for a name that no section has.
void keep_sections(Report& report, const std::vector<std::string>& names, std::string_view option);

}  // namespace spillway

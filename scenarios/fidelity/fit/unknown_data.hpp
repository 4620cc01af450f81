// What to say of a file that no fit knows: which known form it is closest to, and what it lacks.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// True where a line is names between commas, as a table's header is and other text is not.
bool is_table_header(std::string_view line);

/// Throws InputError (exit 3): the columns that a table with this header lacks to be of the form it
/// shares most columns with, or all forms where it shares hardly any; an empty header is of an
/// empty file.
[[noreturn]] void refuse_unknown_data(const std::string& path, std::string_view header);

}  // namespace spillway

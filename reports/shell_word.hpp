// Words of a POSIX shell, for commands that somebody pastes or a script runs.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// In single quotes, whatever it holds.
std::string shell_quoted(std::string_view text);

/// The same, and as it is where nothing in it needs quotes.
std::string shell_word(std::string_view text);

}  // namespace spillway

// What a stream is connected to: how wide, which characters, whether colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spillway {

/// Columns of the terminal behind `descriptor`; COLUMNS rules where it is set. 0: no terminal, and
/// text is as wide as it needs to be.
std::size_t terminal_width(int descriptor);

/// The locale writes UTF-8 (LC_ALL, LC_CTYPE, LANG, the first that is set) and SPILLWAY_ASCII is
/// not set.
bool terminal_unicode();

/// `choice` is --color: always, never, or auto: on a terminal without NO_COLOR that is not "dumb".
bool terminal_color(int descriptor, const std::string& choice);

/// To standard error, at once. What cannot be written there is lost, and nothing else is.
void say(std::string_view text);

}  // namespace spillway

// What --help prints: examples first, then the options by group, values and exit codes.
#pragma once

#include <string>

#include "scenarios/commands/tree/verb.hpp"

namespace spillway {

/// `width` is the terminal's, 0 where there is none: then each option has one line, however long.
std::string help_of(const Verb& verb, std::size_t width);

}  // namespace spillway

// What a mistyped command line most likely meant.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/tree/verb.hpp"

namespace spillway {

/// The message of `error` in one line, with the nearest verb, option or value where one is near,
/// and the page that helps. `words` are those behind the program's name.
std::string parse_message(const Verb& root, const Misread& error,
                          const std::vector<std::string>& words);

/// "--bounds needs a value, ...": where an option of `at` stands in place of another one's value,
/// which the parser takes for the value; else empty.
std::string option_for_value(const Verb& at, const std::vector<std::string>& words);

/// "; did you mean x.json?" where `message` is of a file among `words` that is not there and its
/// folder has one of nearly that name; else empty.
std::string nearest_file(const std::string& message, const std::vector<std::string>& words);

}  // namespace spillway

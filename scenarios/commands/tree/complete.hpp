// What a shell may put in place of the last word of a command line.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/tree/verb.hpp"

namespace spillway {

/// `words` are those behind the program's name. The first line is ":RULE<tab>PREFIX", the others
/// "WORD<tab>HELP": all words that fit there, whatever of the last one is typed already. RULE is
/// "words", "list" (a comma may follow), or "files", "folders" or "scenarios" where paths behind
/// PREFIX fit as well.
std::string completions(const Verb& program, const std::vector<std::string>& words);

}  // namespace spillway

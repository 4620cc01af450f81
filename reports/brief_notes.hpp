// Notes as a terminal shows them below an answer: few, a line each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace spillway {

/// Each in a line of at most `columns`: those that only say which published figures were used are
/// one, what comes often has its consequence, and a long one ends where its first thought does.
/// Order: that of the notes.
std::vector<std::string> brief_notes(const std::vector<std::string>& notes, std::size_t columns);

}  // namespace spillway

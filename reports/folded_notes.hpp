// Notes of many runs, each kind of them once.
#pragma once

#include <string>
#include <vector>

namespace spillway {

/// Notes that are the same but for their figures become one that tells the smallest and largest of
/// each figure and how many of the cells say it: "12 of 20 cells: 5 to 341 preemptions". Sizes and
/// times are compared with their units. One that all cells say in the same words stays as it is.
/// Order: that of the first cell to say each.
std::vector<std::string> folded_notes(const std::vector<std::vector<std::string>>& notes_by_cell);

}  // namespace spillway

// Figures that stand beside what they are compared with, for people.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace spillway {

/// As format_percent() and format_real() write them; where two that differ would read the same,
/// all have as many more digits as tell them apart (six at the most).
std::vector<std::string> format_percents(std::initializer_list<double> fractions);
std::vector<std::string> format_reals(std::initializer_list<double> values);

}  // namespace spillway

// Lines no wider than a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// `text` in lines of at most `width` characters, broken between words, all but the first begun
/// with `hang` blanks. A word wider than a line stands on its own: nothing is ever cut. `width` 0:
/// one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t hang);

}  // namespace spillway

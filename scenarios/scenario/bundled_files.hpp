// What comes along with the program: scenarios, hardware profiles, sample traces.
#pragma once

#include <filesystem>
#include <string_view>

namespace spillway {

/// `folder` of the source tree, e.g. "scenarios/hardware": in the tree of a build that this program
/// lies in, or else where `cmake --install` puts it beside the program, be it there or not.
std::filesystem::path bundled_files(std::string_view folder);

}  // namespace spillway

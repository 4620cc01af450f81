// A compute profile as a document of kind "compute-profile" (`spillway schema compute-profile`) and
// back.
//
// `profile_version` stands beside `schema_version` and changes when a member changes its meaning.
// Members that this version does not know are left out with a warning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

inline constexpr int kComputeProfileVersion = 1;
inline constexpr std::string_view kComputeProfileKind = "compute-profile";
/// A profile's host overhead may be below 0, down to this: kernels measured eager hold what the
/// compiled ones of an engine save.
inline constexpr double kMostHostSavingUs = 10'000;

/// The whole document, with the profile's warnings; `inputs` is the caller's.
Document compute_profile_document(const ComputeProfile& profile,
                                  nlohmann::json inputs = nlohmann::json::object());

/// render_document() with each row of numbers on one line: a profile is mostly such rows.
std::string render_compute_profile(const Document& document);

/// Throws InputError (exit 2) with file, line, field and what was expected, also for what no GPU
/// can do: efficiencies above 1, ratios that are not above 0, axes that do not ascend. What
/// deserves a word is added to `warnings`; those of the document itself are in the profile.
ComputeProfile read_compute_profile(const JsonSource& source, std::vector<std::string>& warnings);

}  // namespace spillway

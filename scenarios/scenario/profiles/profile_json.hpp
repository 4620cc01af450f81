// A hardware profile as a document (`spillway schema profile`) and back.
//
// The document is of kind "hardware-profile"; its `profile_version` stands beside `schema_version`
// and changes when a member changes its meaning. Members that this version does not know are left
// out with a warning, so that a profile of a newer version can still be read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/profile.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

inline constexpr int kProfileVersion = 1;
inline constexpr std::string_view kProfileKind = "hardware-profile";

/// 16 hex digits over the machine's CPU, memory, NUMA nodes, GPUs and driver.
std::string machine_hash(const MachineFacts& machine);

/// The whole document, with the profile's warnings; `machine_hash` is computed, `inputs` is the
/// caller's.
Document profile_document(const HardwareProfile& profile,
                          nlohmann::json inputs = nlohmann::json::object());

/// Sections that rows belong to, as CellPlan::section names them: copy, contention, interference,
/// hbm, gemm, attention, dram, registration, storage, kv, collective.
std::vector<std::string_view> profile_sections();

/// Adds a row (see bench.hpp) to its section. Throws InputError (exit 2), calling the row `name`,
/// where a member is missing or of the wrong kind; returns the members it did not know.
std::vector<std::string> add_row(HardwareProfile& profile, std::string_view section,
                                 const nlohmann::json& row, const std::string& name);

/// Throws InputError (exit 2) with file, line, field and what was expected. What could be read but
/// deserves a word (unknown members, results that do not match their digest) is added to
/// `warnings`; those of the document itself are in the profile.
HardwareProfile read_profile(const JsonSource& source, std::vector<std::string>& warnings);

}  // namespace spillway

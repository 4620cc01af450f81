// Tables of a validation, from the results of its document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/report.hpp"

namespace spillway::validation {

/// The cases at a glance; cases of serving points apart.
std::vector<Table> summary_tables(const nlohmann::json& results);
/// Everything that one case compares; `brief` leaves out single requests, points and parameters.
std::vector<Table> case_tables(const nlohmann::json& c, bool brief);
/// Held-out scores of a fitted profile; models that its fit never saw are summed up apart.
std::vector<Table> profile_tables(const nlohmann::json& profile);

/// The regime's name; "-" where none was decided.
std::string regime_of(const nlohmann::json& c);
/// How many figures of a case have a limit ("bar", "tolerance"), and which break it, by the flag
/// ("misses_bar", "exceeds_tolerance").
std::size_t count_with(const nlohmann::json& c, const char* limit);
std::vector<std::string> broken(const nlohmann::json& c, const char* flag);

std::string text_at(const nlohmann::json& object, const char* key);
std::string joined(const std::vector<std::string>& parts, const char* between = ", ");

}  // namespace spillway::validation

// What Mooncake Store's master is told: flags of mooncake_master and the file of --config_path.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/scenario/intake/store_setting.hpp"

namespace spillway {

inline constexpr std::string_view kMooncakeMaster = "mooncake_master";
inline constexpr std::string_view kMooncakeClient = "mooncake_client";
inline constexpr std::string_view kMooncakeService = "mooncake.mooncake_store_service";

/// Flags of a program that reads them with gflags: --name=value, --name value, --name, --noname.
/// A later one of the same name stands behind an earlier one. `switches` take no second word.
StoreSettings gflags_of(const EngineCall& process, std::span<const std::string_view> switches);

/// Whether a key is one that only the file of a master has.
bool is_mooncake_master_key(std::string_view key);

/// Puts them into the tier `at` ("tiers.1"), with a remark for each. The SSD is on: true.
/// Throws InputError (exit 2) for a flag that mooncake_master refuses.
bool read_mooncake_master(const EngineCall& master, const std::string& at, Draft& draft);

}  // namespace spillway

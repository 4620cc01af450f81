// What documents of both kinds of profile (of hardware, of compute) share: the envelope, and what
// deserves a word once one was read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"

namespace spillway {

struct ProfileKind {
  std::string_view name;
  int version;
  std::string_view again;        ///< how to make one with this program: measure, fit
  std::string_view other = {};   ///< another kind that is taken for it ...
  std::string_view advice = {};  ///< ... and what to do about that
};

/// Throws InputError (exit 2) where kind or version are not those.
void check_profile_envelope(const ObjectReader& top, const ProfileKind& kind);

/// Members that nobody knows, and results that do not match their digest, into `warnings`.
void warn_of_contents(const ObjectReader& top, const UnknownMembers& unknown,
                      std::vector<std::string>& warnings);

/// At least one number, each larger than the one before.
bool ascending(const std::vector<double>& values);

}  // namespace spillway

#include "scenarios/scenario/profiles/profile_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "reports/document.hpp"

namespace spillway {

void check_profile_envelope(const ObjectReader& top, const ProfileKind& kind) {
  top.text("$schema");  // for editors; here only its type matters
  const std::string found = top.require_text("kind", fmt::format("\"{}\"", kind.name));
  if (found != kind.name) {
    top.fail("kind", fmt::format("expected \"{}\", found \"{}\"{}", kind.name, found,
                                 found == kind.other ? kind.advice : ""));
  }
  const auto version = [&](std::string_view key, std::int64_t known) {
    const std::int64_t given =
        top.require_integer(key, 0, std::numeric_limits<std::int32_t>::max());
    if (given == known) return;
    top.fail(key, fmt::format("unknown version {}; expected {}. Another version of spillway wrote "
                              "this profile: {} again with this one, or use that one",
                              given, known, kind.again));
  };
  version("schema_version", kSchemaVersion);
  version("profile_version", kind.version);
}

void warn_of_contents(const ObjectReader& top, const UnknownMembers& unknown,
                      std::vector<std::string>& warnings) {
  const JsonSource& source = top.source();
  if (!unknown.empty()) {
    warnings.push_back(fmt::format("{}: members this version does not know are left out: {}",
                                   source.name(), fmt::join(unknown, ", ")));
  }
  const auto digest = top.text("digest");
  if (!digest || *digest != digest_of(source.root().at("results"))) {
    warnings.push_back(
        fmt::format("{}: the results do not match their digest: edited by hand?", source.name()));
  }
}

bool ascending(const std::vector<double>& values) {
  return !values.empty() &&
         std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

}  // namespace spillway

// Media: what transfers share beside their own links, and which of them a link or device names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr std::string_view kDisciplines[] = {"fair", "fifo"};
constexpr Key kMediumKeys[] = {
    required(text_key("name", "Name that links and devices go through.")),
    required(rate_key("bandwidth", "Bandwidth over all flows.")),
    choice_key("discipline", kDisciplines,
               "fair: max-min fair shares. fifo: one transfer after another.", "fair"),
    choice_key("scope", kScopeNames,
               "Who shares one: the engines of an instance, the instances on a host, or all.",
               "instance")};

}  // namespace

const KeyTable ScenarioKeys::kMedium = kMediumKeys;

void read_media(const ObjectReader& top, Scenario& s) {
  for (const ObjectReader& object : top.objects("media", ScenarioKeys::kMedium)) {
    MediumChoice medium;
    medium.name = object.require_text("name");
    for (const MediumChoice& other : s.media) {
      if (other.name == medium.name) {
        object.fail("name", fmt::format("two media are called \"{}\"; expected different names",
                                        medium.name));
      }
    }
    medium.bytes_per_second = parse_bandwidth(object.require_text("bandwidth", ObjectReader::kRate),
                                              object.where("bandwidth"));
    medium.fifo = object.text("discipline") == "fifo";
    if (const auto scope = object.text("scope")) medium.scope = *scope_of(*scope);
    s.media.push_back(std::move(medium));
  }
}

std::vector<std::string> read_through(const ObjectReader& object, const Scenario& s) {
  std::vector<std::string> out;
  for (const std::string& name : object.texts("through").value_or(std::vector<std::string>{})) {
    const auto medium = std::find_if(s.media.begin(), s.media.end(),
                                     [&](const MediumChoice& m) { return m.name == name; });
    if (medium == s.media.end()) {
      std::vector<std::string_view> known;
      for (const MediumChoice& m : s.media) known.push_back(m.name);
      object.fail("through",
                  fmt::format("unknown medium \"{}\"; known: {}", name,
                              known.empty() ? "none (media lists them)"
                                            : fmt::format("{}", fmt::join(known, ", "))));
    }
    if (std::find(out.begin(), out.end(), name) != out.end()) {
      object.fail("through", fmt::format("expected each medium once, found \"{}\" twice", name));
    }
    out.push_back(name);
  }
  return out;
}

}  // namespace spillway

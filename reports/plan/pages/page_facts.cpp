#include "reports/plan/pages/page_facts.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/provenance.hpp"
#include "reports/shell_word.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// The value at a way of keys; null where there is none.
const json& at(const json& root, std::initializer_list<const char*> way) {
  static const json kNone;
  const json* here = &root;
  for (const char* key : way) {
    if (!here->is_object() || !here->contains(key)) return kNone;
    here = &(*here)[key];
  }
  return *here;
}

double number(const json& value, double otherwise) {
  return value.is_number() ? std::max(0.0, value.get<double>()) : otherwise;
}

/// "68719476736B", as resolved configurations write capacities; "inf" has no bound.
std::optional<double> bytes_of(const json& capacity) {
  if (!capacity.is_string()) return std::nullopt;
  const std::string& text = capacity.get_ref<const std::string&>();
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || unit != "B") return std::nullopt;
  return static_cast<double>(bytes);
}

}  // namespace

Installed installed_of(const Provenance& provenance, const std::string& tier) {
  const json configuration = object_at(provenance.inputs, "configuration");
  Installed out;
  const json& tiers = at(configuration, {"tiers"});
  for (const json& one : tiers.is_array() ? tiers : json::array()) {
    if (at(one, {"name"}) != tier) continue;
    out.has_tier = true;
    out.capacity_bytes = bytes_of(at(one, {"capacity"}));
  }
  const json& swap = at(configuration, {"engine", "swap_space"});
  if (!out.has_tier && swap.is_string()) {
    out.has_tier = true;
    out.capacity_bytes = bytes_of(swap);
  }
  const json& host = at(configuration, {"host"});
  if (!host.is_object()) return out;
  out.host_bytes = number(at(host, {"memory_bytes"}), 0);
  out.reserved_bytes = number(at(host, {"reserved_bytes"}), 0);
  out.engines_per_host =
      std::max(1.0, number(at(host, {"instances"}), 1)) *
      std::max(1.0, number(at(configuration, {"engine", "data_parallel_size"}), 1));
  return out;
}

std::string scenario_word(const Provenance& provenance) {
  const json& path = at(provenance.inputs, {"scenario", "path"});
  if (!path.is_string() || path.get_ref<const std::string&>().empty()) return "SCENARIO.json";
  return shell_word(printable(path.get<std::string>()));
}

}  // namespace spillway

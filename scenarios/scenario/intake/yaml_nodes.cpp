#include "scenarios/scenario/intake/yaml_nodes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/numbers.hpp"

namespace spillway {

namespace {

std::string shown(const YAML::Node& node) {
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  if (node.IsNull()) return "nothing";
  return fmt::format("\"{}\"", node.Scalar());
}

[[noreturn]] void wrong(const YAML::Node& node, const std::string& file, std::string_view key,
                        std::string_view expected) {
  throw InputError(Fault::kUsage, place_of(node, file, key),
                   fmt::format("expected {}, found {}", expected, shown(node)));
}

bool given(const YAML::Node& node) {
  return node.IsDefined() && !node.IsNull();
}

}  // namespace

std::string scalar(const YAML::Node& node) {
  return node && node.IsScalar() ? node.Scalar() : std::string();
}

std::optional<std::int64_t> whole(const YAML::Node& node) {
  std::int64_t value = 0;
  if (node && node.IsScalar() && YAML::convert<std::int64_t>::decode(node, value) && value > 0) {
    return value;
  }
  return std::nullopt;
}

std::vector<std::string> texts(const YAML::Node& node) {
  std::vector<std::string> out;
  if (!node || !node.IsSequence()) return out;
  for (const YAML::Node& item : node) {
    if (item.IsScalar()) out.push_back(item.Scalar());
  }
  return out;
}

YAML::Node child(const YAML::Node& map, const std::string& key) {
  if (!map.IsDefined() || !map.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  return map[key];
}

SourceRef place_of(const YAML::Node& node, const std::string& file, std::string_view key) {
  return {file, node.Mark().line + 1, std::string(key)};
}

std::optional<std::int64_t> whole_at(const YAML::Node& node, const std::string& file,
                                     std::string_view key) {
  if (!given(node)) return std::nullopt;
  const auto value = node.IsScalar() ? parse_whole<std::int64_t>(node.Scalar()) : std::nullopt;
  if (!value || *value < 0) wrong(node, file, key, "a whole number");
  return value;
}

std::optional<bool> truth_at(const YAML::Node& node, const std::string& file,
                             std::string_view key) {
  if (!given(node)) return std::nullopt;
  bool value = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value)) {
    wrong(node, file, key, "true or false");
  }
  return value;
}

void expect_map(const YAML::Node& node, const std::string& file, std::string_view key) {
  if (given(node) && !node.IsMap()) wrong(node, file, key, "a mapping");
}

std::optional<std::int64_t> quantity_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
      {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15}};
  double scale = 1;
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) continue;
    scale = bytes;
    text.remove_suffix(unit.size());
    break;
  }
  const std::optional<double> value = parse_real(text);
  if (!value || !(*value >= 0) || !(*value * scale < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(*value * scale));
}

std::optional<std::int64_t> quantity_at(const YAML::Node& node, const std::string& file,
                                        std::string_view key) {
  if (!given(node)) return std::nullopt;
  const auto bytes = node.IsScalar() ? quantity_bytes(node.Scalar()) : std::nullopt;
  if (!bytes) wrong(node, file, key, "a quantity such as 10Gi");
  return bytes;
}

std::string flag_of_key(std::string_view key) {
  std::string out = "--";
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      out += '-';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c == '_' ? '-' : c;
    }
  }
  return out;
}

ShellVariables environment_of(const YAML::Node& env, ShellVariables out) {
  if (env && env.IsSequence()) {
    for (const YAML::Node& item : env) {
      if (!item.IsMap() || !item["name"]) {
        const std::string pair = scalar(item);  // compose: "NAME=value"
        const std::size_t equals = pair.find('=');
        if (equals != std::string::npos) out[pair.substr(0, equals)] = pair.substr(equals + 1);
      } else if (item["value"] && item["value"].IsScalar()) {
        out[item["name"].Scalar()] = item["value"].Scalar();
      }
    }
  } else if (env && env.IsMap()) {
    for (const auto& entry : env) out[scalar(entry.first)] = scalar(entry.second);
  }
  return out;
}

}  // namespace spillway

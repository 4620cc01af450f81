#include "reports/fields/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

struct Ending {
  std::string_view of;
  std::string_view unit;
};
constexpr std::array<Ending, 9> kUnits = {{{"_bytes_per_s", "bytes/s"},
                                           {"_ms", "ms"},
                                           {"_us", "us"},
                                           {"_s", "s"},
                                           {"_seconds", "s"},
                                           {"_bytes", "bytes"},
                                           {"_tokens", "tokens"},
                                           {"_share", "share"},
                                           {"_fraction", "share"}}};

std::string unit_of(std::string_view name) {
  const auto at = std::find_if(kUnits.begin(), kUnits.end(),
                               [&](const Ending& e) { return name.ends_with(e.of); });
  return at == kUnits.end() ? "" : std::string(at->unit);
}

class Page {
 public:
  explicit Page(const Json& definitions) : definitions_(definitions) {}

  void add(const std::string& row) {
    rows_.push_back(row);
    for (std::size_t i = 0; i < rows_.size(); ++i) {  // grows
      const Json& schema = definitions_.at(rows_[i]);
      text_ += fmt::format("\n## {}\n\n", rows_[i]);
      if (schema.contains("description")) {
        text_ += schema["description"].get<std::string>() + "\n\n";
      }
      text_ += "| key | value | unit | meaning |\n|---|---|---|---|\n";
      members(schema, "");
    }
  }
  std::string text() && { return std::move(text_); }

 private:
  void members(const Json& schema, const std::string& prefix) {
    const Json needed = schema.value("required", Json::array());
    for (const auto& [name, member] : schema.at("properties").items()) {
      const bool always = std::find(needed.begin(), needed.end(), name) != needed.end();
      const std::string key = prefix + name;
      text_ +=
          fmt::format("| `{}` | {}{} | {} | {} |\n", key, value_of(member),
                      always ? "" : ", not always", unit_of(name), member.value("description", ""));
      if (member.contains("properties")) members(member, key + ".");
      if (member.contains("items") && member["items"].contains("properties")) {
        members(member["items"], key + "[].");
      }
    }
  }

  /// The value in words; what it refers to gets a section of its own.
  std::string value_of(const Json& member) {
    if (member.contains("$ref")) return linked(member["$ref"].get<std::string>());
    if (member.contains("enum")) {
      return fmt::format("`{}`", fmt::join(member["enum"].get<std::vector<std::string>>(), "`, `"));
    }
    if (member.contains("const")) return fmt::format("`{}`", member["const"].get<std::string>());
    if (member.contains("oneOf")) {
      std::string out;
      for (const Json& one : member["oneOf"]) {
        out += (out.empty() ? "" : " or ") + value_of(one);
      }
      return out;
    }
    if (member.contains("type") && member["type"].is_array()) {
      return fmt::format("{}", fmt::join(member["type"].get<std::vector<std::string>>(), " or "));
    }
    const auto type = member.value("type", "any");
    if (type == "array") return "list of " + value_of(member["items"]);
    const bool named = type == "object" && member.contains("additionalProperties") &&
                       member["additionalProperties"].is_object();
    return named ? value_of(member["additionalProperties"]) + " by name" : type;
  }

  std::string linked(const std::string& reference) {
    const std::string name = reference.substr(reference.rfind('/') + 1);
    if (std::find(rows_.begin(), rows_.end(), name) == rows_.end()) rows_.push_back(name);
    return fmt::format("[{}](#{})", name, name);
  }

  const Json& definitions_;
  std::vector<std::string> rows_;
  std::string text_;
};

}  // namespace

std::string member_reference(const Json& definitions, const std::string& row,
                             std::string_view title, std::string_view help) {
  Page page(definitions);
  page.add(row);
  return fmt::format("# {}\n\n{}\n", title, help) + std::move(page).text();
}

}  // namespace spillway

#include "scenarios/scenario/config/key_schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/fields/schema.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

// What parse_bytes, parse_capacity and parse_bandwidth take (quantities.hpp).
constexpr std::string_view kSizePattern = "^[0-9.]+ ?(B|[KMGT]i?B)$";
constexpr std::string_view kCapacityPattern = "^(inf|[0-9.]+ ?(B|[KMGT]i?B|blocks))$";
constexpr std::string_view kRatePattern = "[0-9]";

Json object_schema(KeyTable keys);

Json form_schema(const Key& key, KeyForm form) {
  Json out;
  switch (form) {
    case KeyForm::kText:
      if (key.choices.empty()) return {{"type", "string"}};
      out["enum"] = key.choices;
      return out;
    case KeyForm::kFlag:
      return {{"type", "boolean"}};
    case KeyForm::kInteger:
      out["type"] = "integer";
      schema_parts::limit(out, key.least, key.most);
      return out;
    case KeyForm::kNumber:
      out["type"] = "number";
      schema_parts::limit(out, key.least, key.most);
      return out;
    case KeyForm::kSize:
      return {{"type", "string"}, {"pattern", kSizePattern}};
    case KeyForm::kCapacity:
      return {{"type", "string"}, {"pattern", kCapacityPattern}};
    case KeyForm::kRate:
      return {{"type", "string"}, {"pattern", kRatePattern}};
    case KeyForm::kAxes:
      return {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}};
    case KeyForm::kRows:
      return {{"type", "array"}, {"items", {{"type", {"number", "null", "string", "array"}}}}};
    case KeyForm::kObject:
      break;
  }
  if (key.object == nullptr) return {{"type", "object"}};
  return object_schema(*key.object);
}

Json value_schema(const Key& key) {
  Json out = form_schema(key, key.form);
  if (key.list) out = {{"type", "array"}, {"items", std::move(out)}};
  if (key.also == key.form) return out;
  out = {{"oneOf", Json::array({std::move(out), form_schema(key, key.also)})}};
  if (key.by_name) {
    Json names = {{"type", "object"}, {"additionalProperties", out}};
    // An object of the one kind must not be taken for the other.
    Json taken = Json::array();
    for (const Key& own : *key.object) {
      if (own.required) taken.push_back(own.name);
    }
    names["not"] = {{"required", std::move(taken)}};
    out["oneOf"].push_back(std::move(names));
  }
  return out;
}

std::string described(const Key& key) {
  if (key.otherwise.empty()) return std::string(key.help);
  return fmt::format("{} Default: {}.", key.help, key.otherwise);
}

Json object_schema(KeyTable keys) {
  Json out = {{"type", "object"}, {"additionalProperties", false}};
  Json needed = Json::array();
  Json properties = Json::object();
  for (const Key& key : keys) {
    Json value = value_schema(key);
    value["description"] = described(key);
    properties[std::string(key.name)] = std::move(value);
    if (key.required) needed.push_back(key.name);
  }
  if (!needed.empty()) out["required"] = std::move(needed);
  out["properties"] = std::move(properties);
  return out;
}

void add_dotted(KeyTable keys, const std::string& prefix, std::vector<DottedKey>& out) {
  for (const Key& key : keys) {
    const std::string name = prefix + std::string(key.name);
    const bool object = key.form == KeyForm::kObject && key.object != nullptr;
    if (!object || key.also != key.form) out.push_back({name, &key});
    if (object) add_dotted(*key.object, name + (key.list ? ".0." : "."), out);
  }
}

std::string_view form_word(KeyForm form) {
  switch (form) {
    case KeyForm::kText:
      return "text";
    case KeyForm::kFlag:
      return "true, false";
    case KeyForm::kInteger:
      return "whole number";
    case KeyForm::kNumber:
      return "number";
    case KeyForm::kSize:
      return "size, `64GiB`";
    case KeyForm::kCapacity:
      return "size, blocks or `inf`";
    case KeyForm::kRate:
      return "rate, `25GB/s`";
    case KeyForm::kObject:
      return "object";
    case KeyForm::kAxes:
      return "keys with lists of values";
    case KeyForm::kRows:
      return "array of numbers or arrays";
  }
  return "";
}

std::string form_words(const Key& key) {
  std::string out(form_word(key.form));
  if (key.form == KeyForm::kText && !key.choices.empty()) {
    out = fmt::format("`{}`", fmt::join(key.choices, "`, `"));
  }
  if (key.form == KeyForm::kInteger || key.form == KeyForm::kNumber) {
    const bool above = key.least > -kNoLimit;
    const bool below = key.most < 1e15;
    if (above && below) out += fmt::format(", {} to {}", key.least, key.most);
    if (above && !below) out += fmt::format(", {} or more", key.least);
  }
  if (key.list) out = "list of: " + out;
  if (key.also != key.form) out += fmt::format("; or {}", form_word(key.also));
  if (key.by_name) out += ", or these by name";
  return out;
}

void add_section(KeyTable keys, const std::string& name, std::string_view title,
                 std::string_view help, std::string& out) {
  out += fmt::format("\n## {}\n\n{}\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
                     title, help);
  for (const Key& key : keys) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.name, form_words(key),
                       key.required ? "required" : key.otherwise, key.help);
  }
  for (const Key& key : keys) {
    if (key.object == nullptr) continue;
    const std::string below =
        fmt::format("{}{}{}", name, name.empty() ? "" : ".", key.name) + (key.list ? "[]" : "");
    add_section(*key.object, below, fmt::format("`{}`", below), key.help, out);
  }
}

}  // namespace

Json key_schema(KeyTable keys, std::string_view id, std::string_view title, std::string_view help) {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", fmt::format("https://spillway.dev/schema/{}", id)},
              {"title", title},
              {"description", help}};
  out.update(object_schema(keys));
  return out;
}

std::vector<DottedKey> dotted_keys(KeyTable keys) {
  std::vector<DottedKey> out;
  add_dotted(keys, "", out);
  return out;
}

std::string key_reference(KeyTable keys, std::string_view title, std::string_view help) {
  std::string out = fmt::format("# {}\n\n{}\n", title, help);
  add_section(keys, "", "Top level", "The sections of the file.", out);
  return out;
}

}  // namespace spillway

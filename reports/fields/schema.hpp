// The JSON Schema (2020-12) of a row, by the table of its members (sim/fields.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "reports/notes/note_fields.hpp"
#include "sim/fields.hpp"
#include "sim/note.hpp"

namespace spillway {

/// Rows that have a name of their own, by it: a schema's "$defs".
using SchemaDefinitions = nlohmann::ordered_json;

template <class T>
nlohmann::ordered_json schema_of(const FieldRule& rule, SchemaDefinitions& definitions);

/// What visit() calls to describe an object.
class SchemaBuilder {
 public:
  using Json = nlohmann::ordered_json;
  explicit SchemaBuilder(SchemaDefinitions& definitions) : definitions_(definitions) {}

  template <class T>
  void operator()(std::string_view name, const T&, const FieldRule& rule) {
    add(name, rule, schema_of<T>(rule, definitions_));
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>&, const FieldRule& rule) {
    FieldRule there = rule;
    there.required = rule.newer;
    add(name, there, schema_of<T>(there, definitions_));
  }
  template <class F, class T>
  void operator()(std::string_view name, const OrInf<F, T>&, const FieldRule& rule) {
    alternatives(name, rule, schema_of<std::remove_const_t<T>>(bare(rule), definitions_), "inf");
  }
  template <class T>
  void operator()(std::string_view name, const OrWord<T>& v, const FieldRule& rule) {
    alternatives(name, rule, schema_of<std::remove_const_t<T>>(bare(rule), definitions_), v.word);
  }
  template <class F>
  void operator()(std::string_view name, const Either<F>& v, const FieldRule& rule) {
    add(name, rule, described({{"enum", v.words}}, rule));
  }
  template <class F>
  void operator()(std::string_view name, const Mark<F>& v, const FieldRule& rule) {
    FieldRule there = rule;
    there.required = false;
    add(name, there, described({{"const", v.word}}, rule));
  }
  template <class F, class T>
  void operator()(std::string_view name, const Given<F, T>&, const FieldRule& rule) {
    FieldRule there = rule;
    there.required = false;
    add(name, there, schema_of<std::remove_const_t<T>>(there, definitions_));
  }
  template <class T>
  void operator()(std::string_view name, const OnlyIf<T>& v, const FieldRule& rule) {
    FieldRule there = rule;
    there.required = false;
    (*this)(name, v.value, there);
  }
  template <class T>
  void operator()(std::string_view name, const Unless<T>&, const FieldRule& rule) {
    FieldRule there = rule;
    there.required = rule.newer;
    add(name, there, schema_of<std::remove_const_t<T>>(there, definitions_));
  }
  template <class Visit>
  void operator()(std::string_view name, const Group<Visit>& v, const FieldRule& rule) {
    SchemaBuilder members(definitions_);
    v.visit(members);
    add(name, rule, described(members.finished(), rule));
  }
  template <class R, class K, class V>
  void operator()(std::string_view name, const ByName<R, K, V>& v, const FieldRule& rule) {
    using Row = typename std::remove_const_t<R>::value_type;
    using Value = std::remove_cvref_t<decltype(std::declval<Row&>().*v.value)>;
    Json out = {{"type", "object"},
                {"additionalProperties", schema_of<Value>(bare(rule), definitions_)}};
    add(name, rule, described(std::move(out), rule));
  }
  template <class R, class K>
  void operator()(std::string_view name, const Keyed<R, K>&, const FieldRule& rule) {
    using Row = typename std::remove_const_t<R>::value_type;
    Json out = {{"type", "object"},
                {"additionalProperties", schema_of<Row>(FieldRule{}, definitions_)}};
    add(name, rule, described(std::move(out), rule));
  }
  template <class R>
  void operator()(std::string_view name, const AsPairs<R>& v, const FieldRule& rule) {
    using Pair = typename std::remove_const_t<R>::value_type;
    SchemaBuilder members(definitions_);
    members(v.names[0], typename Pair::first_type{}, {.required = true});
    members(v.names[1], typename Pair::second_type{}, {.required = true});
    Json out = {{"type", "array"}, {"items", members.finished()}};
    add(name, rule, described(std::move(out), rule));
  }
  template <class T>
  void operator()(std::string_view name, const Derived<T>& v, const FieldRule& rule) {
    (*this)(name, v.value, rule);
  }
  template <class Visit>
  void operator()(std::string_view, const Together<Visit>& v, const FieldRule&) {
    const Json always = required_;
    v.visit(*this);
    required_ = always;
  }
  template <class T>
  void operator()(std::string_view name, const AsText<T>& v, const FieldRule& rule) {
    add(name, rule, described({{"$ref", "#/$defs/" + std::string(v.definition)}}, rule));
  }

  Json finished() const {
    Json out = {{"type", "object"}, {"additionalProperties", false}};
    if (!required_.empty()) out["required"] = required_;
    out["properties"] = properties_;
    return out;
  }

  static Json described(Json schema, const FieldRule& rule) {
    if (!rule.help.empty()) schema["description"] = rule.help;
    return schema;
  }
  /// Of what a member is made of: the member itself is described and may be left out.
  static FieldRule bare(FieldRule rule) {
    rule.help = {};
    rule.sparse = false;
    return rule;
  }

 private:
  void add(std::string_view name, const FieldRule& rule, Json schema) {
    properties_[std::string(name)] = std::move(schema);
    if (rule.required) required_.push_back(name);
  }
  void alternatives(std::string_view name, const FieldRule& rule, Json number,
                    std::string_view word) {
    Json out = {{"oneOf", Json::array({std::move(number), Json{{"const", word}}})}};
    add(name, rule, described(std::move(out), rule));
  }

  SchemaDefinitions& definitions_;
  Json properties_ = Json::object();
  Json required_ = Json::array();
};

namespace schema_parts {

template <class Row>
nlohmann::ordered_json object_of(SchemaDefinitions& definitions) {
  SchemaBuilder members(definitions);
  const Row row{};
  Fields<Row>::visit(row, members);
  nlohmann::ordered_json out = members.finished();
  if constexpr (requires { Fields<Row>::kHelp; }) out["description"] = Fields<Row>::kHelp;
  return out;
}

/// Limits of a number, of which kNoLimit is none.
inline void limit(nlohmann::ordered_json& out, double least, double most) {
  const auto put = [&](const char* key, double value) {
    const auto whole = static_cast<std::int64_t>(value);
    out[key] = value == static_cast<double>(whole) ? nlohmann::ordered_json(whole)
                                                   : nlohmann::ordered_json(value);
  };
  if (least > -kNoLimit) put("minimum", least);
  if (most < kNoLimit) put("maximum", most);
}

template <class T>
void limit(nlohmann::ordered_json& out, const FieldRule& rule) {
  limit(out, rule.sparse && std::integral<T> && rule.least < 1 ? 1 : rule.least, rule.most);
}

/// The types of a value that is one of several.
template <class... One>
std::vector<std::string> types_of(std::type_identity<std::variant<One...>>) {
  std::vector<std::string> out;
  for (const char* type : {std::is_arithmetic_v<One> ? "number" : "string" ...}) {
    if (std::find(out.begin(), out.end(), type) == out.end()) out.emplace_back(type);
  }
  return out;
}

}  // namespace schema_parts

template <class T>
nlohmann::ordered_json schema_of(const FieldRule& rule, SchemaDefinitions& definitions) {
  using Json = nlohmann::ordered_json;
  Json out;
  if constexpr (HasFields<T>) {
    if constexpr (requires { Fields<T>::kName; }) {
      const std::string name(Fields<T>::kName);
      if (!definitions.contains(name)) {
        definitions[name] = true;  // in its place, whatever it refers to itself
        Json row = schema_parts::object_of<T>(definitions);
        definitions[name] = std::move(row);
      }
      out["$ref"] = "#/$defs/" + name;
    } else {
      out = schema_parts::object_of<T>(definitions);
    }
  } else if constexpr (HasNames<T>) {
    out["enum"] = EnumNames<T>::kNames;
  } else if constexpr (std::is_same_v<T, Note>) {
    definitions["note"] = note_schema();
    out["$ref"] = "#/$defs/note";
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    out = Json::object();  // anything
  } else if constexpr (std::is_same_v<T, bool>) {
    out["type"] = "boolean";
  } else if constexpr (std::is_arithmetic_v<T>) {
    out["type"] = std::integral<T> ? "integer" : "number";
    schema_parts::limit<T>(out, rule);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    if (rule.choices.empty()) {
      out["type"] = "string";
      if (!rule.pattern.empty()) out["pattern"] = rule.pattern;
    } else {
      out["enum"] = rule.choices;
    }
  } else if constexpr (requires { std::variant_size<T>::value; }) {
    out["type"] = schema_parts::types_of(std::type_identity<T>{});
  } else if constexpr (requires { typename T::mapped_type; }) {
    out["type"] = "object";
    out["additionalProperties"] =
        schema_of<typename T::mapped_type>(SchemaBuilder::bare(rule), definitions);
  } else {
    out["type"] = "array";
    out["items"] = schema_of<typename T::value_type>(SchemaBuilder::bare(rule), definitions);
  }
  return SchemaBuilder::described(std::move(out), rule);
}

/// For documents that a newer version may have written: members that nobody lists are allowed.
inline void allow_unlisted(nlohmann::ordered_json& schema) {
  constexpr const char* kUnlisted = "additionalProperties";
  if (schema.is_object() && schema.contains(kUnlisted) && schema[kUnlisted] == false) {
    schema.erase(kUnlisted);
  }
  if (!schema.is_structured()) return;
  for (nlohmann::ordered_json& part : schema) allow_unlisted(part);
}

}  // namespace spillway

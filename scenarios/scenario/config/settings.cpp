#include "scenarios/scenario/config/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/quantities.hpp"

namespace spillway {

namespace {

using nlohmann::json;

bool has_keys(const Key& key, const json& value) {
  if (key.form != KeyForm::kObject || key.object == nullptr) return false;
  return key.list ? value.is_array() : value.is_object();
}

json without_nulls(json value) {
  if (value.is_null()) return kUnlimited;
  if (value.is_array()) {
    for (json& item : value) item = without_nulls(std::move(item));
  }
  return value;
}

class Settler {
 public:
  explicit Settler(const JsonSource& source) : source_(source) {}

  Settings settle(KeyTable keys) {
    out_.values = object(source_.root(), keys, "", out_.meaning);
    return std::move(out_);
  }

 private:
  json object(const json& from, KeyTable keys, const std::string& pointer, json& meaning) {
    json values = json::object();
    meaning = json::object();
    for (const Key& key : keys) {
      const std::string name(key.name);
      const SourceRef where = source_.where(pointer + "/" + name);
      const auto given = from.find(name);
      const bool absent = given == from.end() || given->is_null();
      const json value = absent ? default_of(key) : *given;
      if (has_keys(key, value)) {
        values[name] = below(key, value, pointer + "/" + name, meaning[name]);
        if (meaning[name].empty()) meaning.erase(name);  // as without it
        continue;
      }
      std::string origin(absent && value.is_null() ? key.otherwise : "");
      if (!absent) origin = where.line > 0 ? fmt::format("line {}", where.line) : where.file;
      if (!origin.empty()) out_.origins[where.field] = std::move(origin);
      if (value.is_null()) continue;
      values[name] = without_nulls(value);
      if (!key.aside) meaning[name] = meaning_of(key, values[name], where);
    }
    return values;
  }

  json below(const Key& key, const json& value, const std::string& pointer, json& meaning) {
    if (!key.list) return object(value, *key.object, pointer, meaning);
    json values = meaning = json::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      json& means = meaning.emplace_back();
      values.push_back(object(value[i], *key.object, fmt::format("{}/{}", pointer, i), means));
    }
    return values;
  }

  const JsonSource& source_;
  Settings out_;
};

}  // namespace

Settings settings_of(const JsonSource& source, KeyTable keys) {
  return Settler(source).settle(keys);
}

json default_of(const Key& key) {
  const std::string_view text = key.otherwise;
  if (text.empty() || text.find(' ') != text.npos || key.list) return nullptr;
  switch (key.form) {
    case KeyForm::kText:
      return text;
    case KeyForm::kFlag:
    case KeyForm::kInteger:
    case KeyForm::kNumber: {
      json value = json::parse(text, nullptr, false);
      return value.is_discarded() ? json() : value;
    }
    case KeyForm::kSize:
    case KeyForm::kCapacity:
    case KeyForm::kRate:
      return text.front() >= '0' && text.front() <= '9' ? json(text) : json();
    case KeyForm::kObject:
    case KeyForm::kAxes:
    case KeyForm::kRows:
      break;
  }
  return nullptr;
}

json meaning_of(const Key& key, const json& value, const SourceRef& where) {
  if (value.is_array()) {
    json out = json::array();
    for (const json& item : value) out.push_back(meaning_of(key, item, where));
    return out;
  }
  if (value.is_number() && key.form == KeyForm::kNumber) return value.get<double>();
  if (!value.is_string()) return value;
  const auto text = value.get<std::string>();
  if (std::ranges::find(key.choices, text) != key.choices.end()) return value;
  if (key.form == KeyForm::kSize) return parse_bytes(text, where).count();
  if (key.form == KeyForm::kCapacity) return capacity_text(parse_capacity(text, where));
  if (key.form == KeyForm::kRate) return parse_bandwidth(text, where);
  return value;
}

}  // namespace spillway

// Rows of a document to JSON and back, by the table of their members (fields.hpp).
//
// Fields<Row> may have, beside visit(): absent(row), where a row that holds nothing is left out;
// check(in, row), which throws for members that do not go together.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fields.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

// ---- writing

template <class Row>
concept HasFields = requires {
  sizeof(Fields<Row>);
};

template <HasFields Row>
nlohmann::json written(const Row& row);

template <class T>
nlohmann::json member(const T& value);
template <class T>
nlohmann::json member(const std::vector<T>& values);
template <class T>
nlohmann::json member(const std::map<std::string, T>& values) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, value] : values) out[name] = member<T>(value);
  return out;
}

template <class T>
nlohmann::json member(const T& value) {
  if constexpr (HasFields<T>) {
    return written(value);
  } else {
    return value;
  }
}
template <class T>
nlohmann::json member(const std::vector<T>& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& value : values) out.push_back(member<T>(value));
  return out;
}

template <HasFields Row>
nlohmann::json written(const Row& row) {
  nlohmann::json out = nlohmann::json::object();
  Fields<Row>::visit(row, [&](std::string_view name, const auto& value, const FieldRule&) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (requires { Fields<Value>::absent(value); }) {
      if (Fields<Value>::absent(value)) return;
    }
    out[std::string(name)] = member(value);
  });
  return out;
}

// ---- reading

/// Members that nobody asked for, by the place where they stand, without array positions.
using UnknownMembers = std::set<std::string>;

template <class Row>
Row read_row(const ObjectReader& in, const std::string& place, UnknownMembers& unknown);

class FieldReader {
 public:
  FieldReader(const ObjectReader& in, std::string place, UnknownMembers& unknown)
      : in_(in), place_(std::move(place)), unknown_(unknown) {}

  template <class T>
  void operator()(std::string_view key, T& value, const FieldRule& rule) {
    seen_.insert(std::string(key));
    if (!in_.has(key)) {
      if (rule.required) in_.missing(key, expectation(value, rule));
      return;
    }
    read(key, value, rule);
  }

  void note_unknown() {
    for (const std::string& key : in_.keys()) {
      if (!seen_.contains(key)) unknown_.insert(place_.empty() ? key : place_ + "." + key);
    }
  }

 private:
  template <class T>
  static std::string expectation(const T&, const FieldRule& rule) {
    if constexpr (std::same_as<T, std::string>) {
      return rule.choices.empty() ? std::string(ObjectReader::kString)
                                  : fmt::format("one of {}", fmt::join(rule.choices, ", "));
    } else if constexpr (std::same_as<T, bool>) {
      return "true or false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format("a number from {} to {}", rule.least, rule.most);
    } else if constexpr (requires(T t) { t.push_back({}); }) {
      return "an array";
    } else {
      return "an object";
    }
  }

  void read(std::string_view key, std::string& value, const FieldRule& rule) {
    value = *in_.text(key);
    if (rule.choices.empty()) return;
    if (std::find(rule.choices.begin(), rule.choices.end(), value) == rule.choices.end()) {
      in_.fail(key, unknown_name("name", value, rule.choices));
    }
  }
  void read(std::string_view key, bool& value, const FieldRule&) { value = *in_.boolean(key); }
  void read(std::string_view key, double& value, const FieldRule& rule) {
    value = *in_.number(key, rule.least, rule.most);
  }
  template <std::integral T>
  void read(std::string_view key, T& value, const FieldRule& rule) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    constexpr auto kLimit =
        std::min<std::uint64_t>(kMost, std::numeric_limits<std::int64_t>::max());
    value = static_cast<T>(*in_.integer(key, static_cast<std::int64_t>(rule.least),
                                        static_cast<std::int64_t>(kLimit)));
  }
  void read(std::string_view key, std::vector<double>& value, const FieldRule& rule) {
    value = *in_.numbers(key, rule.least, rule.most);
  }
  void read(std::string_view key, std::vector<bool>& value, const FieldRule&) {
    const nlohmann::json& array = in_.value(key);
    const auto flag = [](const nlohmann::json& item) { return item.is_boolean(); };
    if (!array.is_array() || !std::all_of(array.begin(), array.end(), flag)) {
      in_.fail(key, "expected an array, each item true or false");
    }
    for (const nlohmann::json& item : array) value.push_back(item.get<bool>());
  }
  void read(std::string_view key, std::map<std::string, double>& value, const FieldRule& rule) {
    const ObjectReader map = *in_.open_object(key);
    for (const std::string& name : map.keys()) {
      value[name] = map.require_number(name, rule.least, rule.most);
    }
  }
  void read(std::string_view key, std::vector<std::string>& value, const FieldRule&) {
    value = *in_.texts(key);
  }
  void read(std::string_view key, std::vector<std::vector<double>>& value, const FieldRule& rule) {
    const nlohmann::json& array = in_.value(key);
    const auto number = [](const nlohmann::json& item) { return item.is_number(); };
    const auto row = [&](const nlohmann::json& item) {
      return item.is_array() && std::all_of(item.begin(), item.end(), number);
    };
    if (!array.is_array() || !std::all_of(array.begin(), array.end(), row)) {
      in_.fail(key, "expected an array, each item an array of numbers");
    }
    value = array.get<std::vector<std::vector<double>>>();
    for (const std::vector<double>& items : value) {
      const auto bad = std::find_if(items.begin(), items.end(), [&](double item) {
        return !(item >= rule.least && item <= rule.most);
      });
      if (bad == items.end()) continue;
      in_.fail(key, fmt::format("expected numbers from {} to {}, found {}", rule.least, rule.most,
                                *bad));
    }
  }
  template <HasFields Row>
  void read(std::string_view key, std::map<std::string, Row>& value, const FieldRule&) {
    const ObjectReader map = *in_.open_object(key);
    for (const std::string& name : map.keys()) {
      const auto item = map.open_object(name);
      if (!item) map.missing(name, "an object");
      value[name] = read_row<Row>(*item, fmt::format("{}.*", below(key)), unknown_);
    }
  }
  template <class Row>
  void read(std::string_view key, std::vector<Row>& value, const FieldRule&) {
    for (const ObjectReader& item : in_.open_objects(key)) {
      value.push_back(read_row<Row>(item, fmt::format("{}[]", below(key)), unknown_));
    }
  }
  template <HasFields Row>
  void read(std::string_view key, Row& value, const FieldRule&) {
    value = read_row<Row>(*in_.open_object(key), below(key), unknown_);
  }

  std::string below(std::string_view key) const {
    return place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
  }

  const ObjectReader& in_;
  std::string place_;
  UnknownMembers& unknown_;
  std::set<std::string> seen_;
};

template <class Row>
Row read_row(const ObjectReader& in, const std::string& place, UnknownMembers& unknown) {
  Row row;
  FieldReader reader(in, place, unknown);
  Fields<Row>::visit(row, reader);
  reader.note_unknown();
  if constexpr (requires { Fields<Row>::check(in, row); }) Fields<Row>::check(in, row);
  return row;
}

}  // namespace spillway

// A row from a document that people may have written, by the table of its members (sim/fields.hpp):
// errors name file, line and field. Fields<Row> may have, in addition to visit():
//   check(in, row)   throws for members that do not go together, or keeps where the row stands
//   kClosed          members that nobody knows are refused
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/object_reader.hpp"
#include "sim/catalogue.hpp"
#include "sim/fields.hpp"

namespace spillway {

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
    seen_.emplace_back(key);
    if (!in_.has(key)) {
      if (rule.required && !rule.newer) in_.missing(key, expectation(value, rule));
      return;
    }
    read(key, value, rule);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& value, const FieldRule& rule) {
    seen_.emplace_back(key);
    if (in_.has(key)) read(key, value.emplace(), rule);
  }
  template <class T>
  void operator()(std::string_view key, const Unless<T>& v, const FieldRule& rule) {
    seen_.emplace_back(key);
    if (in_.has(key)) read(key, v.value, rule);
  }

  template <class Visit>
  void operator()(std::string_view key, const Group<Visit>& v, const FieldRule& rule) {
    seen_.emplace_back(key);
    if (!in_.has(key)) {
      if (rule.required && !rule.newer) in_.missing(key, "an object");
      return;
    }
    const ObjectReader members = *in_.open_object(key);
    FieldReader reader(members, below(key), unknown_);
    v.visit(reader);
    reader.note_unknown();
  }
  template <class T>
  void operator()(std::string_view key, const Derived<T>&, const FieldRule&) {
    seen_.emplace_back(key);
  }
  template <class T>
  void operator()(std::string_view key, const Either<T>& v, const FieldRule&) {
    seen_.emplace_back(key);
    if (const auto word = in_.text(key)) v.flag = *word == v.words[0];
  }

  void refuse_unknown(std::string_view what) {
    for (const std::string& key : in_.keys()) {
      if (seen(key)) continue;
      const std::vector<std::string_view> known(seen_.begin(), seen_.end());
      in_.fail(key, unknown_name(fmt::format("key of {}", what), key, known));
    }
  }
  void note_unknown() {
    for (const std::string& key : in_.keys()) {
      if (!seen(key)) unknown_.insert(place_.empty() ? key : place_ + "." + key);
    }
  }

 private:
  bool seen(const std::string& key) const { return std::ranges::find(seen_, key) != seen_.end(); }
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
    constexpr auto kLimit = static_cast<std::int64_t>(
        std::min<std::uint64_t>(kMost, std::numeric_limits<std::int64_t>::max()));
    const std::int64_t most =
        rule.most < kNoLimit ? std::min(kLimit, static_cast<std::int64_t>(rule.most)) : kLimit;
    value = static_cast<T>(*in_.integer(key, static_cast<std::int64_t>(rule.least), most));
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
  std::vector<std::string> seen_;  ///< in the order of the table
};

template <class Row>
Row read_row(const ObjectReader& in, const std::string& place, UnknownMembers& unknown) {
  Row row;
  FieldReader reader(in, place, unknown);
  Fields<Row>::visit(row, reader);
  if constexpr (requires { Fields<Row>::kClosed; }) {
    reader.refuse_unknown(place);
  } else {
    reader.note_unknown();
  }
  if constexpr (requires { Fields<Row>::check(in, row); }) Fields<Row>::check(in, row);
  return row;
}

}  // namespace spillway

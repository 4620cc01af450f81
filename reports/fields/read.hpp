// A row from JSON that this program wrote, by the table of its members (sim/fields.hpp). Throws
// nlohmann's exceptions, and document_fault, for what is missing or of another kind: whoever knows
// the file tells of it. Members that nobody knows are left alone: a later build may write more.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "reports/document_fault.hpp"
#include "reports/notes/note_fields.hpp"
#include "sim/fields.hpp"

namespace spillway {

template <class T>
void from_document(const nlohmann::json& from, T& value, std::string_view name);

/// A row that stands by itself.
template <class Row>
Row read_document(const nlohmann::json& from) {
  Row row;
  from_document(from, row, "results");
  return row;
}

/// What visit() calls to read an object.
class FieldParser {
 public:
  explicit FieldParser(const nlohmann::json& from) : from_(from) {}

  template <class T>
  void operator()(std::string_view name, T& value, const FieldRule& rule) {
    if (const nlohmann::json* found = find(name, rule)) from_document(*found, value, name);
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value, const FieldRule&) {
    if (const nlohmann::json* found = find(name, {})) from_document(*found, value.emplace(), name);
  }
  template <class F, class T>
  void operator()(std::string_view name, const OrInf<F, T>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    v.unbounded = found->is_string();
    if (!v.unbounded) from_document(*found, v.count, name);
  }
  template <class T>
  void operator()(std::string_view name, const OrWord<T>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found != nullptr && !found->is_string()) from_document(*found, v.value, name);
  }
  template <class F>
  void operator()(std::string_view name, const Either<F>& v, const FieldRule& rule) {
    if (const nlohmann::json* found = find(name, rule)) v.flag = *found == v.words[0];
  }
  template <class F>
  void operator()(std::string_view name, const Mark<F>& v, const FieldRule&) {
    const nlohmann::json* found = find(name, {});
    v.flag = found != nullptr && *found == v.word;
  }
  template <class F, class T>
  void operator()(std::string_view name, const Given<F, T>& v, const FieldRule&) {
    const nlohmann::json* found = find(name, {});
    v.flag = found != nullptr;
    if (found != nullptr) from_document(*found, v.value, name);
  }
  template <class T>
  void operator()(std::string_view name, const OnlyIf<T>& v, const FieldRule& rule) {
    if (v.there) (*this)(name, v.value, rule);
  }
  template <class T>
  void operator()(std::string_view name, const Unless<T>& v, const FieldRule&) {
    if (const nlohmann::json* found = find(name, {})) from_document(*found, v.value, name);
  }
  template <class Visit>
  void operator()(std::string_view name, const Group<Visit>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    if (!found->is_object()) document_fault(fmt::format("{}: expected an object", name));
    v.visit(FieldParser(*found));
  }
  template <class R, class K, class V>
  void operator()(std::string_view name, const ByName<R, K, V>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    for (const auto& item : found->items()) {
      auto& row = v.rows.emplace_back();
      row.*v.key = item.key();
      from_document(item.value(), row.*v.value, item.key());
    }
  }
  template <class R, class K>
  void operator()(std::string_view name, const Keyed<R, K>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    for (const auto& item : found->items()) {
      auto& row = v.rows.emplace_back();
      row.*v.key = item.key();
      from_document(item.value(), row, item.key());
    }
  }
  template <class R>
  void operator()(std::string_view name, const AsPairs<R>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    for (const nlohmann::json& item : *found) {
      auto& [first, second] = v.rows.emplace_back();
      from_document(item.at(std::string(v.names[0])), first, v.names[0]);
      from_document(item.at(std::string(v.names[1])), second, v.names[1]);
    }
  }
  template <class T>
  void operator()(std::string_view, const Derived<T>&, const FieldRule&) {}
  template <class Visit>
  void operator()(std::string_view name, const Together<Visit>& v, const FieldRule&) {
    if (from_.contains(std::string(name))) v.visit(*this);
  }
  template <class T>
  void operator()(std::string_view name, const AsText<T>& v, const FieldRule& rule) {
    const nlohmann::json* found = find(name, rule);
    if (found == nullptr) return;
    v.text = found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  /// Null where it may be missing and is.
  const nlohmann::json* find(std::string_view name, const FieldRule& rule) const {
    const std::string key(name);
    if (!from_.contains(key) && (!rule.required || rule.newer)) return nullptr;
    return &from_.at(key);
  }

  const nlohmann::json& from_;
};

template <class T>
void from_document(const nlohmann::json& from, T& value, std::string_view name) {
  if constexpr (HasFields<T>) {
    Fields<T>::visit(value, FieldParser(from));
    if constexpr (requires { Fields<T>::finish(value); }) Fields<T>::finish(value);
  } else if constexpr (HasNames<T>) {
    const auto& names = EnumNames<T>::kNames;
    const auto found = from.get<std::string>();
    const auto at = std::find(names.begin(), names.end(), found);
    if (at == names.end()) {
      document_fault(
          fmt::format("{}: expected one of {}, found \"{}\"", name, fmt::join(names, ", "), found));
    }
    value = static_cast<T>(at - names.begin());
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (const auto& item : from.items()) {
      from_document(item.value(), value[item.key()], item.key());
    }
  } else if constexpr (requires { value.emplace_back(); }) {
    if (!from.is_array()) document_fault(fmt::format("{}: expected an array", name));
    for (const nlohmann::json& item : from) {
      if constexpr (std::is_same_v<typename T::value_type, bool>) {
        value.push_back(item.get<bool>());
      } else {
        from_document(item, value.emplace_back(), name);
      }
    }
  } else if constexpr (std::integral<T> && !std::is_same_v<T, bool>) {
    value = whole<T>(from);
  } else {
    from.get_to(value);
  }
}

}  // namespace spillway

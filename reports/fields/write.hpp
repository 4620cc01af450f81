// A row as JSON, by the table of its members (sim/fields.hpp).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "reports/notes/note_fields.hpp"
#include "sim/fields.hpp"

namespace spillway {

template <class T>
nlohmann::json to_document(const T& value);

/// What visit() calls to fill an object.
class FieldWriter {
 public:
  explicit FieldWriter(nlohmann::json& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view name, const T& value, const FieldRule& rule) {
    if (rule.sparse && blank(value, rule)) return;
    if constexpr (requires { Fields<T>::absent(value); }) {
      if (Fields<T>::absent(value)) return;
    }
    out_[std::string(name)] = to_document(value);
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& value, const FieldRule&) {
    if (value) out_[std::string(name)] = to_document(*value);
  }
  template <class F, class T>
  void operator()(std::string_view name, const OrInf<F, T>& v, const FieldRule&) {
    out_[std::string(name)] = v.unbounded ? nlohmann::json("inf") : nlohmann::json(v.count);
  }
  template <class T>
  void operator()(std::string_view name, const OrWord<T>& v, const FieldRule&) {
    out_[std::string(name)] = v.value == 0 ? nlohmann::json(v.word) : nlohmann::json(v.value);
  }
  template <class F>
  void operator()(std::string_view name, const Either<F>& v, const FieldRule& rule) {
    if (rule.sparse && v.flag) return;
    out_[std::string(name)] = v.words[v.flag ? 0 : 1];
  }
  template <class F>
  void operator()(std::string_view name, const Mark<F>& v, const FieldRule&) {
    if (v.flag) out_[std::string(name)] = v.word;
  }
  template <class F, class T>
  void operator()(std::string_view name, const Given<F, T>& v, const FieldRule& rule) {
    if (v.flag) (*this)(name, v.value, rule);
  }
  template <class T>
  void operator()(std::string_view name, const OnlyIf<T>& v, const FieldRule& rule) {
    if (v.there) (*this)(name, v.value, rule);
  }
  template <class T>
  void operator()(std::string_view name, const Unless<T>& v, const FieldRule& rule) {
    if (v.known()) (*this)(name, v.value, rule);
  }
  template <class Visit>
  void operator()(std::string_view name, const Group<Visit>& v, const FieldRule& rule) {
    nlohmann::json members = nlohmann::json::object();
    v.visit(FieldWriter(members));
    if (!rule.sparse || !members.empty()) out_[std::string(name)] = std::move(members);
  }
  template <class R, class K, class V>
  void operator()(std::string_view name, const ByName<R, K, V>& v, const FieldRule& rule) {
    if (rule.sparse && v.rows.empty()) return;
    nlohmann::json members = nlohmann::json::object();
    for (const auto& row : v.rows) members[row.*v.key] = to_document(row.*v.value);
    out_[std::string(name)] = std::move(members);
  }
  template <class R>
  void operator()(std::string_view name, const AsPairs<R>& v, const FieldRule& rule) {
    if (rule.sparse && v.rows.empty()) return;
    nlohmann::json items = nlohmann::json::array();
    for (const auto& [first, second] : v.rows) {
      nlohmann::json& item = items.emplace_back();
      item[std::string(v.names[0])] = to_document(first);
      item[std::string(v.names[1])] = to_document(second);
    }
    out_[std::string(name)] = std::move(items);
  }
  template <class T>
  void operator()(std::string_view name, const Derived<T>& v, const FieldRule& rule) {
    (*this)(name, v.value, rule);
  }
  template <class Visit>
  void operator()(std::string_view, const Together<Visit>& v, const FieldRule&) {
    if (v.there) v.visit(*this);
  }
  template <class T>
  void operator()(std::string_view name, const AsText<T>& v, const FieldRule&) {
    out_[std::string(name)] = nlohmann::json::parse(v.text);
  }
  template <class R, class K>
  void operator()(std::string_view name, const Keyed<R, K>& v, const FieldRule& rule) {
    if (rule.sparse && v.rows.empty()) return;
    nlohmann::json members = nlohmann::json::object();
    for (const auto& row : v.rows) members[row.*v.key] = to_document(row);
    out_[std::string(name)] = std::move(members);
  }

 private:
  template <class T>
  static bool blank(const T& value, const FieldRule& rule) {
    if constexpr (std::is_same_v<T, bool>) {
      return !value;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value == 0 || static_cast<double>(value) < rule.least;
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return false;
    }
  }

  nlohmann::json& out_;
};

template <class T>
nlohmann::json to_document(const T& value) {
  if constexpr (HasFields<T>) {
    nlohmann::json out = nlohmann::json::object();
    Fields<T>::visit(value, FieldWriter(out));
    return out;
  } else if constexpr (HasNames<T>) {
    return name_of(value);
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    return value;
  } else if constexpr (requires { std::variant_size<T>::value; }) {
    return std::visit([](const auto& one) { return to_document(one); }, value);
  } else if constexpr (requires { typename T::mapped_type; }) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [name, item] : value) out[name] = to_document(item);
    return out;
  } else if constexpr (requires {
                         typename T::value_type;
                         value.begin();
                       } &&
                       !std::is_convertible_v<T, std::string_view>) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& item : value) out.push_back(to_document<typename T::value_type>(item));
    return out;
  } else {
    return value;
  }
}

}  // namespace spillway

// What a document says of the members of a row: one table that writing, reading and tests walk.
//
// Fields<Row>::visit(row, f) calls f(name, member, rule) for each, in the document's order.
#pragma once

#include <span>
#include <string_view>

namespace spillway {

class ObjectReader;

/// What a document may say of a member.
struct FieldRule {
  bool required = false;
  double least = 0;
  double most = 1e18;
  std::span<const std::string_view> choices = {};  ///< of a text; empty: any
};

inline constexpr FieldRule kNeeded = {.required = true};
inline constexpr FieldRule kCountRule = {.required = true, .least = 1};

template <class Row>
struct Fields;

}  // namespace spillway

// Typed parameters of policies. A policy's choice is written in one word, in scenarios and on the
// command line alike: `name`, or `name:key=value:key=value`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

/// One parameter of a policy. Units end the name (`ttl_s`, `prefix_tokens`).
struct ParamSpec {
  enum class Kind : std::uint8_t { kReal, kWhole, kText };

  std::string_view name;
  std::string_view help;
  double fallback = 0;
  double least = 0;
  double most = 0;
  Kind kind = Kind::kReal;
  std::string_view text{};   ///< the fallback of a kText
  std::string_view words{};  ///< what a kText may be, as "a|b"; empty: anything
  bool required = false;     ///< there is no sensible fallback
};

/// The values of one policy's parameters: what the user gave, else the fallbacks.
class Params {
 public:
  /// `given` is `key=value:key=value`, or empty. Throws InputError (exit 2) at `where` for an
  /// unknown, repeated or missing key, for what is not a number, and for a value out of range.
  Params(std::span<const ParamSpec> specs, std::string_view policy, std::string_view given,
         const SourceRef& where);

  /// Preconditions: the policy has a parameter of that name and kind.
  double real(std::string_view name) const;
  std::uint64_t whole(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// Whether the user gave it. Precondition: the policy has it.
  bool is_given(std::string_view name) const;

  /// `key=value:...` of what was given, in the table's order; empty when nothing was.
  std::string given() const;

 private:
  struct Value {
    double number = 0;
    std::string text;
    bool given = false;
  };
  std::size_t index_of(std::string_view name, ParamSpec::Kind kind) const;

  std::span<const ParamSpec> specs_;
  std::vector<Value> values_;
};

}  // namespace spillway

// A scenario being made from something else: each value with where it comes from, and what of the
// input was used, left out or assumed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/fields.hpp"

namespace spillway {

/// What became of a part of the input.
enum class Standing : std::uint8_t {
  kUsed,
  kAssumed,      ///< the input does not say it: check it first
  kNotModelled,  ///< it would matter, and is left out
  kNoEffect,     ///< nothing here depends on it
  kUnknown,      ///< no flag that is known
};
template <>
struct EnumNames<Standing> {
  static constexpr std::array<std::string_view, 5> kNames = {"used", "assumed", "not_modelled",
                                                             "no_effect", "unknown"};
};

struct Remark {
  Standing standing = Standing::kUsed;
  std::string what;  ///< "--max-num-seqs 128"
  std::string why;   ///< "engine.max_num_seqs", or the consequence
};

class Draft {
 public:
  /// Sets a dotted key ("tiers.0.capacity"); a later value replaces an earlier one. `origin` stands
  /// behind it in the file, without line breaks.
  void set(const std::string& key, nlohmann::ordered_json value, const std::string& origin);
  void erase(const std::string& key);
  bool has(const std::string& key) const;
  nlohmann::ordered_json at(const std::string& key) const;  ///< null where it is not set

  void remark(Standing standing, std::string what, std::string why);

  /// The scenario as people read it: one value a line with its origin as a comment.
  std::string text() const;
  const std::vector<Remark>& remarks() const { return remarks_; }
  /// Left out by whoever has another value.
  void forget(Standing standing, const std::string& what);

 private:
  nlohmann::ordered_json root_ = nlohmann::ordered_json::object();
  std::vector<std::pair<std::string, std::string>> origins_;  ///< by dotted key
  std::vector<Remark> remarks_;
};

}  // namespace spillway

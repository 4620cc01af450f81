// Typed reading of a JSON object against its table of known keys. Every error names file, line and
// field, what was expected and what was found; an unknown key names the section that has it, or the
// nearest known one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/config/key.hpp"
#include "sim/error.hpp"

namespace spillway {

class JsonSource;

class ObjectReader {
 public:
  static constexpr std::string_view kString = "a string";
  static constexpr std::string_view kSize = "a size with its unit, e.g. \"64GiB\"";
  static constexpr std::string_view kRate = "a rate with its unit, e.g. \"25GB/s\"";

  /// Throws InputError unless `pointer` leads to an object whose keys are all in `known`. `what`
  /// names the object in errors ("engine"). `document`: all keys, where these are a section of it.
  ObjectReader(const JsonSource& source, std::string pointer, std::string_view what, KeyTable known,
               KeyTable document = {});
  /// The same, whatever the keys: for documents that a newer version may have written.
  ObjectReader(const JsonSource& source, std::string pointer, std::string_view what);

  /// null counts as absent, here and below.
  bool has(std::string_view key) const { return find(key) != nullptr; }
  SourceRef where(std::string_view key = {}) const;

  /// `what` the error calls a value of another type. One of the choices in the key's row, where
  /// it has some.
  std::optional<std::string> text(std::string_view key, std::string_view what = kString) const;
  std::optional<bool> boolean(std::string_view key) const;
  /// Within the limits of the key's row; in an object without rows a count.
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::int64_t require_integer(std::string_view key) const;
  double require_number(std::string_view key) const;
  /// Within other limits, which depend on what else the document says, or in an object without
  /// rows.
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least,
                                      std::int64_t most) const;
  /// A finite number in [least, most].
  std::optional<double> number(std::string_view key, double least, double most) const;
  std::optional<std::vector<std::string>> texts(std::string_view key,
                                                std::string_view what = kString) const;
  std::optional<std::vector<double>> numbers(std::string_view key, double least, double most) const;

  std::optional<ObjectReader> object(std::string_view key, KeyTable known) const;
  std::vector<ObjectReader> objects(std::string_view key, KeyTable known) const;
  std::optional<ObjectReader> open_object(std::string_view key) const;  ///< whatever its keys
  std::vector<ObjectReader> open_objects(std::string_view key) const;
  std::vector<std::string> keys() const;
  const nlohmann::json& value(std::string_view key) const;  ///< Precondition: has(key)

  std::string require_text(std::string_view key, std::string_view what = kString) const;
  std::int64_t require_integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  double require_number(std::string_view key, double least, double most) const;

  /// Whether it is given and says more than the default in its row.
  bool told(std::string_view key) const;
  /// Throws InputError where one of `keys` is told; `why` says that it would be ignored.
  void refuse(std::initializer_list<std::string_view> keys, std::string_view why) const;

  [[noreturn]] void fail(std::string_view key, const std::string& message) const;
  [[noreturn]] void missing(std::string_view key, std::string_view expected) const;
  const JsonSource& source() const { return *source_; }

 private:
  std::string pointer_to(std::string_view key) const;
  const Key& row(std::string_view key) const;
  const nlohmann::json* find(std::string_view key) const;
  [[noreturn]] void expected(std::string_view key, const std::string& what,
                             const nlohmann::json& found) const;

  const JsonSource* source_;
  std::string pointer_;
  const nlohmann::json* node_;
  KeyTable known_;  ///< empty: whatever its keys
  KeyTable document_;
};

}  // namespace spillway

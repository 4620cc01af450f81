// One row for each key of a document that people write: what it is called, what it may hold, what
// holds without it, and one sentence about it. Readers take limits from here, and the JSON Schema,
// the reference page and completion are made from it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "sim/fields.hpp"

namespace spillway {

/// Of whole numbers, where nothing else limits them.
inline constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();

inline constexpr std::int64_t kMostAny = std::numeric_limits<std::int64_t>::max();

struct Key;
using KeyTable = std::span<const Key>;

/// What a key may hold; several where it may be either.
enum class KeyForm : std::uint16_t {
  kText = 1,
  kFlag = 2,
  kInteger = 4,
  kNumber = 8,
  kSize = 16,      ///< "64GiB"
  kCapacity = 32,  ///< "64GiB", "1000blocks", "inf"
  kRate = 64,      ///< "25GB/s"
  kObject = 128,   ///< with the keys of `object`, or any where there is no table
  kAxes = 256,     ///< an object of dotted keys, each with the values to try
  kRows = 512,     ///< an array of numbers, or of such arrays
};

struct Key {
  std::string_view name;
  KeyForm form = KeyForm::kText;
  std::string_view help{};
  /// What holds without it: a value as it would be written, or words, which have spaces or are no
  /// such value; empty: nothing.
  std::string_view otherwise{};
  double least = 0;  ///< of numbers
  double most = kNoLimit;
  std::span<const std::string_view> choices{};  ///< of a text; empty: any
  const KeyTable* object = nullptr;             ///< keys of the object, or of each in the list
  bool list = false;                            ///< an array of these
  bool required = false;
  KeyForm also = form;   ///< another form that is taken in its place
  bool by_name = false;  ///< so is an object of names, each with one of these
  bool aside = false;    ///< a label, or a name or path of what is compared by what it stands for
};

constexpr Key text_key(std::string_view name, std::string_view help,
                       std::string_view otherwise = {}) {
  return {.name = name, .form = KeyForm::kText, .help = help, .otherwise = otherwise};
}
constexpr Key choice_key(std::string_view name, std::span<const std::string_view> choices,
                         std::string_view help, std::string_view otherwise = {}) {
  return {.name = name, .help = help, .otherwise = otherwise, .choices = choices};
}
constexpr Key flag_key(std::string_view name, std::string_view help,
                       std::string_view otherwise = "false") {
  return {.name = name, .form = KeyForm::kFlag, .help = help, .otherwise = otherwise};
}
constexpr Key integer_key(std::string_view name, std::int64_t least, std::int64_t most,
                          std::string_view help, std::string_view otherwise = {}) {
  return {.name = name,
          .form = KeyForm::kInteger,
          .help = help,
          .otherwise = otherwise,
          .least = static_cast<double>(least),
          .most = static_cast<double>(most)};
}
constexpr Key number_key(std::string_view name, double least, double most, std::string_view help,
                         std::string_view otherwise = {}) {
  return {.name = name,
          .form = KeyForm::kNumber,
          .help = help,
          .otherwise = otherwise,
          .least = least,
          .most = most};
}
constexpr Key size_key(std::string_view name, std::string_view help,
                       std::string_view otherwise = {}) {
  return {.name = name, .form = KeyForm::kSize, .help = help, .otherwise = otherwise};
}
constexpr Key capacity_key(std::string_view name, std::string_view help,
                           std::string_view otherwise = {}) {
  return {.name = name, .form = KeyForm::kCapacity, .help = help, .otherwise = otherwise};
}
constexpr Key rate_key(std::string_view name, std::string_view help,
                       std::string_view otherwise = {}) {
  return {.name = name, .form = KeyForm::kRate, .help = help, .otherwise = otherwise};
}
constexpr Key axes_key(std::string_view name, std::string_view help) {
  return {.name = name, .form = KeyForm::kAxes, .help = help};
}
constexpr Key rows_key(std::string_view name, std::string_view help,
                       std::string_view otherwise = {}) {
  return {.name = name, .form = KeyForm::kRows, .help = help, .otherwise = otherwise};
}
constexpr Key object_key(std::string_view name, const KeyTable& keys, std::string_view help,
                         std::string_view otherwise = {}) {
  return {.name = name,
          .form = KeyForm::kObject,
          .help = help,
          .otherwise = otherwise,
          .object = &keys};
}

/// An object with any keys.
constexpr Key any_object_key(std::string_view name, std::string_view help) {
  return {.name = name, .form = KeyForm::kObject, .help = help};
}

constexpr Key list_of(Key key) {
  key.list = true;
  return key;
}
constexpr Key required(Key key) {
  key.required = true;
  return key;
}
constexpr Key aside(Key key) {
  key.aside = true;
  return key;
}
constexpr Key or_form(Key key, KeyForm form) {
  key.also = form;
  return key;
}

}  // namespace spillway

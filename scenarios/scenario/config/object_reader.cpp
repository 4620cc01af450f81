#include "scenarios/scenario/config/object_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "scenarios/scenario/config/settings.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

std::string describe(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// A limit of whole numbers; the largest double below 2^63 and what is beyond is no limit.
std::int64_t whole(double limit) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return limit < static_cast<double>(kMost) ? static_cast<std::int64_t>(limit) : kMost;
}

/// Sections of a document that have a key of this name: "engine", "tiers[]".
void find_sections(KeyTable keys, std::string_view name, const std::string& section,
                   std::vector<std::string>& out) {
  for (const Key& key : keys) {
    const bool is_section = key.form == KeyForm::kObject && section.empty();
    if (key.name == name && !is_section) out.push_back(section.empty() ? "the top level" : section);
    if (key.object == nullptr) continue;
    find_sections(*key.object, name,
                  fmt::format("{}{}{}{}", section, section.empty() ? "" : ".", key.name,
                              key.list ? "[]" : ""),
                  out);
  }
}

std::string unknown_key(KeyTable document, KeyTable known, std::string_view what,
                        const std::string& name) {
  constexpr std::size_t kFew = 2;  // what more sections have is no mistake of the section
  std::vector<std::string> sections;
  find_sections(document, name, "", sections);
  if (!sections.empty() && sections.size() <= kFew) {
    return fmt::format("unknown key of {} \"{}\"; it is a key of {}", what, name,
                       fmt::join(sections, " and of "));
  }
  std::vector<std::string_view> names;
  for (const Key& key : known) names.push_back(key.name);
  return unknown_name(fmt::format("key of {}", what), name, names);
}

}  // namespace

ObjectReader::ObjectReader(const JsonSource& source, std::string pointer, std::string_view what)
    : source_(&source),
      pointer_(std::move(pointer)),
      node_(&source.root()[nlohmann::json::json_pointer(pointer_)]) {
  if (!node_->is_object()) {
    throw InputError(source.fault(), source.where(pointer_),
                     fmt::format("expected an object for {}, found {}", what, describe(*node_)));
  }
}

ObjectReader::ObjectReader(const JsonSource& source, std::string pointer, std::string_view what,
                           KeyTable known, KeyTable document)
    : ObjectReader(source, std::move(pointer), what) {
  known_ = known;
  document_ = document.empty() ? known : document;
  for (const auto& item : node_->items()) {
    if (std::ranges::find(known, item.key(), &Key::name) != known.end()) continue;
    throw InputError(source.fault(), source.where(pointer_ + "/" + escaped_key(item.key())),
                     unknown_key(document_, known, what, item.key()));
  }
}

const Key& ObjectReader::row(std::string_view key) const {
  static constexpr Key kCount = integer_key("", 0, kMostCount, "");
  if (known_.empty()) return kCount;
  const auto at = std::ranges::find(known_, key, &Key::name);
  KV_ASSERT(at != known_.end(), "no row for the key {}", key);
  return *at;
}

std::string ObjectReader::pointer_to(std::string_view key) const {
  return key.empty() ? pointer_ : pointer_ + "/" + std::string(key);
}

SourceRef ObjectReader::where(std::string_view key) const {
  return source_->where(pointer_to(key));
}

const nlohmann::json* ObjectReader::find(std::string_view key) const {
  const auto it = node_->find(key);
  return it == node_->end() || it->is_null() ? nullptr : &*it;
}

void ObjectReader::refuse(std::initializer_list<std::string_view> keys,
                          std::string_view why) const {
  for (const std::string_view key : keys) {
    if (told(key)) fail(key, std::string(why));
  }
}

bool ObjectReader::told(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || known_.empty()) return value != nullptr;
  const nlohmann::json otherwise = default_of(row(key));
  return otherwise.is_null() || otherwise.type_name() != std::string_view(value->type_name()) ||
         meaning_of(row(key), *value, where(key)) != meaning_of(row(key), otherwise, {});
}

void ObjectReader::fail(std::string_view key, const std::string& message) const {
  throw InputError(source_->fault(), where(key), message);
}

void ObjectReader::missing(std::string_view key, std::string_view what) const {
  SourceRef at = where();
  at.field = at.field.empty() ? std::string(key) : fmt::format("{}.{}", at.field, key);
  throw InputError(source_->fault(), at, fmt::format("missing; expected {}", what));
}

void ObjectReader::expected(std::string_view key, const std::string& what,
                            const nlohmann::json& found) const {
  fail(key, fmt::format("expected {}, found {}", what, describe(found)));
}

std::optional<std::string> ObjectReader::text(std::string_view key, std::string_view what) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  // A version typed after --set is read as a number.
  if (value->is_number() && what == kString && where(key).file == "--set") {
    fail(key, fmt::format("expected a string, found {0}: put it in quotes, '{1}=\"{0}\"'",
                          value->dump(), where(key).field));
  }
  if (!value->is_string()) expected(key, std::string(what), *value);
  auto text = value->get<std::string>();
  const auto choices = row(key).choices;
  if (!choices.empty() && std::ranges::find(choices, text) == choices.end()) {
    fail(key, unknown_name(key, text, choices));
  }
  return text;
}

std::optional<bool> ObjectReader::boolean(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) expected(key, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key) const {
  const Key& limits = row(key);
  return integer(key, whole(limits.least), whole(limits.most));
}

std::optional<double> ObjectReader::number(std::string_view key) const {
  const Key& limits = row(key);
  return number(key, limits.least, limits.most);
}

std::optional<std::vector<double>> ObjectReader::numbers(std::string_view key) const {
  const Key& limits = row(key);
  return numbers(key, limits.least, limits.most);
}

std::int64_t ObjectReader::require_integer(std::string_view key) const {
  const Key& limits = row(key);
  return require_integer(key, whole(limits.least), whole(limits.most));
}

double ObjectReader::require_number(std::string_view key) const {
  const Key& limits = row(key);
  return require_number(key, limits.least, limits.most);
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, std::int64_t least,
                                                  std::int64_t most) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto what = fmt::format("a whole number from {} to {}", least, most);
  const bool too_large =
      value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!value->is_number_integer() || too_large) expected(key, what, *value);
  const auto number = value->get<std::int64_t>();
  if (number < least || number > most) expected(key, what, *value);
  return number;
}

std::optional<double> ObjectReader::number(std::string_view key, double least, double most) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto what = fmt::format("a number from {} to {}", least, most);
  if (!value->is_number()) expected(key, what, *value);
  const auto number = value->get<double>();
  if (!std::isfinite(number) || number < least || number > most) expected(key, what, *value);
  return number;
}

std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view key,
                                                            std::string_view what) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::string array = fmt::format("an array, each item {}", what);
  std::vector<std::string> out;
  if (!value->is_array()) expected(key, array, *value);
  for (const auto& item : *value) {
    if (!item.is_string()) expected(key, array, item);
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::optional<std::vector<double>> ObjectReader::numbers(std::string_view key, double least,
                                                         double most) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto what = fmt::format("an array of numbers from {} to {}", least, most);
  std::vector<double> out;
  if (!value->is_array()) expected(key, what, *value);
  for (const auto& item : *value) {
    if (!item.is_number() || item.get<double>() < least || item.get<double>() > most) {
      expected(key, what, item);
    }
    out.push_back(item.get<double>());
  }
  return out;
}

std::optional<ObjectReader> ObjectReader::object(std::string_view key, KeyTable known) const {
  if (find(key) == nullptr) return std::nullopt;
  return ObjectReader(*source_, pointer_to(key), key, known, document_);
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view key, KeyTable known) const {
  std::vector<ObjectReader> out;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) expected(key, "an array of objects", *value);
  for (std::size_t i = 0; i < value->size(); ++i) {
    out.emplace_back(*source_, fmt::format("{}/{}", pointer_to(key), i), fmt::format("{}[]", key),
                     known, document_);
  }
  return out;
}

std::optional<ObjectReader> ObjectReader::open_object(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return ObjectReader(*source_, pointer_to(key), key);
}

std::vector<ObjectReader> ObjectReader::open_objects(std::string_view key) const {
  std::vector<ObjectReader> out;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) expected(key, "an array of objects", *value);
  for (std::size_t i = 0; i < value->size(); ++i) {
    out.emplace_back(*source_, fmt::format("{}/{}", pointer_to(key), i), fmt::format("{}[]", key));
  }
  return out;
}

std::vector<std::string> ObjectReader::keys() const {
  std::vector<std::string> out;
  for (const auto& item : node_->items()) out.push_back(item.key());
  return out;
}

const nlohmann::json& ObjectReader::value(std::string_view key) const {
  const nlohmann::json* found = find(key);
  KV_ASSERT(found != nullptr, "no member {}", key);
  return *found;
}

std::string ObjectReader::require_text(std::string_view key, std::string_view what) const {
  const auto value = text(key, what);
  if (!value) missing(key, what);
  return *value;
}

std::int64_t ObjectReader::require_integer(std::string_view key, std::int64_t least,
                                           std::int64_t most) const {
  const auto value = integer(key, least, most);
  if (!value) missing(key, fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

double ObjectReader::require_number(std::string_view key, double least, double most) const {
  const auto value = number(key, least, most);
  if (!value) missing(key, fmt::format("a number from {} to {}", least, most));
  return *value;
}

}  // namespace spillway

#include "reports/document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/document_fault.hpp"
#include "reports/notes/note_fields.hpp"
#include "sim/digest.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// The type that a value has after writing and reading: a non-negative integer is then unsigned.
json::value_t written_type(const json& value) {
  const bool counts = value.is_number_integer() && whole<std::int64_t>(value) >= 0;
  return counts ? json::value_t::number_unsigned : value.type();
}

void feed(Digest& digest, const json& value) {
  digest.number(static_cast<std::uint64_t>(written_type(value)));
  switch (value.type()) {
    case json::value_t::object:
      // Members come in key order, whatever order they were added in.
      for (const auto& item : value.items()) {
        if (item.key() == "sim") continue;
        digest.text(item.key());
        feed(digest, item.value());
      }
      digest.text("}");
      break;
    case json::value_t::array:
      digest.number(value.size());
      for (const json& item : value) feed(digest, item);
      break;
    case json::value_t::string:
      digest.text(value.get_ref<const std::string&>());
      break;
    case json::value_t::boolean:
      digest.number(value.get<bool>() ? 1 : 0);
      break;
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      digest.number(static_cast<std::uint64_t>(whole<std::int64_t>(value)));
      break;
    case json::value_t::number_float:
      digest.real(value.get<double>());
      break;
    default:
      break;
  }
}

/// JSON has no form for NaN and infinity (nlohmann writes null), and the contract has no null.
void require_numbers(const json& value) {
  KV_ASSERT(!value.is_null() && !value.is_discarded(), "a null in a document");
  KV_ASSERT(!value.is_number_float() || std::isfinite(value.get<double>()),
            "a number in a document that is not finite");
  if (!value.is_structured()) return;
  for (const json& part : value) require_numbers(part);
}

}  // namespace

std::string digest_of(const json& results) {
  Digest digest;
  feed(digest, results);
  return digest.hex();
}

json tool_info() {
  return {{"name", "spillway"},
          {"version", SPILLWAY_VERSION},
          {"build", fmt::format("{} {}", SPILLWAY_COMPILER, SPILLWAY_BUILD_TYPE)}};
}

std::string tool_name(const json& tool) {
  const std::string build = tool.value("build", "");
  return fmt::format("{} {}{}", tool.at("name").get<std::string>(),
                     tool.at("version").get<std::string>(),
                     build.empty() ? "" : " (" + build + ")");
}

std::string render_document(const Document& document) {
  require_numbers(document.inputs);
  require_numbers(document.results);
  // nlohmann::ordered_json only here: readers see the envelope before the bulk.
  nlohmann::ordered_json out;
  out["schema_version"] = kSchemaVersion;
  if (document.profile_version > 0) out["profile_version"] = document.profile_version;
  out["kind"] = document.kind;
  out["tool"] = tool_info();
  out["inputs"] = document.inputs;
  out["results"] = document.results;
  out["warnings"] = json::array();
  for (const Note& note : document.warnings) out["warnings"].push_back(note.text);
  if (document.profile_version == 0) out["notes"] = json(document.warnings);
  out["digest"] = digest_of(document.results);
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spillway

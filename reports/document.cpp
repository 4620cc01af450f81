#include "reports/document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/digest.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

using nlohmann::json;

void feed(Digest& digest, const json& value) {
  digest.number(static_cast<std::uint64_t>(value.type()));
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
      digest.number(static_cast<std::uint64_t>(value.get<std::int64_t>()));
      break;
    case json::value_t::number_float:
      KV_ASSERT(std::isfinite(value.get<double>()), "a result that is not a finite number");
      digest.real(value.get<double>());
      break;
    default:
      break;
  }
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

std::string render_document(const Document& document) {
  // nlohmann::ordered_json only here: readers see the envelope before the bulk.
  nlohmann::ordered_json out;
  out["schema_version"] = kSchemaVersion;
  out["kind"] = document.kind;
  out["tool"] = tool_info();
  out["inputs"] = document.inputs;
  out["results"] = document.results;
  out["warnings"] = document.warnings;
  out["digest"] = digest_of(document.results);
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spillway

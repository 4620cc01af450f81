#include "scenarios/scenario/config/assignments.hpp"

#include <functional>

namespace spillway {

std::vector<std::string> assignments_of(const JsonSource& source) {
  using nlohmann::json;
  std::vector<std::string> out;
  const std::function<void(const json&, const std::string&)> walk = [&](const json& value,
                                                                        const std::string& at) {
    const SourceRef where = source.where(at);
    if (!at.empty() && where.line == 0 && where.file.starts_with("--")) {
      out.push_back(where.field + "=" + value.dump(-1, ' ', false, json::error_handler_t::replace));
      return;  // all of it came from there
    }
    if (!value.is_structured()) return;
    for (const auto& [key, part] : value.items()) walk(part, at + "/" + escaped_key(key));
  };
  walk(source.root(), "");
  return out;
}

}  // namespace spillway

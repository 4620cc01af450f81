#include "sim/error.hpp"

#include <string_view>

namespace spillway {

std::string SourceRef::prefix() const {
  std::string out;
  if (!file.empty()) {
    out += file;
    if (line > 0) out += fmt::format(":{}", line);
    out += ": ";
  }
  if (!field.empty()) out += fmt::format("{}: ", field);
  return out;
}

namespace detail {

void assertion_failed(const char* expression, const char* file, int line,
                      const std::string& message) {
  const std::string_view path(file);
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  throw InternalError(fmt::format("{}:{}: {} ({})", name, line, message, expression));
}

}  // namespace detail

}  // namespace spillway

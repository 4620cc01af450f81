#include "sim/plan_parts.hpp"

namespace spillway {

bool is_nothing(std::string_view size) {
  return size.starts_with('0') && size.find_first_of("123456789") == std::string_view::npos;
}

}  // namespace spillway

#include "reports/compared.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr int kMostDigits = 6;  // more than are written otherwise

/// The number that a reader takes from `text`: "100.0" and "100" are the same.
double read_back(std::string text) {
  std::erase(text, ',');
  return std::strtod(text.c_str(), nullptr);
}

template <class Write>
std::vector<std::string> told_apart(std::initializer_list<double> values, Write write) {
  for (int more = 0;; ++more) {
    std::vector<std::string> out;
    bool apart = true;
    for (const double value : values) {
      std::string text = write(value, more);
      for (std::size_t i = 0; i < out.size(); ++i) {
        apart = apart && (values.begin()[i] == value || read_back(out[i]) != read_back(text));
      }
      out.push_back(std::move(text));
    }
    if (apart || more == kMostDigits) return out;
  }
}

/// With `more` digits than format_real() gives.
std::string longer_real(double value, int more) {
  const double size = std::fabs(value);
  if (more == 0 || size >= 1e16) return format_real(value);
  if (size < 1) return fmt::format("{:.{}g}", value, 3 + more);
  std::string out = fmt::format("{:.{}f}", value, more + (size < 10 ? 2 : size < 100 ? 1 : 0));
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = out.find('.'); at > first + 3;) out.insert(at -= 3, ",");
  return out;
}

}  // namespace

std::vector<std::string> format_percents(std::initializer_list<double> fractions) {
  return told_apart(fractions, [](double fraction, int more) {
    return fmt::format("{:.{}f}%", 100 * fraction, 1 + more);
  });
}

std::vector<std::string> format_reals(std::initializer_list<double> values) {
  return told_apart(values, longer_real);
}

}  // namespace spillway

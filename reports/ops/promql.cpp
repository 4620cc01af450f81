#include "reports/ops/promql.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "sim/error.hpp"

namespace spillway {

namespace {

std::string by_clause(const Selector& select, std::string_view first) {
  if (first.empty() && select.by.empty()) return "sum";
  return fmt::format("sum by ({}{}{})", first, first.empty() || select.by.empty() ? "" : ", ",
                     select.by);
}

}  // namespace

std::string series_of(const EngineMetric& metric, const Selector& select, std::string_view suffix) {
  std::string matchers(metric.matchers);
  if (!matchers.empty() && !select.matchers.empty()) matchers += ",";
  matchers += select.matchers;
  return fmt::format("{}{}{}", metric.name, suffix,
                     matchers.empty() ? "" : fmt::format("{{{}}}", matchers));
}

std::string rate_of(const EngineMetric& metric, const Selector& select, std::string_view suffix) {
  return fmt::format("{} (rate({}[{}]))", by_clause(select, ""), series_of(metric, select, suffix),
                     select.window);
}

std::string quantile_of(const EngineMetric& metric, double quantile, const Selector& select) {
  return fmt::format("histogram_quantile({}, {} (rate({}[{}])))", number(quantile),
                     by_clause(select, "le"), series_of(metric, select, "_bucket"), select.window);
}

std::string mean_of(const EngineMetric& metric, const Selector& select) {
  return fmt::format("{} / {}", rate_of(metric, select, "_sum"), rate_of(metric, select, "_count"));
}

namespace {

bool starts_label(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool in_label(char c) {
  return starts_label(c) || (c >= '0' && c <= '9');
}

/// Takes one matcher, NAME OP "VALUE", from the front; empty where there is none.
std::string take_matcher(std::string_view& text) {
  std::size_t at = 0;
  if (text.empty() || !starts_label(text.front())) return {};
  while (at < text.size() && in_label(text[at])) ++at;
  const std::size_t name = at;
  for (const std::string_view op : {"=~", "!~", "!=", "="}) {
    if (!text.substr(at).starts_with(op)) continue;
    at += op.size();
    break;
  }
  if (at == name || at >= text.size() || text[at] != '"') return {};
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (static_cast<unsigned char>(text[at]) < 0x20) return {};
    if (text[at] == '\\') ++at;
  }
  if (at >= text.size()) return {};
  std::string out(text.substr(0, at + 1));
  text.remove_prefix(at + 1);
  return out;
}

double rounded(double value, double (*to_whole)(double)) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  int exponent = 0;
  for (double rest = value; rest >= 10; rest /= 10) ++exponent;
  for (double rest = value; rest < 1; rest *= 10) --exponent;
  double out = value;
  for (const int digits : {2, 3}) {
    // Powers of ten from 1 on are exact: 19.8e9 is no 19799999999.999996.
    const int places = digits - 1 - exponent;
    double power = 1;
    for (int i = 0; i < std::abs(places); ++i) power *= 10;
    const double scaled = places >= 0 ? value * power : value / power;
    // What is one of these numbers already, but for its last bits, stays it.
    const double nearest = std::round(scaled);
    const bool is = std::fabs(scaled - nearest) < 1e-9 * nearest;
    const double whole = is ? nearest : to_whole(scaled);
    out = places >= 0 ? whole / power : whole * power;
    if (std::fabs(out - value) <= 0.025 * value) return out;
  }
  return out;
}

}  // namespace

std::string read_matcher(std::string_view text, std::string_view option) {
  const std::string_view whole = text;
  const auto skip_blanks = [&] {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  };
  std::string out;
  for (bool more = true; more;) {
    skip_blanks();
    const std::string one = take_matcher(text);
    skip_blanks();
    more = text.starts_with(',');
    if (one.empty() || (!more && !text.empty())) {
      throw InputError(
          Fault::kUsage, {std::string(option), 0, ""},
          fmt::format("expected label matchers as in model_name=\"llama\",namespace=\"prod\", "
                      "found \"{}\"",
                      whole.substr(0, 64)));
    }
    out += (out.empty() ? "" : ",") + one;
    if (more) text.remove_prefix(1);
  }
  return out;
}

double rounded_down(double value) {
  return rounded(value, std::floor);
}

double rounded_up(double value) {
  return rounded(value, std::ceil);
}

std::string number(double value) {
  return fmt::format("{}", value);
}

}  // namespace spillway

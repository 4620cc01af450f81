#include "scenarios/scenario/config/quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "sim/decimal.hpp"
#include "sim/histogram.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 9> kUnits = {{{"B", 1},
                                         {"KiB", std::int64_t{1} << 10},
                                         {"MiB", std::int64_t{1} << 20},
                                         {"GiB", std::int64_t{1} << 30},
                                         {"TiB", std::int64_t{1} << 40},
                                         {"KB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000}}};
constexpr std::string_view kSizeHelp =
    "expected a size with a unit: B, KiB, MiB, GiB, TiB (powers of 1024) or KB, MB, GB, TB (powers "
    "of 1000)";

constexpr std::pair<std::string_view, double> kTimes[] = {
    {"ms", 0.001}, {"s", 1}, {"min", 60}, {"h", 3600}};

/// A non-negative number and the unit behind it.
struct Split {
  double value;
  std::string_view unit;
};

const Unit* find_unit(std::string_view name) {
  const auto at = std::ranges::find(kUnits, name, &Unit::name);
  return at == kUnits.end() ? nullptr : at;
}

bool is_rate(std::string_view unit) {
  return unit.ends_with("/s") || unit.ends_with("bps");
}

/// `unit` is that of another kind, if any.
[[noreturn]] void refuse(std::string_view text, std::string_view unit, const SourceRef& where,
                         std::string_view help) {
  std::string_view kind;
  for (const auto& [name, seconds] : kTimes) {
    if (unit == name) kind = ", a time";
  }
  if (find_unit(unit) != nullptr) kind = ", a size";
  if (is_rate(unit)) kind = ", a rate";
  if (unit == "blocks") kind = ", a number of blocks";
  throw InputError(Fault::kUsage, where, fmt::format("{}, found \"{}\"{}", help, text, kind));
}

Split split(std::string_view text, const SourceRef& where, std::string_view help) {
  const auto [value, length] = leading_real(text, false);
  if (length == 0 || !std::isfinite(value) || value < 0) refuse(text, "", where, help);
  std::string_view unit = text.substr(length);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return {value, unit};
}

/// floor(value x factor), exactly.
std::int64_t scaled(double value, std::int64_t factor, const SourceRef& where,
                    std::string_view text) {
  const Decimal decimal = decimal_of(value);
  WideInt product = static_cast<WideInt>(decimal.digits) * factor;
  for (int e = decimal.exponent; e > 0 && product < (WideInt{1} << 100); --e) product *= 10;
  for (int e = decimal.exponent; e < 0; ++e) product /= 10;
  if (product >= (WideInt{1} << 62)) {
    throw InputError(Fault::kUsage, where, fmt::format("\"{}\" is too large", text));
  }
  return static_cast<std::int64_t>(product);
}

}  // namespace

Capacity parse_capacity(std::string_view text, const SourceRef& where) {
  if (text == "inf") return {Capacity::Kind::kUnbounded, 0};
  static const std::string help =
      fmt::format("{}, a number of blocks (1000blocks), or inf", kSizeHelp);
  const Split parts = split(text, where, help);
  if (parts.unit == "blocks") {
    if (parts.value != std::floor(parts.value) || parts.value > 1e15) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("expected whole blocks, found \"{}\"", text));
    }
    return {Capacity::Kind::kBlocks, static_cast<std::int64_t>(parts.value)};
  }
  const Unit* unit = find_unit(parts.unit);
  if (unit == nullptr) refuse(text, parts.unit, where, help);
  return {Capacity::Kind::kBytes, scaled(parts.value, unit->bytes, where, text)};
}

Bytes parse_bytes(std::string_view text, const SourceRef& where) {
  const Split parts = split(text, where, kSizeHelp);
  const Unit* unit = find_unit(parts.unit);
  if (unit == nullptr) refuse(text, parts.unit, where, kSizeHelp);
  return Bytes(scaled(parts.value, unit->bytes, where, text));
}

std::string capacity_text(const Capacity& capacity) {
  if (capacity.kind == Capacity::Kind::kUnbounded) return "inf";
  return fmt::format("{}{}", capacity.count,
                     capacity.kind == Capacity::Kind::kBlocks ? "blocks" : "B");
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  if (bytes % (1024 * kMib) == 0) return fmt::format("{}GiB", bytes / (1024 * kMib));
  if (bytes % kMib == 0) return fmt::format("{}MiB", bytes / kMib);
  return fmt::format("{}B", bytes);
}

std::int64_t parse_bandwidth(std::string_view text, const SourceRef& where) {
  constexpr std::string_view kHelp =
      "expected a rate with a unit, such as 25GB/s, 20GiB/s or 400Gbps";
  const Split parts = split(text, where, kHelp);
  std::int64_t factor = 0;
  std::string_view unit = parts.unit;
  if (unit.ends_with("/s")) {
    unit.remove_suffix(2);
    const Unit* found = find_unit(unit);
    factor = found == nullptr ? 0 : found->bytes;
  } else if (unit == "Gbps") {
    factor = 125'000'000;
  } else if (unit == "Mbps") {
    factor = 125'000;
  }
  const std::int64_t rate = factor == 0 ? 0 : scaled(parts.value, factor, where, text);
  if (rate < 1) refuse(text, is_rate(parts.unit) ? "" : parts.unit, where, kHelp);
  return rate;
}

double parse_seconds(std::string_view text, const SourceRef& where) {
  constexpr std::string_view kHelp = "expected a time above 0 with a unit: ms, s, min or h";
  const Split parts = split(text, where, kHelp);
  for (const auto& [name, seconds] : kTimes) {
    if (parts.unit == name && parts.value > 0) return parts.value * seconds;
  }
  refuse(text, parts.value > 0 ? parts.unit : "", where, kHelp);
}

Duration microseconds_up(double us) {
  return Duration(static_cast<std::int64_t>(std::ceil(us * 1000)));
}

}  // namespace spillway

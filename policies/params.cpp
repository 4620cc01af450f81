#include "policies/params.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/catalogue.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

/// "0 to 1", "at least 1": how a range reads in errors.
std::string range_of(const ParamSpec& spec) {
  const std::string_view number =
      spec.kind == ParamSpec::Kind::kWhole ? "a whole number" : "a number";
  return fmt::format("{} from {} to {}", number, spec.least, spec.most);
}

double parse_number(const ParamSpec& spec, std::string_view text, const SourceRef& where) {
  const double value = parse_real(text).value_or(std::numeric_limits<double>::quiet_NaN());
  const bool whole = spec.kind != ParamSpec::Kind::kWhole || value == std::floor(value);
  if (!whole || !(value >= spec.least && value <= spec.most)) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{}: expected {}, found \"{}\"", spec.name, range_of(spec), text));
  }
  return value;
}

bool is_word(std::string_view words, std::string_view text) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('|'));
    if (word == text) return true;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return false;
}

void check_word(const ParamSpec& spec, std::string_view text, const SourceRef& where) {
  if (spec.words.empty() || is_word(spec.words, text)) return;
  throw InputError(Fault::kUsage, where,
                   fmt::format("{}: expected {}, found \"{}\"", spec.name, spec.words, text));
}

}  // namespace

Params::Params(std::span<const ParamSpec> specs, std::string_view policy, std::string_view given,
               const SourceRef& where)
    : specs_(specs) {
  for (const ParamSpec& spec : specs) {
    values_.push_back({spec.fallback, std::string(spec.text), false});
  }
  while (!given.empty()) {
    const std::string_view item = given.substr(0, given.find(':'));
    given.remove_prefix(std::min(item.size() + 1, given.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("{}: expected key=value, found \"{}\"", policy, item));
    }
    const std::string_view key = item.substr(0, equals);
    const std::string_view text = item.substr(equals + 1);
    std::size_t at = 0;
    while (at < specs.size() && specs[at].name != key) ++at;
    if (at == specs.size()) {
      const std::string what = fmt::format("parameter of {}", policy);
      throw InputError(Fault::kUsage, where,
                       specs.empty()
                           ? fmt::format("{} takes no parameters, found \"{}\"", policy, key)
                           : unknown_name(what, key, names_of(specs)));
    }
    Value& value = values_[at];
    if (value.given) {
      throw InputError(Fault::kUsage, where, fmt::format("{}: {} is given twice", policy, key));
    }
    value.given = true;
    value.text = text;
    if (specs[at].kind == ParamSpec::Kind::kText) {
      check_word(specs[at], text, where);
    } else {
      value.number = parse_number(specs[at], text, where);
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].required || values_[i].given) continue;
    throw InputError(Fault::kUsage, where,
                     fmt::format("{}: {} is missing; expected {}:{}=..., {}", policy, specs[i].name,
                                 policy, specs[i].name, range_of(specs[i])));
  }
}

std::size_t Params::index_of(std::string_view name, ParamSpec::Kind kind) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name && specs_[i].kind == kind) return i;
  }
  KV_ASSERT(false, "no parameter called {}", name);
  return 0;
}

double Params::real(std::string_view name) const {
  return values_[index_of(name, ParamSpec::Kind::kReal)].number;
}

std::uint64_t Params::whole(std::string_view name) const {
  return static_cast<std::uint64_t>(values_[index_of(name, ParamSpec::Kind::kWhole)].number);
}

const std::string& Params::text(std::string_view name) const {
  return values_[index_of(name, ParamSpec::Kind::kText)].text;
}

bool Params::is_given(std::string_view name) const {
  std::size_t at = 0;
  while (at < specs_.size() && specs_[at].name != name) ++at;
  KV_ASSERT(at < specs_.size(), "no parameter called {}", name);
  return values_[at].given;
}

std::string Params::given() const {
  std::string out;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!values_[i].given) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : ":", specs_[i].name, values_[i].text);
  }
  return out;
}

}  // namespace spillway

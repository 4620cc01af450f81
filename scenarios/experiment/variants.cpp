#include "scenarios/experiment/variants.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

[[noreturn]] void fail(const std::string& field, const std::string& message,
                       const std::string& option = "--vary") {
  throw InputError(Fault::kUsage, {option, 0, field}, message);
}

/// At the commas that stand outside of brackets, braces and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth <= 0 && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Varied parse_one(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    fail("", fmt::format("expected key.path=value,value, found \"{}\"", text));
  }
  Varied out{text.substr(0, equals), split_values(std::string_view(text).substr(equals + 1))};
  if (out.key == "seed") {
    fail("seed", "replications vary the seed already; expected --replications");
  }
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const auto at = out.values.begin() + static_cast<std::ptrdiff_t>(i);
    if (at->empty()) fail(out.key, fmt::format("an empty value in \"{}\"", text));
    if (std::find(out.values.begin(), at, *at) != at) {
      fail(out.key, fmt::format("the value \"{}\" is given twice", *at));
    }
  }
  if (out.values.size() < 2) {
    fail(out.key, fmt::format("expected two values or more, found \"{}\"", out.values.front()));
  }
  return out;
}

/// Which value of which key `text` names.
std::pair<std::size_t, std::size_t> find_value(std::span<const Varied> varied,
                                               const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::vector<std::string> known;
  for (std::size_t k = 0; k < varied.size(); ++k) {
    for (std::size_t v = 0; v < varied[k].values.size(); ++v) {
      const std::string& value = varied[k].values[v];
      known.push_back(varied.size() == 1 ? value : varied[k].key + "=" + value);
      if (text == value || text == varied[k].key + "=" + value) found.emplace_back(k, v);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    const std::vector<std::string_view> names(known.begin(), known.end());
    fail("", unknown_name("value", text, names), "--baseline");
  }
  fail("", fmt::format("\"{}\" is a value of several keys; expected key=value", text),
       "--baseline");
}

std::string short_key(const std::string& key, std::span<const std::string> keys) {
  for (std::size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    const std::string end = key.substr(dot);
    const auto same = std::count_if(keys.begin(), keys.end(), [&](const std::string& other) {
      return ("." + other).ends_with(end);
    });
    const bool index = end[1] >= '0' && end[1] <= '9';  // "0.eviction" tells nobody anything
    if (same == 1 && !index) return end.substr(1);
  }
  return key;
}

std::string name_of(std::span<const std::string> keys, std::span<const Varied> varied,
                    std::span<const std::string> values) {
  if (varied.size() == 1) return values.front();
  std::vector<std::string> out;
  for (std::size_t k = 0; k < varied.size(); ++k) out.push_back(keys[k] + "=" + values[k]);
  return fmt::format("{}", fmt::join(out, ", "));
}

/// Everything that a run depends on: two variants that agree in it would be one.
std::string identity_of(const Scenario& s) {
  return configuration_identity(s).dump() + s.workload->files() + fmt::format(" {}", s.seed);
}

}  // namespace

std::vector<std::string> short_keys(std::span<const std::string> keys) {
  std::vector<std::string> out;
  for (const std::string& key : keys) out.push_back(short_key(key, keys));
  return out;
}

std::vector<Varied> parse_varied(std::span<const std::string> texts) {
  std::vector<Varied> out;
  for (const std::string& text : texts) {
    Varied next = parse_one(text);
    for (const Varied& other : out) {
      if (other.key == next.key) fail(next.key, "is varied twice; expected one list of values");
    }
    out.push_back(std::move(next));
  }
  return out;
}

VariantSet make_variants(const JsonSource& source, std::span<const Varied> varied,
                         std::span<const std::string> baseline, const VariantLimits& limits) {
  std::size_t count = 1;
  for (const Varied& v : varied) {
    count *= v.values.size();
    if (count > limits.most) {
      fail("",
           fmt::format("these values combine to more than {} variants; expected fewer values, "
                       "or several comparisons",
                       limits.most),
           limits.option);
    }
  }
  std::vector<std::size_t> base(varied.size(), 0);
  std::vector<bool> named(varied.size(), false);
  for (const std::string& text : baseline) {
    const auto [key, value] = find_value(varied, text);
    if (named[key]) fail(varied[key].key, "has a baseline already", "--baseline");
    named[key] = true;
    base[key] = value;
  }

  std::vector<std::string> keys;
  for (const Varied& v : varied) keys.push_back(v.key);
  keys = short_keys(keys);

  VariantSet out;
  std::map<std::string, std::string> seen;  // names by identity
  for (std::size_t i = 0; i < count; ++i) {
    JsonSource changed = source;
    Variant variant;
    std::vector<std::string> values;
    bool is_base = true;
    for (std::size_t k = 0, rest = i, block = count; k < varied.size(); ++k) {
      block /= varied[k].values.size();
      const std::size_t at = rest / block;
      rest %= block;
      const std::string& value = varied[k].values[at];
      is_base = is_base && at == base[k];
      changed.set(fmt::format("{}={}", varied[k].key, value), limits.option);
      variant.values.emplace_back(varied[k].key, value);
      values.push_back(value);
    }
    variant.name = name_of(keys, varied, values);
    variant.scenario = load_scenario(changed);
    const auto [twin, fresh] = seen.emplace(identity_of(variant.scenario), variant.name);
    if (!fresh) {
      fail("",
           fmt::format("{} and {} are the same configuration; expected values that differ",
                       twin->second, variant.name),
           limits.option);
    }
    if (is_base) out.baseline = i;
    out.variants.push_back(std::move(variant));
  }
  return out;
}

}  // namespace spillway

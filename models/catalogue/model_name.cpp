#include "models/catalogue/model_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "sim/det_math.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

/// Marks of tuning, packing and dates at the end of a name; a model of another mark has the same
/// shape.
constexpr std::string_view kTuned[] = {"instruct", "chat",    "it",        "hf",     "base",
                                       "thinking", "preview", "exp",       "latest", "tuned",
                                       "dynamic",  "static",  "quantized", "kv",     "marlin",
                                       "block",    "mxfp8",   "unsloth"};

struct Packed {
  std::string_view mark;
  std::string_view dtype;
};
constexpr Packed kPacked[] = {
    {"awq", "int4"}, {"gptq", "int4"}, {"int4", "int4"}, {"w4a16", "int4"},  {"4bit", "int4"},
    {"bnb", "int4"}, {"int8", "int8"}, {"w8a8", "w8a8"}, {"w8a16", "int8"},  {"8bit", "int8"},
    {"fp8", "fp8"},  {"fp4", "fp4"},   {"nvfp4", "fp4"}, {"mxfp4", "mxfp4"}, {"autoround", "int4"}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Of a path or an address.
std::string_view last_part(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  return name.substr(name.rfind('/') + 1);
}

/// The last word of a name, behind '-', '_' or '.'.
std::size_t last_mark(std::string_view name) {
  return name.find_last_of("-_.");
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

bool is_tuned(std::string_view word) {
  if (std::find(std::begin(kTuned), std::end(kTuned), word) != std::end(kTuned)) return true;
  return all_digits(word) && (word.size() == 4 || word.size() == 6);  // a date: 2507
}

std::string_view dtype_of_mark(std::string_view word) {
  for (const Packed& packed : kPacked) {
    if (packed.mark == word) return packed.dtype;
  }
  return {};
}

/// Billions of parameters: "70b" of "Llama-3-70B", the first of a name; of experts the active ones.
struct Size {
  double total = 0;
  double active = 0;
};

Size size_in(std::string_view name) {
  Size out;
  const std::string text = lower(name);
  std::size_t at = 0;
  while (at < text.size()) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    const bool begins =
        at == 0 ||
        (std::isalpha(static_cast<unsigned char>(text[at - 1])) == 0 && text[at - 1] != '.') ||
        text[at - 1] == 'a';
    if (!digit || !begins) {
      ++at;
      continue;
    }
    const auto [value, length] = leading_real(std::string_view(text).substr(at), false);
    const std::size_t next = at + length;
    const char unit = next < text.size() ? text[next] : '\0';
    const bool ends =
        next + 1 >= text.size() || std::isalnum(static_cast<unsigned char>(text[next + 1])) == 0;
    if (length > 0 && (unit == 'b' || unit == 'm') && ends && value > 0) {
      const double billions = unit == 'b' ? value : value / 1000;
      const bool active = at > 0 && text[at - 1] == 'a';
      if (active) {
        out.active = billions;
      } else if (out.total == 0) {
        out.total = billions;
      }
    }
    at = std::max(next, at + 1);
  }
  return out;
}

/// Letters that two names begin with alike, organisations left out; 0 below a family's name.
std::size_t common_front(std::string_view model, std::string_view name) {
  const std::string a = lower(model.substr(model.rfind('/') + 1));
  const std::string b = lower(name);
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  constexpr std::size_t kLeast = 4;  // "qwen"
  return same < kLeast ? 0 : same;
}

/// Within a third of its size, one of the family has the likelier shape.
constexpr double kSameSize = 0.29;
constexpr double kFamily = 1;

/// The model of the catalogue whose size is nearest, by ratio; of experts where the name says so.
const ModelSpec* nearest_size(const Size& size, std::string_view name) {
  const ModelSpec* best = nullptr;
  double least = 0;
  for (const ModelSpec& model : model_specs()) {
    if (model.is_moe() != (size.active > 0) || model.is_mla()) continue;
    double off = std::abs(det::ln(static_cast<double>(model.params_total) / (size.total * 1e9)));
    if (off < kSameSize) off -= kFamily * static_cast<double>(common_front(model.name, name));
    if (best != nullptr && off >= least) continue;
    best = &model;
    least = off;
  }
  return best;
}

}  // namespace

std::vector<NameStem> name_stems(std::string_view given) {
  std::vector<NameStem> out;
  NameStem stem{std::string(last_part(given)), ""};
  while (!stem.name.empty()) {
    out.push_back(stem);
    const std::size_t mark = last_mark(stem.name);
    if (mark == std::string::npos) break;
    const std::string word = lower(std::string_view(stem.name).substr(mark + 1));
    if (const std::string_view dtype = dtype_of_mark(word); !dtype.empty()) {
      // "GPTQ-Int8": the width counts.
      if (stem.weight_dtype.empty()) stem.weight_dtype = dtype;
    } else if (!is_tuned(word) && !(word.size() <= 2 && all_digits(word)) &&
               !(word.size() > 1 && word[0] == 'v' && all_digits(word.substr(1)))) {
      break;
    }
    stem.name.resize(mark);
  }
  return out;
}

NamedModel named_model(std::string_view given) {
  NamedModel out;
  const std::string_view base = last_part(given);
  for (const NameStem& stem : name_stems(given)) {
    out.weight_dtype = stem.weight_dtype;
    const ModelSpec* spec = known_model_spec(stem.name);
    if (spec == nullptr) continue;
    const bool first = stem.name.size() == base.size();
    out.spec = spec;
    out.match = first || !out.weight_dtype.empty() ? NamedModel::Match::kExact
                                                   : NamedModel::Match::kVariant;
    return out;
  }
  // Marks may stand anywhere in names that nothing matches.
  if (out.weight_dtype.empty()) {
    std::string word;
    for (const char c : lower(base) + "-") {
      if (c != '-' && c != '_' && c != '.') {
        word += c;
        continue;
      }
      if (out.weight_dtype.empty()) out.weight_dtype = dtype_of_mark(word);
      word.clear();
    }
  }
  const Size size = size_in(base);
  if (size.total <= 0) return out;
  out.spec = nearest_size(size, base);
  out.match = NamedModel::Match::kSize;
  return out;
}

std::string weight_dtype_of(std::string_view quantization) {
  const std::string name = lower(quantization);
  if (name.find("fp4") != std::string::npos) return "fp4";
  if (name.find("fp8") != std::string::npos) return "fp8";
  for (const char* four :
       {"awq", "gptq", "bitsandbytes", "auto-round", "moe_wna16", "squeezellm"}) {
    if (name.starts_with(four)) return "int4";
  }
  if (name.find("int8") != std::string::npos) return "int8";
  return {};
}

}  // namespace spillway

#include "models/catalogue/gpu_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "models/catalogue/lookup.hpp"

namespace spillway {

namespace {

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  for (std::string& word : out) word = folded(word);
  std::erase_if(out, [](const std::string& word) { return word.empty(); });
  return out;
}

bool is_form(const std::string& word) {
  return word.starts_with("sxm") || word == "pcie" || word == "nvl" || word == "server";
}

/// "RTX-PRO-6000-Server-96GB" is of the family "rtxpro6000".
std::string family_of(const GpuSpec& gpu) {
  std::string out;
  for (const std::string& word : words_of(gpu.name)) {
    if (is_form(word) || word.ends_with("gb") || word.starts_with("(")) break;
    out += word;
  }
  return out;
}

/// Whether words next to each other make up `family`.
bool names_family(const std::vector<std::string>& words, const std::string& family) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string joined;
    for (std::size_t k = i; k < words.size() && joined.size() < family.size(); ++k) {
      joined += words[k];
      if (joined == family) return true;
    }
  }
  return false;
}

}  // namespace

const GpuSpec* gpu_of_device(std::string_view device, std::int64_t memory_bytes) {
  const std::vector<std::string> words = words_of(device);
  const auto mentions = [](const std::vector<std::string>& in, const char* word) {
    return std::find(in.begin(), in.end(), word) != in.end();
  };
  const GpuSpec* best = nullptr;
  std::int64_t best_off = 0;
  for (const GpuSpec& gpu : gpu_specs()) {
    if (!names_family(words, family_of(gpu))) continue;
    const std::vector<std::string> own = words_of(gpu.name);
    std::int64_t off = memory_bytes > 0 ? std::abs(gpu.memory_bytes - memory_bytes) : 0;
    // Of one memory size, boards differ in name only; a driver says nothing of SXM on most.
    constexpr std::int64_t kOtherBoard = std::int64_t{8} << 30;
    for (const char* form : {"pcie", "nvl"}) {
      if (mentions(words, form) != mentions(own, form)) off += kOtherBoard;
    }
    if (best != nullptr && off >= best_off) continue;
    best = &gpu;
    best_off = off;
  }
  return best;
}

}  // namespace spillway

#include "scenarios/fidelity/fit/named_in_paths.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kParts = 6;  // the name itself and the folders above it

std::set<std::string> words_of(const std::vector<std::string>& paths) {
  std::set<std::string> out;
  for (const std::string& path : paths) {
    std::filesystem::path at = path;
    for (int i = 0; i < kParts && at.has_filename(); ++i, at = at.parent_path()) {
      std::string part = at.filename().string();
      if (i == 0) part = part.substr(0, part.find(".csv"));
      for (std::size_t from = 0; from <= part.size();) {
        const std::size_t end = std::min(part.find('_', from), part.size());
        out.insert(part.substr(from, end - from));
        from = end + 1;
      }
    }
  }
  return out;
}

/// Names have a letter and a digit, and are no plain number of a version.
bool may_name(const std::string& word) {
  const auto is = [](auto check) {
    return [check](char c) { return check(static_cast<unsigned char>(c)) != 0; };
  };
  return word.size() >= 3 && std::any_of(word.begin(), word.end(), is(isdigit)) &&
         std::any_of(word.begin(), word.end(), is(isalpha));
}

template <class Spec, class Find>
const Spec* named_in(const std::vector<std::string>& paths, Find find) {
  const Spec* found = nullptr;
  for (const std::string& word : words_of(paths)) {
    if (!may_name(word)) continue;
    try {
      const Spec& spec = find(word);
      if (found != nullptr && found != &spec) return nullptr;
      found = &spec;
    } catch (const InputError&) {
      continue;  // a word like any other
    }
  }
  return found;
}

}  // namespace

const GpuSpec* gpu_named_in(const std::vector<std::string>& paths) {
  return named_in<GpuSpec>(
      paths, [](const std::string& word) -> const GpuSpec& { return find_gpu(word, {}); });
}

const ModelSpec* model_named_in(const std::vector<std::string>& paths) {
  return named_in<ModelSpec>(
      paths, [](const std::string& word) -> const ModelSpec& { return find_model(word, {}); });
}

}  // namespace spillway

#include "scenarios/scenario/intake/input_kinds.hpp"

#include <algorithm>
#include <cctype>

namespace spillway {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_model_config(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         (has(text, "\"hidden_size\"") || has(text, "\"model_type\"") ||
          has(text, "\"architectures\"") || has(text, "\"num_hidden_layers\""));
}

bool is_log(std::string_view text) {
  constexpr std::string_view kLines[] = {
      "non-default args",   "vLLM API server version", "LLM engine (v",
      "GPU KV cache size:", "# GPU blocks:",           "args: Namespace("};
  return std::any_of(std::begin(kLines), std::end(kLines),
                     [&](std::string_view line) { return has(text, line); });
}

/// "EOF" of "cat > file <<'EOF'"; empty: the line has none.
std::string here_word(std::string_view line) {
  const std::size_t mark = line.find("<<");
  if (mark == std::string_view::npos) return {};
  std::string out;
  for (const char c : line.substr(std::min(line.find_first_not_of("<-", mark), line.size()))) {
    const bool quote = c == '\'' || c == '"' || (c == ' ' && out.empty());
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && !quote) break;
    if (!quote) out += c;
  }
  return out;
}

/// Some line is "key:" with nothing, or a list, below it, and belongs to no file that a script
/// writes.
bool is_manifest(std::string_view text) {
  std::size_t at = 0;
  std::string file_ends;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    if (!file_ends.empty()) {
      if (line.ends_with(file_ends)) file_ends.clear();
      continue;
    }
    file_ends = here_word(line);
    if (line.starts_with("apiVersion:") || line.starts_with("kind:")) return true;
    const std::size_t key = line.find_first_not_of(" -");
    if (key == std::string_view::npos ||
        line.find_first_of(" \"'$", key) != std::string_view::npos) {
      continue;
    }
    if (line.ends_with(":") && line.find_first_of("/()\\", key) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

bool is_anything(std::string_view) {
  return true;
}

}  // namespace

std::span<const InputKind> input_kinds() {
  static constexpr InputKind kKinds[] = {
      {"config.json of a model", is_model_config, nullptr},
      {"log of a server", is_log, calls_in_log},
      {"settings of an engine", is_settings, calls_in_settings},
      {"manifest or values", is_manifest, calls_in_manifest},
      {"command line", is_anything, calls_in_command},
  };
  return kKinds;
}

const InputKind& input_kind_of(std::string_view text) {
  for (const InputKind& kind : input_kinds()) {
    if (kind.is(text)) return kind;
  }
  return input_kinds().back();
}

}  // namespace spillway

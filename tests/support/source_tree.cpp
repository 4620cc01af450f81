#include "tests/support/source_tree.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none starts there.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return past("*/", at + 2);
  if (rest.front() == '"' && at > 0 && text[at - 1] == 'R') {
    const std::string_view delimiter = rest.substr(1, rest.find('(') - 1);
    return past(")" + std::string(delimiter) + "\"", at);
  }
  const bool separator = rest.front() == '\'' && at > 0 && is_hex(text[at - 1]) &&
                         rest.size() > 1 && is_hex(rest[1]);  // 1'000
  if (rest.front() != '"' && (rest.front() != '\'' || separator)) return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != rest.front() && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

std::vector<SourceFile> read_project() {
  namespace fs = std::filesystem;
  std::vector<SourceFile> out;
  const fs::path root = source_path("");
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory()) {
      // As in .gitignore, and files that are wrong on purpose; .ci is the one folder of ours that
      // begins with a dot.
      const bool product = name == "build" || name.starts_with("build-") || name == "out" ||
                           name == "__pycache__" || name == "malformed" ||
                           (name.front() == '.' && name != ".ci");
      if (product) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || name == ".git" || name == "compile_commands.json") continue;
    const bool foreign = it->path().parent_path().filename() == "echarts" &&
                         name != "bundle.sh" && name != "entry.js";
    if (foreign) continue;  // made by others, or of what they made
    std::string text = read_file(it->path().string());
    if (text.find('\0') != std::string::npos) continue;
    out.emplace_back(fs::relative(it->path(), root).generic_string(), std::move(text));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

}  // namespace

std::string code_only(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_literal(text, at);
    const bool quoted = text[at] == '"' || text[at] == '\'';
    for (std::size_t i = at + (quoted ? 1 : 0); i + (quoted ? 1 : 0) < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return out;
}

SourceFile::SourceFile(std::string where, std::string content)
    : path(std::move(where)), text(std::move(content)) {
  if (is_code()) code = code_only(text);
}

std::string SourceFile::folder() const {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

const std::vector<SourceFile>& project_files() {
  static const std::vector<SourceFile> files = read_project();
  return files;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::size_t> find_word(std::string_view text, std::string_view word) {
  std::vector<std::size_t> out;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool joined_left = at > 0 && is_word(text[at - 1]) && is_word(word.front());
    const bool joined_right = end < text.size() && is_word(text[end]) && is_word(word.back());
    if (!joined_left && !joined_right) out.push_back(at);
  }
  return out;
}

std::string place(const SourceFile& file, std::size_t offset) {
  const auto end = file.text.begin() + static_cast<std::ptrdiff_t>(offset);
  return file.path + ":" + std::to_string(1 + std::count(file.text.begin(), end, '\n'));
}

std::string listed(const std::vector<std::string>& complaints) {
  std::string out;
  for (const std::string& complaint : complaints) out += complaint + "\n";
  return out;
}

}  // namespace spillway::test

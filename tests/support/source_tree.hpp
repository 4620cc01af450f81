// The project's own files as text, for the tests that hold them to the house style.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway::test {

struct SourceFile {
  std::string path;  ///< relative to the project
  std::string text;
  std::string code;  ///< the text with comments and literals blanked, newlines kept

  SourceFile(std::string path, std::string text);
  /// Its first folder, e.g. "sim"; empty at the top.
  std::string folder() const;
  bool ends_with(std::string_view suffix) const { return path.ends_with(suffix); }
  bool is_code() const { return ends_with(".cpp") || ends_with(".hpp"); }
};

/// C++ with comments, strings and characters replaced by spaces; quotes and newlines stay.
std::string code_only(std::string_view text);

/// Every file of the project that is not binary and not a build product, by path.
const std::vector<SourceFile>& project_files();

std::vector<std::string> lines_of(std::string_view text);
/// Where `word` stands alone in `text`: no letter, digit or underscore on either side.
std::vector<std::size_t> find_word(std::string_view text, std::string_view word);
/// "path:line" of an offset.
std::string place(const SourceFile& file, std::size_t offset);

/// One per line, for a failing test to show.
std::string listed(const std::vector<std::string>& complaints);

/// What `rule` says about each file of the project, in one list.
template <class Rule>
std::vector<std::string> complaints_about_project(Rule rule) {
  std::vector<std::string> out;
  for (const SourceFile& file : project_files()) {
    for (std::string& complaint : rule(file)) out.push_back(std::move(complaint));
  }
  return out;
}

}  // namespace spillway::test

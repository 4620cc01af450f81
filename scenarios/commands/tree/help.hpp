// What --help prints: examples first, then the options by group, values and exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace spillway {

/// Of CLI11's tree; set on the root before the verbs are added, it holds for all of them. `width`
/// is the terminal's, 0 where there is none: then each option has one line, however long.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::size_t width_;
};

/// Before the verbs are added: they take it over.
void use_help(CLI::App& root, std::size_t width);

}  // namespace spillway

// Text as Markdown shows it: as it is, never as markup, link, mention or reference.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// Within a line: a cell, a fact, the middle of a paragraph.
std::string markdown_text(std::string_view text);
/// The same at the beginning of a block, where a few characters more have a meaning.
std::string markdown_block(std::string_view text);
/// Within HTML that stands in Markdown, where Markdown's own escapes do not work.
std::string markdown_html(std::string_view text);

}  // namespace spillway

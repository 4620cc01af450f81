// Text from inputs inside HTML, SVG and JSON: characters of markup and of control made inert.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// For text and for attributes in double quotes.
std::string html_text(std::string_view text);
/// The same, cut after `most` characters, which an ellipsis then ends.
std::string html_text(std::string_view text, std::size_t most);
/// `text` itself, or its first characters and an ellipsis: at most `most` characters.
std::string shortened(std::string_view text, std::size_t most);
/// A JSON string that is also inert inside a script element.
std::string json_text(std::string_view text);
/// With nine digits; null where there is no finite number.
std::string json_number(double value);

}  // namespace spillway

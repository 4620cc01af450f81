// Text from inputs, made safe for the files that other programs read: rules, dashboards, metrics.
#pragma once

#include <string>
#include <string_view>

namespace spillway {

/// One line without characters that a reader of YAML or of metrics takes for a line break or
/// refuses.
std::string one_line(std::string_view text);
/// A label's value in Prometheus' text: backslashes and quotes are escaped.
std::string label_value(std::string_view text);
/// A double-quoted string of JSON, which is one of YAML too.
std::string json_string(std::string_view text);
/// The same of text that Prometheus expands as a template: no part of `text` is one.
std::string untemplated(std::string_view text);

}  // namespace spillway

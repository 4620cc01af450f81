// Nodes of a YAML text, read with their types: what is of another one is an error with its file,
// line and key.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/intake/shell.hpp"
#include "sim/error.hpp"

namespace spillway {

/// Empty where the node is missing or no scalar.
std::string scalar(const YAML::Node& node);
/// A whole number above 0, if it is one.
std::optional<std::int64_t> whole(const YAML::Node& node);
/// The scalars of a list.
std::vector<std::string> texts(const YAML::Node& node);
/// Of a mapping; a missing node where it is none, or has no such key.
YAML::Node child(const YAML::Node& map, const std::string& key);

/// Where a node stands: its line in `file`, and the key as a path.
SourceRef place_of(const YAML::Node& node, const std::string& file, std::string_view key);

/// All throw InputError (exit 2) for a node that is there and has another type. `key` as a path.
std::optional<std::int64_t> whole_at(const YAML::Node& node, const std::string& file,
                                     std::string_view key);
std::optional<bool> truth_at(const YAML::Node& node, const std::string& file, std::string_view key);
void expect_map(const YAML::Node& node, const std::string& file, std::string_view key);
/// Bytes of a Kubernetes quantity: "10Gi", "100G", "1.5Ti".
std::optional<std::int64_t> quantity_at(const YAML::Node& node, const std::string& file,
                                        std::string_view key);

/// The same, where the text is at hand: nothing for what is no quantity.
std::optional<std::int64_t> quantity_bytes(std::string_view text);

/// "enableChunkedPrefill" and "enable_chunked_prefill" are the flag --enable-chunked-prefill.
std::string flag_of_key(std::string_view key);

/// Variables of a container: a list of names and values, of "NAME=value", or a mapping.
ShellVariables environment_of(const YAML::Node& env, ShellVariables out);

}  // namespace spillway

// What people hand in, by its content: one row a kind, with what reads it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scenarios/scenario/intake/engine_call.hpp"

namespace spillway {

struct InputKind {
  std::string_view name;  ///< "log of a server"
  bool (*is)(std::string_view text);
  /// nullptr: the shape of a model, which starts nothing.
  EngineCalls (*read)(std::string_view text, const std::string& name);
};

/// In the order in which they are tried; the last takes everything.
std::span<const InputKind> input_kinds();

const InputKind& input_kind_of(std::string_view text);

/// Whether the text is settings alone, without a command (settings_files.cpp).
bool is_settings(std::string_view text);

}  // namespace spillway

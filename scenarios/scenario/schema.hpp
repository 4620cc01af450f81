// The published JSON Schemas (scenarios/schema/*.schema.json), built into the binary.
#pragma once

#include <span>
#include <string_view>

namespace spillway {

struct SchemaEntry {
  std::string_view name;
  std::string_view text;
};

std::span<const SchemaEntry> schemas();

}  // namespace spillway

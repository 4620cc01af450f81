#include "models/engine/families/families.hpp"

#include "sim/error.hpp"

namespace spillway {

namespace {

struct FamilyRow {
  EngineFamily family;
  Residency residency;
  Assembler assemble;
};

constexpr FamilyRow kFamilies[] = {
    {EngineFamily::kVllmV1, Residency::kFull, assemble_vllm_v1},
    {EngineFamily::kVllmV1, Residency::kStreaming, assemble_vllm_streaming},
    {EngineFamily::kVllmV0, Residency::kFull, assemble_vllm_v0},
};

}  // namespace

Assembler assembler_of(const EngineConfig& config) {
  for (const FamilyRow& row : kFamilies) {
    if (row.family == config.family && row.residency == config.residency) return row.assemble;
  }
  KV_ASSERT(false, "no family of engines has this residency");
  return nullptr;
}

}  // namespace spillway

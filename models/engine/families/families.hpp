// The engine families: each is a file here, with the function that puts its parts together, and a
// row of the table in families.cpp.
#pragma once

#include "models/engine/engine_parts.hpp"

namespace spillway {

/// The function that puts together what the configuration asks for.
Assembler assembler_of(const EngineConfig& config);

Assembly assemble_vllm_v1(const Site& site, EngineParts& parts);
/// v1 with blocks of running requests below HBM.
Assembly assemble_vllm_streaming(const Site& site, EngineParts& parts);
Assembly assemble_vllm_v0(const Site& site, EngineParts& parts);

}  // namespace spillway

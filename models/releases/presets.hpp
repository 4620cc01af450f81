// Engine presets: the defaults and switches of a release, by name.
//
// The table of switches is what presets.cpp holds and models/engine/README.md shows, with the
// upstream change behind each; a scenario sets any switch by its name under `engine`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/catalogue/gpu_spec.hpp"
#include "models/releases/engine_config.hpp"
#include "sim/error.hpp"

namespace spillway {

/// vLLM serves with v1 since this minor version.
inline constexpr int kFirstV1Minor = 8;

/// A release: its row.
struct EnginePreset {
  std::string_view name;
  std::string_view summary;
  EngineFamily family;
  double gpu_memory_utilization;
  double watermark;    ///< share of blocks kept free when admitting
  bool has_watermark;  ///< the release lets users set it
  bool has_tiering;    ///< it can put tiers behind host memory
  int vllm = 0;        ///< of another product on vLLM: the minor version below it
  /// What it always has below HBM; native: whatever the scenario says.
  ConnectorKind connector = ConnectorKind::kNative;

  /// Of "vllm@0.23": 23; of what stands on vLLM, the latter's; of other engines 0.
  int minor() const;
  /// A release of v1 that has what came with this minor version.
  bool since(int first) const { return family == EngineFamily::kVllmV1 && minor() >= first; }
};

/// Something that releases do differently, and a scenario may decide by itself.
struct EngineSwitch {
  std::string_view name;  ///< of its key under `engine`
  bool EngineConfig::*member;
  std::string_view change;  ///< upstream commit or pull request that brought it
  int first;                ///< minor version of v1 that has it

  bool on(const EnginePreset& release) const { return release.since(first); }
};

/// The releases, those of vLLM last and oldest first.
std::span<const EnginePreset> engine_presets();
std::span<const EngineSwitch> engine_switches();

/// "vllm@0.23", or "vllm" for the newest; so of other engines. Throws InputError (exit 2) listing
/// the known ones.
const EnginePreset& find_preset(std::string_view name, const SourceRef& where);

/// The release itself, else the nearest of its generation: a v1 release never becomes a v0 preset.
/// nullptr where `name` is no release of an engine ("vllm@0.9.1").
const EnginePreset* nearest_preset(std::string_view name);
/// Of one generation, by the minor version; the older of two equally near.
const EnginePreset& nearest_preset(EngineFamily family, int minor);
/// "0.9.1", "vllm@0.9": 9; nothing for what is no version.
std::optional<int> minor_version(std::string_view name);

/// The preset's defaults; `gpu` (may be null) decides batch sizes as vLLM's API server does.
EngineConfig engine_defaults(const EnginePreset& preset, const GpuSpec* gpu);

}  // namespace spillway

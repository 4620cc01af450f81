// When a request whose prefix is being loaded may run, and who waits for the load meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace spillway {

enum class LoadSemantics : std::uint8_t {
  /// The request is set aside until a step boundary finds its load ended; nobody else waits (vLLM's
  /// asynchronous connectors, WAITING_FOR_REMOTE_KVS; KVBM).
  kAsync,
  /// It runs in the step that plans the load, and that step's forward waits for its loads:
  /// everybody
  /// in the batch waits (LMCache in process: retrieve() before the forward).
  kBlocking,
  /// The load runs beside the step that plans it; the request runs in the next one, whose forward
  /// waits for every load submitted by then (TensorRT-LLM: copies on a stream of their own, on
  /// which
  /// the compute stream waits before the forward).
  kBarrier,
  /// It runs in the step that plans the load, and each layer waits for its own piece of it (SGLang
  /// HiCache's LayerDoneCounter, FlexKV); everybody in the batch is delayed by a late piece.
  kLayerwise,
};

struct LoadSemanticsRow {
  std::string_view name;
  std::string_view summary;
  LoadSemantics value;
};
std::span<const LoadSemanticsRow> load_semantics();
std::string_view name_of(LoadSemantics semantics);

/// The request is given tokens in the step that plans its load.
constexpr bool runs_with_load(LoadSemantics s) {
  return s == LoadSemantics::kBlocking || s == LoadSemantics::kLayerwise;
}
/// A set-aside request may be scheduled before its load has ended: its step waits instead.
constexpr bool runs_behind_load(LoadSemantics s) {
  return s == LoadSemantics::kBarrier;
}

}  // namespace spillway

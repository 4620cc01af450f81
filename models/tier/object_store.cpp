// An object store over HTTP: long requests, a few connections, each slower than the client.
//
// 1 GB/s and 30 ms a request are the class that inference-sim ships for S3 (inference-sim/
// inference-sim: defaults.yaml). 0.14 GB/s is the most that LMCache's GCS adapter loaded from one
// small VM (LMCache PR 3923), here taken as one connection. 4 connections: io_threads of vLLM's obj
// tier. No limit over all clients is published: 100 GB/s is assumed, so that clients bind first.
#include "models/tier/storage_kinds.hpp"

namespace spillway::object_store {

namespace {
constexpr std::int64_t kConnectionRate = 140'000'000;
constexpr std::int64_t kClientRate = 1'000'000'000;
constexpr std::int64_t kTotalRate = 100'000'000'000;
constexpr Duration kRequest = std::chrono::milliseconds(30);
constexpr std::uint32_t kConnections = 4;
}  // namespace

StorageSpec spec() {
  StorageSpec out;
  out.kind = StorageKind::kObject;
  out.read = {kTotalRate, kClientRate, kConnectionRate, LatencyQuantiles::constant(kRequest)};
  out.write = out.read;
  out.slots = kConnections;
  out.read_first = kConnections;
  return out;
}

std::vector<StorageSource> sources() {
  constexpr std::string_view kClass = "inference-sim defaults.yaml, S3";
  return {{"connection_limit", "LMCache PR 3923, loads, taken as one connection"},
          {"client_limit", kClass},
          {"aggregate_limit", "assumed"},
          {"read_latency_us", kClass},
          {"write_latency_us", kClass},
          {"connections", "vLLM obj tier, io_threads"},
          {"chunk_tokens", "LMCache chunk_size"}};
}

}  // namespace spillway::object_store

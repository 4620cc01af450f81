// A key-value server (Redis, Valkey): a client library that is usually the limit, a round trip per
// command, and a server that works on one command at a time unless it has I/O threads.
//
// Client 0.28 GB/s with redis-py (a native C++ client with Redis 8.2 and 4 io-threads reaches 6
// GB/s; redis.io and tensormesh.ai blogs). One server 14-16 Gb/s (LMCache PR 1238), here 15.
// Latency of a remote tier 1-5 ms, here the least of them. One connection: redis-py in LMCache is
// synchronous. Chunks of 256 tokens (LMCache).
#include "models/tier/storage_kinds.hpp"

namespace spillway::kv_server {

namespace {
constexpr std::int64_t kClientRate = 280'000'000;
constexpr std::int64_t kServerRate = 1'875'000'000;  // 15 Gb/s
constexpr Duration kRoundTrip = std::chrono::milliseconds(1);
constexpr std::uint32_t kConnections = 1;
}  // namespace

StorageSpec spec() {
  StorageSpec out;
  out.kind = StorageKind::kKv;
  out.read = {kServerRate, kClientRate, 0, LatencyQuantiles::constant(kRoundTrip)};
  out.write = out.read;
  out.slots = kConnections;
  out.read_first = kConnections;
  out.one_at_a_time = true;
  return out;
}

std::vector<StorageSource> sources() {
  return {{"client_limit", "redis-py, redis.io blog"},
          {"server_limit", "LMCache PR 1238"},
          {"read_latency_us", "remote tiers 1-5 ms, the least"},
          {"write_latency_us", "remote tiers 1-5 ms, the least"},
          {"connections", "assumed, redis-py is synchronous"},
          {"single_threaded", "Redis without io-threads"},
          {"chunk_tokens", "LMCache chunk_size"}};
}

}  // namespace spillway::kv_server

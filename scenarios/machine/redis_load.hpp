// Clients of a key-value server at work: each one writes or reads its own key, one value at a time.
//
// All begin together and go on until the time is over. The rate is that of eight slices of the
// time; a value that lies across the end of a slice counts in parts, so that slow servers with few
// values per slice are measured as exactly as fast ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/machine/resp.hpp"

namespace spillway {

/// One connection with the key that only it uses.
struct RedisClient {
  std::unique_ptr<RespConnection> connection;
  std::string key;
  std::string_view value;    ///< the largest value; smaller ones are its beginning
  std::vector<char> read{};  ///< into which values are read
};

struct RedisLoad {
  std::int64_t bytes = 0;
  std::uint32_t clients = 1;
  std::uint32_t writers = 0;  ///< of these, the first ones write; the others read
  double seconds = 1;
  std::uint32_t expires_s = 0;
  std::function<bool()> stop = {};  ///< asked between values; empty: never
};

struct RedisOutcome {
  std::vector<double> slice_gbs;   ///< of all clients
  std::vector<double> read_gbs;    ///< of those that read
  std::vector<double> latency_us;  ///< of each value
  std::string problem;             ///< of the connection that failed first; empty: none
  bool same = true;                ///< what was read is what was written
};

/// Precondition: each key that is read has a value of `bytes`; `clients` has enough of them.
RedisOutcome run_redis_load(std::vector<RedisClient>& clients, const RedisLoad& load);

}  // namespace spillway

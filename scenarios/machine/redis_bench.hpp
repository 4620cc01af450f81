// A Redis or Valkey server, as the client of a serving engine on this machine sees it.
//
// SET and GET of values of 1 to 4 MiB by 1, 4 and 16 connections, one value at a time each; both at
// once, which says whether the server works on one command at a time; the times of PING and EXISTS.
// Each connection writes one key over and over, as a full server does: it takes the memory of what
// it gives up. The keys carry a random name and an expiry, and are deleted at the end. Nothing is
// written where the values would not fit below the server's maxmemory.
#pragma once

#include <string>
#include <vector>

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/redis_load.hpp"

namespace spillway {

struct RedisOptions {
  std::string server;      ///< --redis HOST[:PORT]; empty: none is measured
  double patience_s = 10;  ///< for one answer
};

class RedisBench final : public Bench {
 public:
  explicit RedisBench(RedisOptions options) : options_(std::move(options)) {}
  /// Deletes the keys.
  ~RedisBench() override;
  RedisBench(const RedisBench&) = delete;
  RedisBench& operator=(const RedisBench&) = delete;

  std::string_view name() const override { return "kv"; }
  /// Connects and looks; writes nothing. Throws InputError: exit 2 for a wrong address, 7 for a
  /// server that is not there, refuses, or has no room.
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  nlohmann::json measure(const CellPlan& cell) override;
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  void look();
  void check_room(RespConnection& server) const;
  void connect_clients(std::uint32_t count);
  void write_keys(std::int64_t bytes, std::uint32_t first, std::uint32_t end);
  void measure_values(KvCell& row);
  void measure_command(KvCell& row);
  void delete_keys();

  RedisOptions options_;
  RedisAddress address_;
  BenchLimits limits_;
  double cell_s_ = 1;
  std::string server_;   ///< "redis 7.0.15"
  std::string place_;    ///< local or remote
  std::string prefix_;   ///< of the keys
  std::string content_;  ///< of all values; each client's begins elsewhere in it
  std::vector<RedisClient> clients_;
  std::vector<std::string> warnings_;
};

}  // namespace spillway

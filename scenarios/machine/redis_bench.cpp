#include "scenarios/machine/redis_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "models/calibration/fit_errors.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/machine/cell_runner.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/machine/system_files.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"
#include "sim/rng.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

using Kind = RespReply::Kind;

constexpr std::int64_t kValueSizes[] = {1 * kMiB, 2 * kMiB, 4 * kMiB};
constexpr std::int64_t kLargestValue = 4 * kMiB;
constexpr std::uint32_t kClientCounts[] = {1, 4, 16};
constexpr std::uint32_t kMostClients = 16;
/// A server holds each value once, and once more while it receives or sends it.
constexpr std::int64_t kServerRoom = 2 * kMostClients * kLargestValue;
constexpr std::int64_t kOwnMemory = (kMostClients + 2) * kLargestValue;
constexpr double kCellsPerBudget = 60;  ///< 21 cells then take a good third of it
constexpr double kSetupS = 0.1;         ///< of one cell: its keys are written anew
constexpr std::uint32_t kExpiresS = 900;
constexpr std::uint32_t kMostTimedCommands = 20'000;
constexpr const char* kPasswordVariable = "REDISCLI_AUTH";

std::string redis_password() {
  const char* out = std::getenv(kPasswordVariable);
  return out == nullptr ? "" : out;
}

[[noreturn]] void refuse_server(const std::string& what) {
  throw InputError(Fault::kIo, {"--redis", 0, ""}, what);
}

constexpr std::size_t kValuesApart = 64;  ///< bytes between the beginnings of two clients' values

/// Bytes that a server can neither guess nor compress.
std::string random_content(std::uint64_t seed) {
  Stream stream(seed, "calibrate-redis");
  std::string out(static_cast<std::size_t>(kLargestValue) + kValuesApart * kMostClients, '\0');
  for (std::size_t at = 0; at + 8 <= out.size(); at += 8) {
    const std::uint64_t word = stream.bits();
    for (std::size_t i = 0; i < 8; ++i) out[at + i] = static_cast<char>(word >> (8 * i));
  }
  return out;
}

CellPlan kv_cell(const char* op, std::int64_t bytes, std::uint32_t clients, double seconds) {
  return {"kv", {{"op", op}, {"bytes", bytes}, {"clients", clients}}, seconds, 0, false};
}

}  // namespace

RedisBench::~RedisBench() {
  delete_keys();
}

/// What the server is, and whether it has room. Throws RespError.
void RedisBench::look() {
  RespConnection server(address_, redis_password(), options_.patience_s);
  server.expect(Kind::kStatus, {"PING"});
  place_ = server.local() ? "local" : "remote";
  const std::string info = server.expect(Kind::kText, {"INFO", "server"}).text;
  // Valkey also says which Redis it is like.
  const std::string valkey = info_field(info, "valkey_version");
  const std::string version = info_field(info, "redis_version");
  server_ = valkey.empty() ? "redis " + version : "valkey " + valkey;
  check_room(server);
}

void RedisBench::check_room(RespConnection& server) const {
  const std::string info = server.expect(Kind::kText, {"INFO", "memory"}).text;
  std::string most = info_field(info, "maxmemory");
  if (most.empty()) {  // older servers say it only as a setting
    const RespReply answer = server.call({"CONFIG", "GET", "maxmemory"});
    if (answer.items.size() == 2) most = answer.items[1].text;
  }
  const std::int64_t limit = number(most, 0);
  const std::int64_t used = number(info_field(info, "used_memory"), 0);
  if (limit == 0 || used + kServerRoom <= limit) return;
  refuse_server(
      fmt::format("{} has too little room: maxmemory is {}, and {} are in use; expected {} free. "
                  "Nothing was written",
                  server.name(), size_of(limit), size_of(used), size_of(kServerRoom)));
}

std::vector<CellPlan> RedisBench::plan(const BenchLimits& limits,
                                       std::vector<std::string>& missing) {
  limits_ = limits;
  address_ = parse_redis_address(options_.server, {"--redis", 0, ""});
  try {
    look();
  } catch (const RespError& error) {
    refuse_server(error.what());
  }
  if (limits.memory_bytes < kOwnMemory) {
    missing.push_back(fmt::format("kv: its clients need {} of host memory, --memory allows {}",
                                  size_of(kOwnMemory), size_of(limits.memory_bytes)));
    return {};
  }
  if (prefix_.empty()) prefix_ = fmt::format("spillway:calibrate:{:016x}:", unique_number());
  cell_s_ = std::clamp(limits.budget_s / kCellsPerBudget, 0.05, 2.0);
  std::vector<CellPlan> out;
  const double seconds = cell_s_ + kSetupS;
  out.push_back(kv_cell("ping", 0, 1, cell_s_ / 2));
  out.push_back(kv_cell("exists", 0, 1, cell_s_ / 2));
  for (const std::int64_t bytes : kValueSizes) {
    for (const std::uint32_t clients : kClientCounts) {
      out.push_back(kv_cell("write", bytes, clients, seconds));
      out.push_back(kv_cell("read", bytes, clients, seconds));
    }
  }
  out.push_back(kv_cell("mixed", kValueSizes[0], kMostClients, seconds));
  return out;
}

void RedisBench::connect_clients(std::uint32_t count) {
  if (content_.empty()) content_ = random_content(limits_.seed);
  while (clients_.size() < count) {
    RedisClient client;
    client.connection =
        std::make_unique<RespConnection>(address_, redis_password(), options_.patience_s);
    client.key = fmt::format("{}{}", prefix_, clients_.size());
    client.value = std::string_view(content_).substr(kValuesApart * clients_.size(),
                                                     static_cast<std::size_t>(kLargestValue));
    client.read.resize(client.value.size());
    clients_.push_back(std::move(client));
  }
}

void RedisBench::write_keys(std::int64_t bytes, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i) {
    RedisClient& client = clients_[i];
    client.connection->set(client.key, client.value.substr(0, static_cast<std::size_t>(bytes)),
                           kExpiresS);
  }
}

void RedisBench::measure_values(KvCell& row) {
  RedisLoad load;
  load.bytes = row.bytes;
  load.clients = row.clients;
  load.writers = row.op == "write" ? row.clients : row.op == "read" ? 0 : row.clients / 2;
  load.seconds = cell_s_;
  load.expires_s = kExpiresS;
  load.stop = limits_.stop;
  write_keys(row.bytes, 0, row.clients);
  RedisOutcome outcome = run_redis_load(clients_, load);
  if (!outcome.problem.empty()) throw RespError(outcome.problem);
  if (limits_.stop && limits_.stop()) return;
  row.gbs = median_of(outcome.slice_gbs);
  if (row.op == "mixed") row.read_gbs = median_of(outcome.read_gbs);
  std::vector<double> value_us;
  for (const double gbs : outcome.slice_gbs) {
    if (gbs > 0) value_us.push_back(static_cast<double>(row.bytes) / gbs * 1e-3);
  }
  row.time = spread_of(std::move(value_us));
  row.values = outcome.latency_us.size();
  tell_latency(row, outcome.latency_us);
  if (!outcome.same) row.state.problem = "read other than what was written";
}

/// PING, or EXISTS of a key that is there: what a look-up takes.
void RedisBench::measure_command(KvCell& row) {
  if (row.op == "exists") write_keys(kMiB, 0, 1);
  RespConnection& server = *clients_[0].connection;
  const bool exists = row.op == "exists";
  std::vector<double> times_us;
  const double end = monotonic_s() + cell_s_ / 2;
  while (times_us.size() < kMostTimedCommands) {
    const double begin = monotonic_s();
    if (begin >= end && !times_us.empty()) break;
    if (exists) {
      server.expect(Kind::kInteger, {"EXISTS", clients_[0].key});
    } else {
      server.expect(Kind::kStatus, {"PING"});
    }
    times_us.push_back((monotonic_s() - begin) * 1e6);
    if (limits_.stop && limits_.stop()) return;
  }
  row.values = times_us.size();
  row.time = spread_of(times_us);
  tell_latency(row, times_us);
}

nlohmann::json RedisBench::measure(const CellPlan& cell) {
  KvCell row;
  row.server = server_;
  row.place = place_;
  row.op = cell.request.at("op");
  row.bytes = cell.request.at("bytes");
  row.clients = cell.request.at("clients");
  const bool command = row.op == "ping" || row.op == "exists";
  try {
    connect_clients(row.clients);
    command ? measure_command(row) : measure_values(row);
  } catch (const RespError& error) {
    throw BenchLost(error.what());
  }
  row.state.valid = row.state.problem.empty();
  // Single commands vary by nature; the median of thousands does not.
  row.state.stable = command || row.time.cv <= kUnstableCv;
  return to_document(row);
}

/// What cannot be deleted any more expires.
void RedisBench::delete_keys() {
  try {
    if (clients_.empty()) return;
    std::vector<std::string> words = {"DEL"};
    for (const RedisClient& client : clients_) words.push_back(client.key);
    RespConnection(address_, redis_password(), options_.patience_s).call(words);
  } catch (const RespError&) {
    // Expires.
  }
}

}  // namespace spillway

#include "scenarios/machine/redis_load.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "scenarios/machine/parallel.hpp"
#include "scenarios/machine/samples.hpp"

namespace spillway {

namespace {

constexpr std::size_t kSlices = 8;
constexpr double kWarmShare = 0.1;  ///< of the time, before the first slice

struct ServedValue {
  double begin_s;
  double end_s;
};

/// What the clients of one load share.
struct RedisShared {
  explicit RedisShared(const RedisLoad& l) : load(l), served(l.clients) {}

  const RedisLoad& load;
  double end_s = 0;
  std::atomic<bool> ended{false};
  std::vector<std::vector<ServedValue>> served;  ///< by client
  std::mutex mutex;
  std::string problem;
  std::atomic<bool> same{true};

  void fail(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (problem.empty()) problem = what;
    ended = true;
  }
};

/// One value, and whether it is what was written. Only the first of a client is compared whole: the
/// time is for the server.
void serve_one(RedisClient& client, RedisShared& shared, std::size_t index) {
  const auto bytes = static_cast<std::size_t>(shared.load.bytes);
  std::vector<ServedValue>& served = shared.served[index];
  const double begin = monotonic_s();
  if (index < shared.load.writers) {
    client.connection->set(client.key, client.value.substr(0, bytes), shared.load.expires_s);
  } else {
    client.connection->get(client.key, std::span(client.read).first(bytes));
  }
  served.push_back({begin, monotonic_s()});
  const bool compare = index >= shared.load.writers && served.size() == 1;
  if (compare && std::memcmp(client.read.data(), client.value.data(), bytes) != 0) {
    shared.same = false;
  }
}

void serve_all(RedisClient& client, RedisShared& shared, std::size_t index) {
  try {
    do {
      serve_one(client, shared, index);
      if (index == 0 && shared.load.stop && shared.load.stop()) shared.ended = true;
    } while (!shared.ended && monotonic_s() < shared.end_s);
  } catch (const RespError& error) {
    shared.fail(error.what());
  }
}

/// Adds what each slice between `from_s` and `to_s` has of the values of one client.
void add_slices(const std::vector<ServedValue>& served, double from_s, double to_s,
                double gigabytes, std::vector<double>& gbs) {
  const double slice_s = (to_s - from_s) / static_cast<double>(kSlices);
  for (const ServedValue& one : served) {
    for (std::size_t i = 0; i < kSlices; ++i) {
      const double begin = from_s + slice_s * static_cast<double>(i);
      const double inside = std::min(one.end_s, begin + slice_s) - std::max(one.begin_s, begin);
      if (inside > 0) gbs[i] += gigabytes * inside / (one.end_s - one.begin_s) / slice_s;
    }
  }
}

}  // namespace

RedisOutcome run_redis_load(std::vector<RedisClient>& clients, const RedisLoad& load) {
  RedisShared shared(load);
  const double start_s = monotonic_s();
  shared.end_s = start_s + load.seconds;
  run_together(load.clients, [&](std::size_t i) { serve_all(clients[i], shared, i); });
  RedisOutcome out;
  out.problem = shared.problem;
  out.same = shared.same;
  out.slice_gbs.assign(kSlices, 0);
  out.read_gbs.assign(kSlices, 0);
  const double from_s = start_s + load.seconds * kWarmShare;
  const double gigabytes = static_cast<double>(load.bytes) / 1e9;
  for (std::size_t i = 0; i < load.clients; ++i) {
    add_slices(shared.served[i], from_s, shared.end_s, gigabytes, out.slice_gbs);
    if (i >= load.writers) {
      add_slices(shared.served[i], from_s, shared.end_s, gigabytes, out.read_gbs);
    }
    for (const ServedValue& one : shared.served[i]) {
      out.latency_us.push_back((one.end_s - one.begin_s) * 1e6);
    }
  }
  return out;
}

}  // namespace spillway

// A fabric to submit to at given times, with everything it tells written down.
#pragma once

#include <utility>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/link_model.hpp"

namespace spillway::test {

/// A station where everything takes as long as its bytes at `bytes_per_ns`, behind a latency.
class PlainService final : public ServiceModel {
 public:
  PlainService(std::int64_t latency_ns, std::int64_t bytes_per_ns)
      : latency_(latency_ns), bytes_per_ns_(bytes_per_ns) {}
  Service service(Bytes payload, std::uint32_t) override {
    return {latency_, Duration(ceil_div(payload.count(), bytes_per_ns_))};
  }

 private:
  Duration latency_;
  std::int64_t bytes_per_ns_;
};

class FabricRig final : private RouteListener, private EventHandler, private Observer {
 public:
  struct Job {
    RouteId route;
    std::int64_t at;
    std::int64_t bytes;
    std::uint32_t copies = 1;
  };
  EventQueue queue;
  Fabric fabric{queue};
  std::vector<Job> jobs;
  std::vector<std::pair<std::uint32_t, std::int64_t>> ended;  ///< job, when, in order
  std::vector<TransferRecord> records;

  StationId station(std::int64_t latency_ns, std::int64_t bytes_per_ns, std::uint32_t slots = 1,
                    std::uint32_t link = kNoLink) {
    return fabric.add_station(
        {std::make_unique<PlainService>(latency_ns, bytes_per_ns), slots, link, this});
  }
  /// Takes `ns` for each copy, one after another.
  StationId thread(std::int64_t ns, std::uint32_t link) {
    return fabric.add_station({make_per_copy_service(Duration(ns)), 1, link, this});
  }
  MediumId medium(std::int64_t bytes_per_ns, std::uint32_t link = kNoLink) {
    return fabric.add_medium(bytes_per_ns * 1'000'000'000, link, this);
  }
  RouteId route(const std::vector<Hop>& hops) { return fabric.add_route(hops); }
  /// Its number is its place among `jobs`.
  void at(std::int64_t when, RouteId route, std::int64_t bytes, std::uint32_t copies = 1) {
    queue.schedule(time_at(when), Phase::kArrival, *this,
                   {0, 0, static_cast<std::uint32_t>(jobs.size())});
    jobs.push_back({route, when, bytes, copies});
  }
  void run() {
    while (queue.step()) {
    }
  }
  /// When each job ended, by number; -1 where it did not.
  std::vector<std::int64_t> ends() const {
    std::vector<std::int64_t> out(jobs.size(), -1);
    for (const auto& [job, when] : ended) out[job] = when;
    return out;
  }

 private:
  void on_event(EventPayload payload) override {
    const Job& job = jobs[payload.subject];
    fabric.submit(job.route, payload.subject, Bytes(job.bytes), job.copies, *this);
  }
  void on_route_done(RouteId, std::uint32_t job) override {
    ended.emplace_back(job, nanoseconds_of(queue.now()));
  }
  void on_transfer(const TransferRecord& record) override { records.push_back(record); }
};

}  // namespace spillway::test

#include "traces/reshape/session_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/rng.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

/// One request of a replicate: request `request` of the session drawn for place `slot`.
struct Drawn {
  std::int64_t arrival_ns;
  std::uint32_t slot;
  std::uint32_t copy;  ///< how often its session had been drawn before
  std::uint32_t request;
};

/// Before the number of a recording: apart from all numbers of copies.
constexpr std::uint64_t kOfRecording = std::uint64_t{1} << 31;

/// The first recording has the stream of its replicate; those behind it have their own, so that a
/// longer replicate begins with the shorter one.
Stream stream_of(std::uint64_t seed, std::uint64_t index, std::uint32_t recording) {
  if (recording == 0) return Stream(seed, "session bootstrap", index);
  return Stream(seed, "session bootstrap goes on", (std::uint64_t{recording} << 32) + index);
}

}  // namespace

SessionBootstrap::SessionBootstrap(const Workload& workload)
    : workload_(workload), sessions_(find_sessions(workload)) {
  method_ = fmt::format("{} sessions ({}) are resampled within {}", sessions(), sessions_.who,
                        sessions_.when);
}

Workload SessionBootstrap::replicate(std::uint64_t seed, std::uint64_t index,
                                     std::uint32_t recordings) const {
  KV_ASSERT(recordings > 0 && std::uint64_t{recordings} * sessions() < kOfRecording,
            "{} recordings of {} sessions", recordings, sessions());
  std::vector<std::uint32_t> copies(sessions(), 0);
  std::vector<Drawn> rows;
  const auto arrival = workload_.columns().arrival_ns;
  for (std::uint32_t recording = 0; recording < recordings; ++recording) {
    Stream random = stream_of(seed, index, recording);
    for (std::uint32_t place = 0; place < sessions(); ++place) {
      const auto& members = sessions_.like(place);
      const std::uint32_t drawn = members[random.below(members.size())];
      const std::uint32_t copy = copies[drawn]++;
      const std::int64_t shift =
          sessions_.start_ns[place] - sessions_.start_ns[drawn] + recording * sessions_.span_ns();
      for (const std::uint32_t r : sessions_.requests[drawn]) {
        rows.push_back({arrival[r] + shift, recording * sessions() + place, copy, r});
      }
    }
  }
  std::ranges::stable_sort(rows, {}, &Drawn::arrival_ns);

  const auto joined = [](std::uint64_t high, std::uint64_t low) { return (high << 32) | low; };
  WorkloadBuilder builder(workload_.source().name, workload_.block_tokens());
  TraceRow row;
  for (const Drawn& drawn : rows) {
    put_row(workload_, RequestId{drawn.request}, row);
    row.arrival_ns = drawn.arrival_ns;
    if (row.session) row.session = drawn.slot;
    if (row.id) row.id = joined(drawn.slot, *row.id);
    std::erase_if(row.after,
                  [&](std::uint64_t r) { return sessions_.of[r] != sessions_.of[drawn.request]; });
    for (std::uint64_t& r : row.after) r = joined(drawn.slot, r);
    const std::uint32_t recording = drawn.slot / sessions();
    for (std::uint64_t& id : row.blocks) {
      if (!sessions_.shared[id]) {
        id = joined(drawn.copy, id);
      } else if (recording > 0 && !sessions_.lasting[id]) {
        id = joined(kOfRecording + recording, id);
      }
    }
    builder.add(row);
  }
  return builder.build(workload_.source());
}

}  // namespace spillway

#include "traces/reshape/session_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/rng.hpp"
#include "traces/reshape/session_inference.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint32_t kHours = 24;
constexpr std::int64_t kHourNs = 3'600'000'000'000;
constexpr std::size_t kLeastAnHour = 10;
constexpr std::size_t kLeastAStretch = 20;
constexpr std::size_t kStretches = 10;

/// Sessions from prefixes, for drawing alone: the workload itself is left as it is.
std::vector<std::uint32_t> suggested_sessions(const Workload& workload) {
  std::vector<std::uint32_t> all(workload.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  const Workload found = infer_sessions(select_rows(workload, all), {});
  return {found.columns().session.begin(), found.columns().session.end()};
}

/// One request of a replicate: request `request` of the session drawn for place `slot`.
struct Drawn {
  std::int64_t arrival_ns;
  std::uint32_t slot;
  std::uint32_t copy;  ///< how often its session had been drawn before
  std::uint32_t request;
};

}  // namespace

SessionBootstrap::SessionBootstrap(const Workload& workload) : workload_(workload) {
  const std::vector<std::uint32_t> named = find_sessions();
  std::vector<std::uint32_t> number(workload.size(), kNone);  // sessions in order of start
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    std::uint32_t& session = number[named[r]];
    if (session == kNone) {
      session = sessions();
      start_ns_.push_back(workload.columns().arrival_ns[r]);
      requests_.emplace_back();
    }
    session_.push_back(session);
    requests_[session].push_back(r);
  }
  find_strata();
  method_ =
      fmt::format("{} sessions ({}) are drawn with replacement within {}", sessions(), who_, when_);
  std::vector<std::uint32_t> owner(workload.unique_blocks(), kNone);
  shared_.assign(workload.unique_blocks(), false);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    for (const TraceBlockId id : workload.chain(RequestId{r})) {
      std::uint32_t& first = owner[raw(id)];
      if (first == kNone) first = session_[r];
      if (first != session_[r]) shared_[raw(id)] = true;
    }
  }
}

/// A number below the requests' for each request, equal within a session.
std::vector<std::uint32_t> SessionBootstrap::find_sessions() {
  const WorkloadColumns& c = workload_.columns();
  if (!c.session.empty()) {
    who_ = workload_.source().inferred_sessions ? "inferred from prefixes" : "the trace's own";
    return {c.session.begin(), c.session.end()};
  }
  if (c.after_begin.empty()) {
    who_ = "suggested by prefixes, as the trace names none; other requests are one each";
    return suggested_sessions(workload_);
  }
  who_ = "chains of answers waited for, as the trace names none";
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < workload_.size(); ++r) {
    const auto after = workload_.after(RequestId{r});
    out.push_back(after.empty() ? r : out[raw(after.front())]);
  }
  return out;
}

bool SessionBootstrap::strata_by_hour() {
  if (start_ns_.back() - start_ns_.front() < kHours * kHourNs) return false;
  std::vector<std::vector<std::uint32_t>> hours(kHours);
  for (std::uint32_t s = 0; s < sessions(); ++s) {
    hours[static_cast<std::size_t>(start_ns_[s] / kHourNs) % kHours].push_back(s);
  }
  std::erase_if(hours, [](const auto& hour) { return hour.empty(); });
  for (const auto& hour : hours) {
    if (hour.size() < kLeastAnHour) return false;
  }
  members_ = std::move(hours);
  when_ = "hours of the day";
  return true;
}

void SessionBootstrap::find_strata() {
  if (!strata_by_hour()) {
    const std::size_t count =
        std::clamp<std::size_t>(start_ns_.size() / kLeastAStretch, 1, kStretches);
    members_.resize(count);
    for (std::uint32_t s = 0; s < sessions(); ++s) {
      members_[s * count / start_ns_.size()].push_back(s);
    }
    when_ = count == 1 ? "the whole trace"
                       : fmt::format("{} stretches of equally many session starts", count);
  }
  stratum_.resize(start_ns_.size());
  for (std::uint32_t i = 0; i < strata(); ++i) {
    for (const std::uint32_t s : members_[i]) stratum_[s] = i;
  }
}

Workload SessionBootstrap::replicate(std::uint64_t seed, std::uint64_t index) const {
  Stream random(seed, "session bootstrap", index);
  std::vector<std::uint32_t> copies(sessions(), 0);
  std::vector<Drawn> rows;
  for (std::uint32_t slot = 0; slot < sessions(); ++slot) {
    const auto& members = members_[stratum_[slot]];
    const std::uint32_t drawn = members[random.below(members.size())];
    const std::uint32_t copy = copies[drawn]++;
    const std::int64_t shift = start_ns_[slot] - start_ns_[drawn];
    for (const std::uint32_t r : requests_[drawn]) {
      rows.push_back({workload_.columns().arrival_ns[r] + shift, slot, copy, r});
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
                  [&](std::uint64_t r) { return session_[r] != session_[drawn.request]; });
    for (std::uint64_t& r : row.after) r = joined(drawn.slot, r);
    for (std::uint64_t& id : row.blocks) {
      if (!shared_[id]) id = joined(drawn.copy, id);
    }
    builder.add(row);
  }
  return builder.build(workload_.source());
}

}  // namespace spillway

#include "traces/reshape/workload_sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "traces/reshape/session_inference.hpp"
#include "traces/reshape/workload_rows.hpp"

namespace spillway {

namespace {

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

/// A number below the requests' for each request, equal within a session.
std::vector<std::uint32_t> session_names(const Workload& workload, std::string& who) {
  const WorkloadColumns& c = workload.columns();
  if (!c.session.empty()) {
    who = workload.source().inferred_sessions ? "inferred from prefixes" : "the trace's own";
    return {c.session.begin(), c.session.end()};
  }
  if (c.after_begin.empty()) {
    who = "suggested by prefixes, as the trace names none; other requests are one each";
    return suggested_sessions(workload);
  }
  who = "chains of answers waited for, as the trace names none";
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const auto after = workload.after(RequestId{r});
    out.push_back(after.empty() ? r : out[raw(after.front())]);
  }
  return out;
}

bool strata_by_hour(WorkloadSessions& s) {
  if (s.start_ns.back() - s.start_ns.front() < kHours * kHourNs) return false;
  std::vector<std::vector<std::uint32_t>> hours(kHours);
  for (std::uint32_t i = 0; i < s.count(); ++i) {
    hours[static_cast<std::size_t>(s.start_ns[i] / kHourNs) % kHours].push_back(i);
  }
  std::erase_if(hours, [](const auto& hour) { return hour.empty(); });
  for (const auto& hour : hours) {
    if (hour.size() < kLeastAnHour) return false;
  }
  s.strata = std::move(hours);
  s.when = "hours of the day";
  s.by_hour = true;
  return true;
}

void find_strata(WorkloadSessions& s) {
  if (!strata_by_hour(s)) {
    const std::size_t sessions = s.start_ns.size();
    const std::size_t count = std::clamp<std::size_t>(sessions / kLeastAStretch, 1, kStretches);
    s.strata.resize(count);
    for (std::uint32_t i = 0; i < sessions; ++i) s.strata[i * count / sessions].push_back(i);
    s.when = count == 1 ? "the whole trace"
                        : fmt::format("{} parts of as many sessions each", count);
  }
  s.stratum.resize(s.start_ns.size());
  for (std::uint32_t i = 0; i < s.strata.size(); ++i) {
    for (const std::uint32_t session : s.strata[i]) s.stratum[session] = i;
  }
}

}  // namespace

std::int64_t WorkloadSessions::span_ns() const {
  const std::int64_t starts = start_ns.back() - start_ns.front();
  return count() < 2 ? starts : starts + starts / (std::int64_t{count()} - 1);
}

WorkloadSessions::Stretch WorkloadSessions::stretch(std::uint32_t s) const {
  const std::int64_t end = start_ns.front() + span_ns();
  if (by_hour) {
    const std::int64_t hour = start_ns[s] / kHourNs * kHourNs;
    return {std::max(hour, start_ns.front()), std::min(hour + kHourNs, end)};
  }
  const std::uint32_t which = stratum[s];
  return {start_ns[strata[which].front()],
          which + 1 < strata.size() ? start_ns[strata[which + 1].front()] : end};
}

WorkloadSessions find_sessions(const Workload& workload) {
  WorkloadSessions out;
  const std::vector<std::uint32_t> named = session_names(workload, out.who);
  std::vector<std::uint32_t> number(workload.size(), kNoIndex);  // sessions in order of start
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    std::uint32_t& session = number[named[r]];
    if (session == kNoIndex) {
      session = out.count();
      out.start_ns.push_back(workload.columns().arrival_ns[r]);
      out.requests.emplace_back();
    }
    out.of.push_back(session);
    out.requests[session].push_back(r);
  }
  find_strata(out);
  find_shared_blocks(workload, out);
  return out;
}

void find_shared_blocks(const Workload& workload, WorkloadSessions& sessions) {
  std::vector<std::uint32_t> owner(workload.unique_blocks(), kNoIndex);
  sessions.shared.assign(workload.unique_blocks(), false);
  sessions.lasting.assign(workload.unique_blocks(), false);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const std::uint32_t session = sessions.of[r];
    for (const TraceBlockId id : workload.chain(RequestId{r})) {
      std::uint32_t& first = owner[raw(id)];
      if (first == kNoIndex) first = session;
      if (first == session) continue;
      sessions.shared[raw(id)] = true;
      const std::uint32_t apart = std::max(first, session) - std::min(first, session);
      if (2 * std::uint64_t{apart} >= sessions.count()) sessions.lasting[raw(id)] = true;
    }
  }
}

}  // namespace spillway

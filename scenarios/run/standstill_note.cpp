#include "scenarios/run/standstill_note.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/notes/run_notes.hpp"

namespace spillway {

namespace {

constexpr std::size_t kNamedHolders = 3;

std::uint32_t held_by_others(const Standstill& s) {
  std::uint32_t sum = 0;
  for (const Standstill::Holder& holder : s.others) sum += holder.blocks;
  return sum;
}

/// "requests 5 (250 blocks), 6 (8) and 3 more".
std::string holders(const Standstill& s) {
  std::string out = s.others.size() == 1 ? "request " : "requests ";
  const std::size_t named = std::min(s.others.size(), kNamedHolders);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) out += ", ";
    out += fmt::format("{} ({}{})", raw(s.others[i].request), s.others[i].blocks,
                       i == 0 ? " blocks" : "");
  }
  if (s.others.size() > named) out += fmt::format(" and {} more", s.others.size() - named);
  return out;
}

/// What the head asks of the pool.
std::string demand(const Standstill& s) {
  std::string out =
      fmt::format("Request {} at the head of the queue needs {} more blocks", raw(s.head), s.needs);
  if (s.holds > 0) out += fmt::format(" (it holds {})", s.holds);
  out += fmt::format("; {} of {} are free", s.free, s.usable);
  if (s.reserved > 0) out += fmt::format(", {} of them kept for loads under way", s.reserved);
  return out;
}

}  // namespace

Note standstill_note(const Standstill& s) {
  const auto request = [&] { return NoteFigure("request", raw(s.head)); };
  switch (s.kind) {
    case Standstill::Kind::kMutualLoads:
      return run_note(
          "mutual-loads",
          {{"demand", demand(s)}, {"blocks", held_by_others(s)}, {"holders", holders(s)}});
    case Standstill::Kind::kStrandedLoads:
      return run_note("stranded-loads", {{"demand", demand(s)},
                                         {"holders", capitalised(holders(s))},
                                         {"holding", s.others.size()},
                                         {"blocks", held_by_others(s)}});
    case Standstill::Kind::kUnansweredLookup:
      return run_note("unanswered-lookup",
                      {request(), {"free_blocks", s.free}, {"blocks", s.usable}});
    case Standstill::Kind::kNeverFits:
      return run_note("never-fits", {{"demand", demand(s)}});
    case Standstill::Kind::kOverBudget:
      return run_note("over-budget", {request(), {"tokens", s.tokens}, {"budget", s.budget}});
    case Standstill::Kind::kPreemptionLoop:
      return run_note("preemption-loop", {{"steps", s.steps}, request()});
    case Standstill::Kind::kNoBuffer:
      return run_note("no-buffer", {request()});
    case Standstill::Kind::kUnknown:
      break;
  }
  return run_note("standstill-unknown");
}

}  // namespace spillway

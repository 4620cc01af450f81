#include "models/engine/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>

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
      fmt::format("request {} at the head of the queue needs {} more blocks", raw(s.head), s.needs);
  if (s.holds > 0) out += fmt::format(" beside the {} that it holds", s.holds);
  out += fmt::format("; {} of {} are free", s.free, s.usable);
  if (s.reserved > 0) out += fmt::format(", {} of them kept for loads under way", s.reserved);
  return out;
}

}  // namespace

std::string_view name_of(Standstill::Kind kind) {
  switch (kind) {
    case Standstill::Kind::kMutualLoads:
      return "mutual_loads";
    case Standstill::Kind::kStrandedLoads:
      return "stranded_loads";
    case Standstill::Kind::kUnansweredLookup:
      return "unanswered_lookup";
    case Standstill::Kind::kNeverFits:
      return "never_fits";
    case Standstill::Kind::kOverBudget:
      return "over_budget";
    case Standstill::Kind::kPreemptionLoop:
      return "preemption_loop";
    case Standstill::Kind::kUnknown:
      break;
  }
  return "unknown";
}

std::string explain(const Standstill& s) {
  switch (s.kind) {
    case Standstill::Kind::kMutualLoads:
      return fmt::format(
          "{}. The other {} blocks in use are held by {}, whose prefixes were loaded as well: each "
          "waits for the others (vLLM issues 45387, 45388; engine.async_load_reservation, PR "
          "44560, avoids it first come, first served)",
          demand(s), held_by_others(s), holders(s));
    case Standstill::Kind::kStrandedLoads:
      return fmt::format(
          "{}. {} blocks are held by {} behind it, whose prefixes were loaded: they might run, but "
          "the walk stops at the head (vLLM PRs 45406, 57841)",
          demand(s), held_by_others(s), holders(s));
    case Standstill::Kind::kUnansweredLookup:
      return fmt::format(
          "the look-up of request {} below HBM is put off at every step, and what it waits for is "
          "no longer under way; {} of {} blocks are free (vLLM issues 49176, 49829: such a wait "
          "has no deadline)",
          raw(s.head), s.free, s.usable);
    case Standstill::Kind::kNeverFits:
      return fmt::format("{}, and nobody holds the others", demand(s));
    case Standstill::Kind::kOverBudget:
      return fmt::format(
          "request {} at the head of the queue has {} tokens, a step takes {}, and prompts are not "
          "computed in chunks (engine.enable_chunked_prefill)",
          raw(s.head), s.tokens, s.budget);
    case Standstill::Kind::kPreemptionLoop:
      return fmt::format(
          "{} steps in a row only computed again what preemptions had taken, request {} first: "
          "whoever is served takes the blocks of the others (vLLM issue 49674; "
          "engine.reserve_full_isl or defer_block_free=false avoids it)",
          s.steps, raw(s.head));
    case Standstill::Kind::kUnknown:
      break;
  }
  return "nothing runs, nothing is in flight, and no queued request can be admitted";
}

}  // namespace spillway

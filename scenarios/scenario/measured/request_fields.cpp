#include "scenarios/scenario/measured/request_fields.hpp"

#include <algorithm>

namespace spillway {

namespace {

struct Name {
  std::string_view name;
  RequestField field;
};

using F = RequestField;

// Names that are written whole: counts, ids, and vLLM's times, which are seconds.
constexpr Name kWhole[] = {
    {"input_toks", F::kInput},
    {"input_tokens", F::kInput},
    {"input_length", F::kInput},
    {"input_len", F::kInput},
    {"prompt_tokens", F::kInput},
    {"prompt_length", F::kInput},
    {"prompt_len", F::kInput},
    {"num_prompt_tokens", F::kInput},
    {"server_input_tokens", F::kServerInput},
    {"output_toks", F::kOutput},
    {"output_tokens", F::kOutput},
    {"output_length", F::kOutput},
    {"output_len", F::kOutput},
    {"completion_tokens", F::kOutput},
    {"generation_tokens", F::kOutput},
    {"num_generation_tokens", F::kOutput},
    {"arrival_time", F::kArrival},
    {"queued_ts", F::kQueued},
    {"scheduled_ts", F::kScheduled},
    {"first_scheduled_time", F::kScheduled},
    {"first_token_ts", F::kFirstToken},
    {"first_token_time", F::kFirstToken},
    {"last_token_ts", F::kLastToken},
    {"last_token_time", F::kLastToken},
    {"request_id", F::kId},
    {"id", F::kId},
    {"status", F::kStatus},
};

// Names in front of a unit.
constexpr Name kTimed[] = {
    {"arrival", F::kArrival},
    {"arrival_time", F::kArrival},
    {"send_time", F::kSent},
    {"first_chunk_time", F::kFirstToken},
    {"last_chunk_time", F::kLastToken},
    {"queued", F::kQueued},
    {"scheduled", F::kScheduled},
    {"first_token", F::kFirstToken},
    {"last_token", F::kLastToken},
    {"finish", F::kLastToken},
    {"finished", F::kLastToken},
    {"ttft", F::kTtft},
    {"e2el", F::kE2el},
};

struct Unit {
  std::string_view suffix;
  double seconds;
};
constexpr Unit kUnits[] = {{"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}};

}  // namespace

std::optional<RequestColumn> request_column(std::string_view name) {
  for (const Name& known : kWhole) {
    if (known.name == name) return RequestColumn{known.field, 1};
  }
  for (const Unit& unit : kUnits) {
    if (!name.ends_with(unit.suffix)) continue;
    const std::string_view base = name.substr(0, name.size() - unit.suffix.size());
    for (const Name& known : kTimed) {
      if (known.name == base) return RequestColumn{known.field, unit.seconds};
    }
  }
  return std::nullopt;
}

std::string_view name_of(RequestField field) {
  constexpr std::array<std::string_view, kRequestFields> kNames = {
      "input_tokens",       "output_tokens", "arrival_s",
      "queued_s",           "scheduled_s",   "first_token_s",
      "last_token_s",       "ttft_s",        "e2el_s",
      "request_id",         "status",        "send_time_s",
      "server_input_tokens"};
  return kNames[static_cast<std::size_t>(field)];
}

}  // namespace spillway

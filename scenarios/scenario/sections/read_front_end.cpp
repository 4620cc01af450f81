// The section `front_end`: what an API server takes, given or published.
#include <fmt/format.h>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/front_end.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/decimal.hpp"

namespace spillway {

namespace {

constexpr std::string_view kFrontEnds[] = {"none", "vllm"};
constexpr double kMostFrontEndMs = 1e6;
constexpr Key kFrontEndKeys[] = {
    choice_key("kind", kFrontEnds,
               "none: takes no time. vllm: vLLM's API server, by published times. The other keys "
               "replace these.",
               "vllm"),
    integer_key("processes", 1, FrontEndChoice::kMostProcesses,
                "API server processes of an instance (--api-server-count).", "data_parallel_size"),
    number_key("request_ms", 0, kMostFrontEndMs,
               "Time of the event loop for a request: HTTP, parsing, validation.", "6"),
    number_key("prompt_token_us", 0, kMostFrontEndMs, "Tokenising, for each prompt token.", "1.1"),
    number_key("delay_ms", 0, kMostFrontEndMs,
               "Further fixed time of a request, which keeps no process busy.", "9.5"),
    number_key("chunk_us", 0, kMostFrontEndMs,
               "Time of the event loop for a streamed chunk: detokenising, writing.", "35")};

/// A time in units of 10^-`digits` s, in whole ns.
Duration duration_of(double value, int digits) {
  return Duration(floor_scaled(decimal_of(value), 9 - digits));
}

}  // namespace

const KeyTable ScenarioKeys::kFrontEnd = kFrontEndKeys;

void read_front_end(const ObjectReader& top, Scenario& s) {
  const auto section = top.object("front_end", ScenarioKeys::kFrontEnd);
  FrontEndChoice& choice = *s.front_end;
  // Reference scenarios have made-up step times, which no API server's go with.
  const bool engine = s.engine.family != EngineFamily::kMooncake;
  if (!section && (s.compute->kind == ComputeChoice::Kind::kLinear || !engine)) return;
  if (section && section->text("kind") == "none") {
    section->refuse({"processes", "request_ms", "prompt_token_us", "delay_ms", "chunk_us"},
                    "expected only with kind vllm");
    return;
  }
  if (!engine) section->fail("kind", "expected none: a client of the store has no API server");
  FrontEndConfig& each = choice.each;
  const auto take = [&](std::string_view key, double published, int digits) {
    const auto given = section ? section->number(key) : std::nullopt;
    choice.published = choice.published || !given;
    return duration_of(given.value_or(published), digits);
  };
  each.request = take("request_ms", kFrontEndRequestMs, 3);
  each.prompt_token = take("prompt_token_us", kFrontEndPromptTokenUs, 6);
  each.delay = take("delay_ms", kFrontEndDelayMs, 3);
  each.chunk = take("chunk_us", kFrontEndChunkUs, 6);
  if (const auto processes = section ? section->integer("processes") : std::nullopt) {
    each.processes = static_cast<std::uint32_t>(*processes);
    choice.processes_given = true;
  }
  if (choice.published) s.notes.push_back(scenario_note("front-end-published"));
}

}  // namespace spillway

// Sessions through whole runs: no effect before its cause on generated sessions of any shape, what
// warm-up and horizon leave out, and queueing at clients apart from queueing at the server.
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/rng.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

/// Requests of 1 to 600 tokens that wait for up to three earlier ones, or for none; most repeat the
/// prompt of the first they wait for, and room for its answer.
Workload random_sessions(Stream& stream, bool floor_chains) {
  constexpr std::uint32_t kBlock = 64;
  std::vector<Turn> turns(5 + stream.below(50));
  std::uint64_t fresh = 1000;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Turn& turn = turns[i];
    at += stream.chance(0.3) ? 0 : static_cast<std::int64_t>(stream.below(40));
    turn.arrival_ms = at;
    turn.output_tokens = 1 + static_cast<std::uint32_t>(stream.below(60));
    turn.input_tokens = 1 + static_cast<std::uint32_t>(stream.below(300));
    if (i > 0 && stream.chance(0.7)) {
      const std::uint64_t links = 1 + stream.below(3);
      for (std::uint64_t k = 0; k < links; ++k) turn.after.push_back(stream.below(i));
      turn.think_ms = stream.chance(0.3) ? -1 : static_cast<std::int64_t>(stream.below(120));
    }
    const bool continues = !turn.after.empty() && stream.chance(0.8);
    if (continues) {
      const Turn& before = turns[turn.after[0]];
      turn.input_tokens += before.input_tokens + before.output_tokens;
      turn.blocks.assign(before.blocks.begin(),
                         before.blocks.begin() + before.input_tokens / kBlock);
    } else {
      const std::uint64_t root = stream.below(4);  // some share a prompt's beginning
      for (std::uint64_t k = 0; k < turn.input_tokens / kBlock; ++k) {
        turn.blocks.push_back(root * 100 + k);
      }
    }
    const std::uint32_t whole = turn.input_tokens / kBlock;
    const std::uint32_t all = (turn.input_tokens + kBlock - 1) / kBlock;
    while (turn.blocks.size() < (floor_chains ? whole : all)) turn.blocks.push_back(++fresh);
  }
  return workload_of_turns(turns, kBlock);
}

/// The reference scenario, made small and drawn at random: requests that are too long, that exceed
/// the pool, and queues that deadlock all occur.
Scenario random_scenario(Stream& stream) {
  Scenario s = reference_with();
  s.engine.num_gpu_blocks = 12 + static_cast<std::uint32_t>(stream.below(60));
  s.engine.async_scheduling = stream.chance(0.5);
  s.engine.max_num_batched_tokens = stream.chance(0.5) ? 2048 : 64;
  s.engine.async_load_reservation = stream.chance(0.3);
  s.engine.reserve_full_isl = stream.chance(0.3);
  s.up->bytes_per_second = 1'000'000'000;
  s.engine.max_model_len = stream.chance(0.5) ? 700 : 0;
  s.tier->capacity = {Capacity::Kind::kBlocks, static_cast<std::int64_t>(stream.below(200))};
  ArrivalConfig& arrival = s.workload->arrival;
  arrival.wait = stream.chance(0.8);
  arrival.kind = static_cast<ArrivalConfig::Kind>(stream.below(3));
  arrival.rate_per_s = 30;
  arrival.speed = {arrival.kind == ArrivalConfig::Kind::kClosedLoop ? 1 : 3, 0};
  const bool capped = arrival.kind == ArrivalConfig::Kind::kClosedLoop || stream.chance(0.5);
  arrival.concurrency = capped ? 1 + static_cast<std::uint32_t>(stream.below(6)) : 0;
  if (stream.chance(0.2)) {
    arrival.horizon = time_at(1 + static_cast<std::int64_t>(stream.below(1'000'000'000)));
  }
  if (stream.chance(0.2))
    s.workload->warmup = time_at(static_cast<std::int64_t>(stream.below(1'000'000'000)));
  return s;
}

/// When a request's client had an answer or an error; nothing while it has none.
std::optional<Time> end_of(const RequestRecord& r) {
  switch (r.status) {
    case RequestStatus::kCompleted:
      return r.finish;
    case RequestStatus::kFailed:
    case RequestStatus::kRejected:
      return r.arrival;  // at once
    default:
      return std::nullopt;
  }
}

void check_causes(const Scenario& s, const Workload& workload, const Journal& journal) {
  const ArrivalConfig& arrival = s.workload->arrival;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestRecord& r = journal.requests[i];
    INFO("request " << i);
    if (r.arrival == kNever) {
      CHECK((r.status == RequestStatus::kStuck || r.status == RequestStatus::kNotSent));
      continue;
    }
    CHECK(r.due <= r.arrival);
    CHECK(r.due <= arrival.horizon);
    if (arrival.concurrency == 0) CHECK(r.due == r.arrival);
    const auto after = workload.after(RequestId{i});
    if (!arrival.wait || after.empty()) continue;
    Time last{};
    for (const RequestId before : after) {
      const auto end = end_of(journal.requests[raw(before)]);
      REQUIRE(end);  // who waits for a request without an end was never sent
      last = std::max(last, *end);
    }
    const std::int64_t think = workload.think_ns(RequestId{i});
    if (think >= 0) {
      CHECK(r.due == last + Duration(think));
    } else {
      CHECK(r.due >= last);
    }
  }
}

void check_cap(const ArrivalConfig& arrival, const Journal& journal) {
  if (arrival.concurrency == 0) return;
  std::vector<std::pair<Time, int>> changes;
  for (const RequestRecord& r : journal.requests) {
    const auto end = end_of(r);
    if (r.arrival == kNever || (end && *end == r.arrival)) continue;
    changes.emplace_back(r.arrival, 1);
    if (end) changes.emplace_back(*end, -1);
  }
  std::sort(changes.begin(), changes.end());  // at one instant, ends (-1) come first
  std::int64_t inside = 0;
  for (const auto& [at, change] : changes) CHECK((inside += change) <= arrival.concurrency);
}

TEST_CASE("no request comes before its cause, whatever the sessions", "[scenarios]") {
  std::uint64_t deadlocks = 0, cut = 0, refused = 0, held = 0, warm = 0, joined = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    Stream stream(seed, "sessions-test");
    const Workload workload = random_sessions(stream, stream.chance(0.5));
    const Scenario s = random_scenario(stream);
    Journal journal;
    SimulationOptions options;
    options.observers.push_back(&journal);
    SimulationOutcome outcome;
    try {
      outcome = simulate(s, workload, options);  // with its conservation observer
    } catch (const InputError&) {
      continue;  // a pool that fits no request at all
    }
    const RunResult& r = outcome.result;
    REQUIRE(journal.requests.size() == workload.size());
    check_causes(s, workload, journal);
    check_cap(s.workload->arrival, journal);
    CHECK(r.requests == r.completed + r.rejected + r.failed + r.stuck);
    CHECK(r.requests + r.warmup_requests + r.not_sent == workload.size());
    if (s.workload->arrival.horizon == Time::max()) CHECK(r.not_sent == 0);
    if (s.workload->warmup == Time{}) CHECK(r.warmup_requests == 0);
    CHECK(digest_of_run(s, workload) == digest_of(to_json(r)));
    deadlocks += r.stuck > 0 ? 1 : 0;
    cut += r.not_sent;
    refused += r.failed + r.rejected;
    held += r.client_queue_time.max_ms > 0 ? 1 : 0;
    warm += r.warmup_requests;
    joined += find_note(outcome.warnings, "answers-in-prompts") != nullptr ? 1 : 0;
  }
  // The draws do reach every case.
  CHECK(deadlocks > 3);
  CHECK(cut > 100);
  CHECK(refused > 100);
  CHECK(held > 50);
  CHECK(warm > 100);
  CHECK(joined > 100);
}

RunResult run_with(const std::vector<std::string>& assignments, const Workload& workload) {
  return simulate(reference_with(assignments), workload).result;
}

// Three requests of 512 tokens and 3 outputs at 0, 100 and 200 ms, with nothing in common. Each:
// prefill 2,000,000 + 20,000 x 512 + 5 x 512 = 12,242,560 ns, decodes 2,022,565 and 2,022,570 ns.
constexpr double kTtftMs = 12.24256;
constexpr double kE2elMs = 16.287695;

Workload three_apart() {
  return workload_of({{0, 512, 3, {1}}, {100, 512, 3, {2}}, {200, 512, 3, {3}}}, 512);
}

TEST_CASE("requests of the warm-up run but are not measured", "[scenarios]") {
  const RunResult all = run_with({}, three_apart());
  CHECK(all.requests == 3);
  CHECK(all.duration_s == Approx(0.2 + kE2elMs / 1e3));
  CHECK(all.itl.count == 6);
  // From 0.1 s on: the request that arrives at that instant counts.
  const RunResult part = run_with({"workload.warmup_s=0.1"}, three_apart());
  CHECK(part.warmup_requests == 1);
  CHECK(part.requests == 2);
  CHECK(part.completed == 2);
  CHECK(part.ttft.count == 2);
  CHECK(part.itl.count == 4);
  CHECK(part.queue_time.count == 2);
  CHECK(part.input_tokens == 1024);
  CHECK(part.prompt_tokens_by_source[0].second == 1024);
  CHECK(part.duration_s == Approx(0.1 + kE2elMs / 1e3));  // from the first that counts
  CHECK(part.request_throughput == Approx(2 / part.duration_s));
  // Steps, tiers and links are those of the whole run.
  CHECK(part.engine_steps == all.engine_steps);
  CHECK(part.tiers[0].queries == all.tiers[0].queries);
  CHECK(part.tiers[0].mean_bytes == all.tiers[0].mean_bytes);
  CHECK(part.links[0].bytes == all.links[0].bytes);
  CHECK(part.links[0].busy_fraction == all.links[0].busy_fraction);
}

TEST_CASE("token gaps of a warm-up request do not count, even beside measured ones",
          "[scenarios]") {
  // Request 1 arrives at 10 ms, during the prefill of request 0, and both decode side by side: 49
  // and 2 gaps in all, of which the warm-up's 49 are left out.
  const Workload workload = workload_of({{0, 512, 50, {1}}, {10, 16, 3, {2}}}, 512);
  CHECK(run_with({}, workload).itl.count == 51);
  CHECK(run_with({"workload.warmup_s=0.01"}, workload).itl.count == 2);
}

TEST_CASE("a warm-up that takes all requests leaves zeros and says so", "[scenarios]") {
  const SimulationOutcome outcome =
      simulate(reference_with({"workload.warmup_s=9"}), three_apart());
  CHECK(outcome.result.requests == 0);
  CHECK(outcome.result.warmup_requests == 3);
  CHECK(outcome.result.duration_s == 0);
  CHECK_FALSE(outcome.result.slo[0].passed);
  CHECK(find_note(outcome.warnings, "nothing-measured"));
}

TEST_CASE("requests due after the horizon are counted as not sent", "[scenarios]") {
  const RunResult run = run_with({"workload.horizon_s=0.1"}, three_apart());
  CHECK(run.requests == 2);  // the one due at that instant is sent, and runs to its end
  CHECK(run.completed == 2);
  CHECK(run.not_sent == 1);
  CHECK(run.duration_s == Approx(0.1 + kE2elMs / 1e3));
  CHECK(run.stuck == 0);
}

TEST_CASE("time at the client and time at the server are told apart", "[scenarios]") {
  // Three at once, one in flight: due at 0, they arrive at 0, 1 and 2 times 16.287695 ms. Latencies
  // count from arrival and are those of an idle server.
  const Workload workload =
      workload_of({{0, 512, 3, {1}}, {0, 512, 3, {2}}, {0, 512, 3, {3}}}, 512);
  const RunResult held = run_with({"workload.concurrency=1"}, workload);
  CHECK(held.client_queue_time.mean_ms == Approx(kE2elMs));
  CHECK(held.client_queue_time.median_ms == Approx(kE2elMs));
  CHECK(held.client_queue_time.max_ms == Approx(2 * kE2elMs));
  CHECK(held.queue_time.max_ms == 0);
  CHECK(held.ttft.max_ms == Approx(kTtftMs));
  CHECK(held.e2el.max_ms == Approx(kE2elMs));
  const RunResult free = run_with({}, workload);
  CHECK(free.client_queue_time.max_ms == 0);
  CHECK(free.ttft.max_ms > 2 * kTtftMs);  // one step computes all three prompts
}

TEST_CASE("a request that is too long fails, and its session goes on", "[scenarios]") {
  // Turn 1 exceeds max_model_len and fails when it comes, 5 ms after the answer at 16.287695 ms;
  // turn 2 follows 7 ms later.
  const Workload workload = workload_of_turns(
      {{0, 512, 3, {}, -1, {1}}, {20, 2000, 3, {0}, 5, {1, 2, 3, 4}}, {40, 512, 3, {1}, 7, {5}}},
      512);
  Journal journal;
  SimulationOptions options;
  options.observers.push_back(&journal);
  const RunResult run =
      simulate(reference_with({"workload.sessions=wait", "engine.max_model_len=1000"}), workload,
               options)
          .result;
  CHECK(run.failed == 1);
  CHECK(run.failed_reasons.at(0).reason == "too_long");
  CHECK(run.completed == 2);
  CHECK(nanoseconds_of(journal.requests[1].due) == 16'287'695 + 5'000'000);
  CHECK(nanoseconds_of(journal.requests[2].due) == 16'287'695 + 12'000'000);
}

TEST_CASE("waiting infers the sessions of a trace that names none", "[scenarios]") {
  // The third request repeats the second's full block after 5 s; the first shares nothing.
  const Scratch scratch;
  const auto row = [](int at, int input, const char* ids) {
    return fmt::format(
        "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 1, "
        "\"hash_ids\": [{}]}}\n",
        at, input, ids);
  };
  const std::string trace = scratch.file(
      "t.jsonl", row(0, 600, "1, 2") + row(1000, 600, "3, 4") + row(6000, 1100, "3, 5, 6"));
  const Workload w =
      open_workload(reference_with({"workload.trace=" + trace, "workload.sessions=wait"}), {});
  CHECK(w.after(RequestId{1}).empty());
  REQUIRE(w.after(RequestId{2}).size() == 1);
  CHECK(w.after(RequestId{2})[0] == RequestId{1});
  REQUIRE(w.source().inferred_sessions);
  CHECK(w.source().inferred_sessions->placed == 2);
}

TEST_CASE("think times that add up to centuries are refused before the run", "[scenarios]") {
  // Six pauses of 3 years each, one after another.
  std::vector<Turn> turns(7);
  for (std::uint64_t i = 1; i < turns.size(); ++i) {
    turns[i].arrival_ms = static_cast<std::int64_t>(i);
    turns[i].after = {i - 1};
    turns[i].think_ms = 94'608'000'000;
  }
  const Workload workload = workload_of_turns(turns, 64);
  CHECK(run_with({}, workload).completed == 7);
  const auto waits = [&] { run_with({"workload.sessions=wait"}, workload); };
  CHECK_THAT(error_of(waits).what(), ContainsSubstring("expected at most 10"));
}

TEST_CASE("the span over which requests fall due is that of those measured", "[scenarios]") {
  const auto span = [&](const std::vector<std::string>& assignments) {
    return offered_span_s(*reference_with(assignments).workload, three_apart());
  };
  CHECK(span({}) == Approx(0.2));
  CHECK(span({"workload.speed=0.5"}) == Approx(0.4));
  CHECK(span({"workload.warmup_s=0.05"}) == Approx(0.15));
  CHECK(span({"workload.horizon_s=0.12"}) == Approx(0.12));
  CHECK(span({"workload.warmup_s=0.3"}) == 0);
  CHECK(span({"workload.arrival=poisson", "workload.rate_per_s=4"}) == Approx(0.5));
  // Where clients wait for answers, the system decides.
  CHECK(span({"workload.sessions=wait"}) == 0);
  CHECK(span({"workload.arrival=closed-loop", "workload.concurrency=2"}) == 0);
}

}  // namespace
}  // namespace spillway::test

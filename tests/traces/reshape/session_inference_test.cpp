// Sessions from prefixes: the rule by hand, generated sessions as the truth, a real trace's share.
#include "traces/reshape/session_inference.hpp"

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using test::values;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Prompt {
  std::int64_t at_s;
  std::int64_t tokens;  ///< in blocks of 100
  std::vector<std::uint64_t> blocks;
};

Workload of(const std::vector<Prompt>& prompts) {
  WorkloadBuilder builder("t", 100);
  for (const Prompt& prompt : prompts) {
    TraceRow row;
    row.arrival_ns = prompt.at_s * kSecond;
    row.input_tokens = prompt.tokens;
    row.output_tokens = 10;
    row.blocks = prompt.blocks;
    builder.add(row);
  }
  return builder.build({"t", "test", {"a note"}});
}

/// For each request the one it continues, or -1.
std::vector<std::int64_t> before(const Workload& w) {
  std::vector<std::int64_t> out;
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    const auto after = w.after(RequestId{i});
    REQUIRE(after.size() <= 1);
    out.push_back(after.empty() ? -1 : std::int64_t{raw(after[0])});
  }
  return out;
}

std::vector<std::int64_t> inferred(const std::vector<Prompt>& prompts) {
  return before(infer_sessions(of(prompts), {}));
}

using Before = std::vector<std::int64_t>;

TEST_CASE("a prompt that begins with all full blocks of an earlier one continues it", "[traces]") {
  // The first turn ends in the partial block 3, which the second rewrites as 4.
  const Workload w =
      infer_sessions(of({{0, 250, {1, 2, 3}}, {5, 350, {1, 2, 4, 5}}, {9, 300, {6, 7, 8}}}), {});
  CHECK(before(w) == Before{-1, 0, -1});
  CHECK(values(w.columns().session) == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(w.columns().think_ns.empty());
  REQUIRE(w.source().inferred_sessions);
  CHECK(w.source().inferred_sessions->sessions == 2);
  CHECK(w.source().inferred_sessions->placed == 2);
  CHECK(w.source().inferred_sessions->share == Approx(2.0 / 3));
  CHECK(w.source().notes ==
        std::vector<std::string>{
            "a note",
            "sessions inferred from prefixes: 2 sessions, 66.7% of requests in a session of two or "
            "more turns (window 1800 s, blocks that more than 1% of conversations share ignored)"});
}

TEST_CASE("every other column stays as it was", "[traces]") {
  const std::vector<Prompt> prompts = {{0, 250, {1, 2, 3}}, {5, 350, {1, 2, 4, 5}}};
  const Workload plain = of(prompts);
  const Workload w = infer_sessions(of(prompts), {});
  CHECK(values(w.columns().arrival_ns) == values(plain.columns().arrival_ns));
  CHECK(values(w.columns().input_tokens) == values(plain.columns().input_tokens));
  CHECK(values(w.columns().output_tokens) == values(plain.columns().output_tokens));
  CHECK(values(w.columns().chain_begin) == values(plain.columns().chain_begin));
  CHECK(values(w.columns().chain) == values(plain.columns().chain));
  CHECK(w.unique_blocks() == plain.unique_blocks());
  CHECK(w.content_hash() != plain.content_hash());
}

TEST_CASE("a shared prefix that no prompt ends with is no continuation", "[traces]") {
  CHECK(inferred({{0, 300, {1, 2, 3}}, {5, 300, {1, 2, 4}}}) == Before{-1, -1});
}

TEST_CASE("turns lie apart in time, and within the window", "[traces]") {
  const auto pair = [](std::int64_t gap) {
    return inferred({{0, 100, {1}}, {gap, 200, {1, 2}}})[1];
  };
  CHECK(pair(0) == -1);  // at one instant there was no answer yet
  CHECK(pair(1) == 0);
  CHECK(pair(1800) == 0);
  CHECK(pair(1801) == -1);
  const Workload w = infer_sessions(of({{0, 100, {1}}, {11, 200, {1, 2}}}), {10 * kSecond, 0.01});
  CHECK(before(w)[1] == -1);
}

TEST_CASE("the same prompt again is no next turn", "[traces]") {
  CHECK(inferred({{0, 200, {1, 2}}, {5, 200, {1, 2}}}) == Before{-1, -1});
  CHECK(inferred({{0, 250, {1, 2}}, {5, 249, {1, 2}}}) == Before{-1, -1});
  CHECK(inferred({{0, 249, {1, 2}}, {5, 250, {1, 2}}}) == Before{-1, 0});  // within one block
}

TEST_CASE("the longest prefix counts, then the most recent request", "[traces]") {
  CHECK(inferred({{0, 200, {1, 2}}, {1, 300, {1, 2, 3}}, {2, 400, {1, 2, 3, 4}}}) ==
        Before{-1, 0, 1});
  // Two equal openings; each continuation takes the latest that is free.
  CHECK(inferred({{0, 200, {1, 2}}, {1, 200, {1, 2}}, {2, 300, {1, 2, 3}}, {3, 300, {1, 2, 4}}}) ==
        Before{-1, -1, 1, 0});
}

TEST_CASE("a branch starts a session of its own, which goes on", "[traces]") {
  // 2 asks for the answer to 0 again after 1 did, 3 continues 2.
  const Workload w = infer_sessions(
      of({{0, 200, {1, 2}}, {1, 300, {1, 2, 3}}, {2, 300, {1, 2, 4}}, {3, 400, {1, 2, 4, 5}}}), {});
  CHECK(before(w) == Before{-1, 0, -1, 2});
  CHECK(values(w.columns().session) == std::vector<std::uint32_t>{0, 0, 1, 1});
}

TEST_CASE("a prompt without a full block is nobody's turn", "[traces]") {
  CHECK(inferred({{0, 50, {1}}, {1, 80, {1}}, {2, 90, {}}, {3, 200, {1, 2}}}) ==
        Before{-1, -1, -1, -1});
}

TEST_CASE("what many conversations share tells nothing", "[traces]") {
  // Block 1 heads every prompt; request 0 is nothing but it. Three conversations are many here:
  // more than two, and more than 1%.
  const auto with = [](std::uint64_t conversations) {
    std::vector<Prompt> prompts = {{0, 100, {1}}};
    for (std::uint64_t i = 0; i < conversations; ++i) {
      prompts.push_back({static_cast<std::int64_t>(i) + 1, 200, {1, 10 + i}});
    }
    return inferred(prompts)[1];
  };
  CHECK(with(2) == 0);
  CHECK(with(3) == -1);
}

TEST_CASE("a long session in a short trace is no system prompt", "[traces]") {
  // Thirty turns of one session: its first block is in every request, in one conversation.
  std::vector<Prompt> prompts;
  Before expected;
  std::vector<std::uint64_t> blocks;
  for (std::int64_t i = 0; i < 30; ++i) {
    blocks.push_back(static_cast<std::uint64_t>(i));
    prompts.push_back({i, 100 * (i + 1), blocks});
    expected.push_back(i - 1);
  }
  CHECK(inferred(prompts) == expected);
}

TEST_CASE("a trace that names sessions keeps them, and says so", "[traces]") {
  WorkloadBuilder builder("t", 100);
  TraceRow row;
  row.input_tokens = 100;
  row.session = 7;
  row.blocks = {1};
  builder.add(row);
  Workload named = builder.build({});
  const std::uint64_t hash = named.content_hash();
  const Workload w = infer_sessions(std::move(named), {});
  CHECK(w.content_hash() == hash);
  CHECK_FALSE(w.source().inferred_sessions);
  CHECK(w.source().notes ==
        std::vector<std::string>{"sessions are the trace's own; none are inferred"});
}

/// A workload that has forgotten its sessions.
Workload without_sessions(Workload workload) {
  struct Keep final : WorkloadStorage {
    explicit Keep(Workload w) : workload(std::move(w)) {}
    Workload workload;
  };
  WorkloadColumns columns = workload.columns();
  columns.session = {};
  columns.after_begin = {};
  columns.after = {};
  return Workload(std::make_unique<Keep>(std::move(workload)), columns, {});
}

TEST_CASE("generated sessions are found again", "[traces]") {
  // A turn whose last full block no other session has can only be continued by its own session's
  // next turn, which nothing longer precedes: each such link within the window must be found.
  SyntheticConfig config;
  config.requests = 4000;
  config.block_tokens = GENERATE(64u, 512u);
  const std::uint64_t seed = GENERATE(1u, 2u);
  const Workload truth = generate_workload(config, seed);
  const Workload found = infer_sessions(without_sessions(generate_workload(config, seed)), {});
  std::vector<std::uint32_t> owner(truth.unique_blocks(), ~0U);
  std::vector<bool> shared(truth.unique_blocks(), false);
  for (std::uint32_t i = 0; i < truth.size(); ++i) {
    const std::uint32_t session = truth.columns().session[i];
    for (const TraceBlockId id : truth.chain(RequestId{i})) {
      if (owner[raw(id)] == ~0U) owner[raw(id)] = session;
      if (owner[raw(id)] != session) shared[raw(id)] = true;
    }
  }
  int certain = 0, certain_found = 0, links = 0, guesses = 0, right = 0;
  const Before is = before(truth);
  const Before says = before(found);
  for (std::uint32_t i = 0; i < truth.size(); ++i) {
    links += is[i] >= 0;
    guesses += says[i] >= 0;
    right += says[i] >= 0 && says[i] == is[i];
    if (is[i] < 0) continue;
    const auto turn = static_cast<std::uint32_t>(is[i]);
    const std::uint32_t full = truth.input_tokens(RequestId{turn}) / config.block_tokens;
    const bool own = full > 0 && !shared[raw(truth.chain(RequestId{turn})[full - 1])];
    if (!own || truth.columns().arrival_ns[i] - truth.columns().arrival_ns[turn] > 1800 * kSecond) {
      continue;
    }
    ++certain;
    certain_found += says[i] == is[i];
  }
  CHECK(certain > 2000);
  CHECK(certain_found == certain);
  // Measured at blocks of 64 and 512 tokens: no guess wrong, 99.9% and 96% of the links found; the
  // others continue a prompt that ended within a shared system prompt.
  INFO(right << " of " << guesses << " guesses, " << links << " links");
  CHECK(right > 0.99 * guesses);
  CHECK(right > 0.95 * links);
}

TEST_CASE("about half of the conversation trace lies in sessions of several turns", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const test::Figures figure(trace, "conversation");
  const Workload w = infer_sessions(open_trace(trace.path, {}), {});
  REQUIRE(w.source().inferred_sessions);
  // Counted independently in Python by the rule of session_inference.hpp.
  const std::size_t sessions = figure(8'218u, "inferred_sessions");
  CHECK(w.source().inferred_sessions->sessions == sessions);
  CHECK(w.source().inferred_sessions->placed == figure(5'806u, "placed_in_sessions"));
  CHECK(w.columns().after.size() == figure(12'031u, "requests") - sessions);
}

}  // namespace
}  // namespace spillway

// Grown workloads: which sessions stay and join, what prompts share, and what factors come to.
#include "traces/reshape/workload_growth.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/reshape/workload_sessions.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

struct Prompt {
  std::int64_t arrival_s = 0;
  std::uint32_t tokens = 0;
  std::uint64_t session = 0;
  std::vector<std::uint64_t> blocks{};
  std::string tenant{};
};

/// Blocks of 100 tokens, answers of 10.
Workload of(const std::vector<Prompt>& prompts) {
  WorkloadBuilder builder("t", 100);
  TraceRow row;
  for (const Prompt& prompt : prompts) {
    row.clear();
    row.arrival_ns = prompt.arrival_s * 1'000'000'000;
    row.input_tokens = prompt.tokens;
    row.output_tokens = 10;
    row.session = prompt.session;
    row.blocks = prompt.blocks;
    row.tenant = prompt.tenant;
    builder.add(row);
  }
  return builder.build({"t", "test"});
}

Workload chat(std::uint32_t requests, std::uint32_t tenants = 1) {
  SyntheticConfig config;
  config.requests = requests;
  config.tenants = tenants;
  config.block_tokens = 64;
  return generate_workload(config, 1);
}

/// References to blocks seen before: what a cache without bound would hit.
double hits(const Workload& workload) {
  return static_cast<double>(workload.references() - workload.unique_blocks());
}

/// Whether every block always follows the same one: ids name prefixes.
bool names_prefixes(const Workload& workload) {
  std::vector<std::int64_t> before(workload.unique_blocks(), -2);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    std::int64_t previous = -1;
    for (const TraceBlockId id : workload.chain(RequestId{r})) {
      std::int64_t& parent = before[raw(id)];
      if (parent == -2) parent = previous;
      if (parent != previous) return false;
      previous = raw(id);
    }
  }
  return true;
}

std::size_t common_blocks(const Workload& workload, std::uint32_t a, std::uint32_t b) {
  const auto one = workload.chain(RequestId{a});
  const auto other = workload.chain(RequestId{b});
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

/// (arrival, prompt tokens) of every request.
std::multiset<std::pair<std::int64_t, std::uint32_t>> rows_of(const Workload& workload) {
  std::multiset<std::pair<std::int64_t, std::uint32_t>> out;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    out.emplace(workload.columns().arrival_ns[r], workload.columns().input_tokens[r]);
  }
  return out;
}

bool contains(const Workload& larger, const Workload& smaller) {
  return std::ranges::includes(rows_of(larger), rows_of(smaller));
}

TEST_CASE("growth by one is no growth", "[traces]") {
  const Workload trace = chat(300);
  CHECK(grow_workload(trace, {}, 1).content_hash() == trace.content_hash());
  CHECK_FALSE(WorkloadGrowth{}.any());
}

TEST_CASE("a higher rate keeps all sessions and adds others, a lower one nests", "[traces]") {
  // 1,000 sessions of two turns 5 s apart, one start every 10 s.
  std::vector<Prompt> prompts;
  for (std::uint32_t s = 0; s < 1000; ++s) {
    prompts.push_back({10 * s, 100 + s, s, {0, 10 * s + 1}});
    prompts.push_back({10 * s + 5, 300 + s, s, {0, 10 * s + 1, 10 * s + 2}});
  }
  const Workload trace = of(prompts);
  const auto grown = [&](double rate) { return grow_workload(trace, {rate, 1, 1, 1}, 7); };
  const Workload more = grown(1.2);
  // 200 +- 3 * sqrt(1000 * 0.2 * 0.8) = 38 sessions join, of two turns each.
  CHECK(std::fabs(more.size() / 2.0 - 1200) < 38);
  CHECK(contains(more, trace));
  CHECK(contains(grown(1.7), more));
  CHECK(contains(trace, grown(0.6)));
  CHECK(contains(grown(0.6), grown(0.5)));
  CHECK(std::fabs(grown(0.5).size() / 2.0 - 500) < 48);
  CHECK(grown(3).size() == 3 * trace.size());  // two join at every start
  CHECK(grown(1.2).content_hash() == more.content_hash());
  CHECK(grow_workload(trace, {1.2, 1, 1, 1}, 8).content_hash() != more.content_hash());
  // Whoever joins has turns 5 s apart, shares block 0 alone, and no copy shares its own blocks.
  std::map<std::uint32_t, std::vector<std::uint32_t>> sessions;
  for (std::uint32_t r = 0; r < more.size(); ++r) sessions[more.columns().session[r]].push_back(r);
  for (const auto& [session, turns] : sessions) {
    REQUIRE(turns.size() == 2);
    CHECK(more.arrival(RequestId{turns[1]}) - more.arrival(RequestId{turns[0]}) ==
          std::chrono::seconds(5));
    CHECK(common_blocks(more, turns[0], turns[1]) == 2);
    REQUIRE(more.after(RequestId{turns[1]}).size() == 1);
    CHECK(more.after(RequestId{turns[1]})[0] == RequestId{turns[0]});
  }
  CHECK(more.unique_blocks() == 1 + 2 * sessions.size());
  CHECK_THAT(more.source().notes.back(), ContainsSubstring("growth.rate 1.2"));
}

TEST_CASE("a rate that leaves no session is refused", "[traces]") {
  const Workload trace = of({{0, 100, 0, {1}}});
  std::uint64_t seed = 0;  // the session stays with one seed in a hundred
  CHECK(test::error_of([&] {
          for (;; ++seed) grow_workload(trace, {0.01, 1, 1, 1}, seed);
        }).fault() == Fault::kUsage);
}

TEST_CASE("longer contexts share as much more", "[traces]") {
  // The first two blocks of both prompts are alike: 200 of 300 tokens.
  const Workload trace = of({{0, 300, 0, {1, 2, 3}}, {1, 350, 1, {1, 2, 4, 5}}});
  const Workload longer = grow_workload(trace, {1, 1.5, 1, 1}, 1);
  // 450 tokens and 525: 300 are shared, three blocks. The partial block that the second prompt
  // names stays named: 4 of 450 tokens (its fifth is not named), 6 of 525.
  CHECK(test::values(longer.columns().input_tokens) == std::vector<std::uint32_t>{450, 525});
  CHECK(test::values(longer.columns().output_tokens) == std::vector<std::uint32_t>{15, 15});
  CHECK(longer.chain(RequestId{0}).size() == 4);
  CHECK(longer.chain(RequestId{1}).size() == 6);
  CHECK(common_blocks(longer, 0, 1) == 3);
  const Workload half = grow_workload(trace, {1, 0.5, 1, 1}, 1);
  // 150 and 175 tokens: 100 are shared, one block.
  CHECK(test::values(half.columns().input_tokens) == std::vector<std::uint32_t>{150, 175});
  CHECK(half.chain(RequestId{0}).size() == 1);
  CHECK(half.chain(RequestId{1}).size() == 2);
  CHECK(common_blocks(half, 0, 1) == 1);
  CHECK(test::error_of([&] { grow_workload(trace, {1, 1e5, 1, 1}, 1); }).fault() == Fault::kUsage);
}

TEST_CASE("prefixes stay prefixes at any length", "[traces]") {
  const Workload trace = chat(600);
  REQUIRE(names_prefixes(trace));
  for (const double factor : {0.3, 0.5, 0.9, 1.1, 1.5, 2.0, 3.7}) {
    INFO("context " << factor);
    const Workload grown = grow_workload(trace, {1, factor, 1, 1}, 1);
    REQUIRE(grown.size() == trace.size());
    CHECK(names_prefixes(grown));
    std::size_t checked = 0;
    for (std::uint32_t a = 0; a < 200; ++a) {
      for (std::uint32_t b = a + 1; b < 200; ++b) {
        const std::size_t shared = common_blocks(trace, a, b);
        if (shared == 0) continue;
        ++checked;
        if (trace.chain(RequestId{a}).size() == shared) continue;  // a whole prompt, as it ends
        // Whole blocks of the tokens that two prompts share, give or take the rounding of 1/factor.
        const auto before = static_cast<double>(shared);
        const auto after = static_cast<double>(common_blocks(grown, a, b));
        CHECK(after >= std::floor(before * factor) - 1);
        CHECK(after <= std::floor(before * factor) + 1);
      }
    }
    CHECK(checked > 100);
    // References and hits grow with the lengths; whole blocks alone are shared.
    CHECK(static_cast<double>(grown.references()) ==
          Approx(factor * static_cast<double>(trace.references())).epsilon(0.05));
    CHECK(hits(grown) == Approx(factor * hits(trace)).epsilon(0.05));
  }
}

TEST_CASE("less reuse is that share of what a cache without bound hits", "[traces]") {
  const Workload trace = chat(1500);
  double last = hits(trace);
  for (const double factor : {0.8, 0.5, 0.2, 0.0}) {
    const Workload grown = grow_workload(trace, {1, 1, factor, 1}, 1);
    INFO("reuse " << factor << ": " << hits(grown) / hits(trace));
    CHECK(grown.size() == trace.size());
    CHECK(grown.references() == trace.references());
    CHECK(names_prefixes(grown));
    CHECK(hits(grown) == Approx(factor * hits(trace)).epsilon(0.006).margin(0.5));
    CHECK(hits(grown) < last);
    last = hits(grown);
  }
}

TEST_CASE("a session that loses its reuse goes on from there", "[traces]") {
  // Turn by turn the prompt grows by a block. With all reuse lost every turn begins anew; whatever
  // is lost, a turn shares all of the turn before it or nothing.
  std::vector<Prompt> prompts;
  for (std::uint32_t t = 1; t <= 40; ++t) {
    Prompt prompt{t, 100 * t, 0, {}};
    for (std::uint32_t i = 0; i < t; ++i) prompt.blocks.push_back(i);
    prompts.push_back(prompt);
  }
  const Workload grown = grow_workload(of(prompts), {1, 1, 0.5, 1}, 3);
  std::size_t anew = 0;
  for (std::uint32_t t = 1; t < 40; ++t) {
    const std::size_t common = common_blocks(grown, t - 1, t);
    CHECK((common == 0 || common == t));
    anew += common == 0 ? 1 : 0;
  }
  CHECK(anew > 5);
  CHECK(anew < 35);
}

TEST_CASE("new tenants bring traffic and prefixes of their own", "[traces]") {
  const Workload trace = chat(2000, 3);
  const Workload grown = grow_workload(trace, {1, 1, 1, 2.5}, 1);
  const std::uint32_t sessions = find_sessions(trace).count();
  std::set<std::string> tenants(grown.source().tenants.begin(), grown.source().tenants.end());
  CHECK(tenants.contains("tenant-0"));
  CHECK(tenants.contains("tenant-0+1"));
  CHECK(tenants.contains("tenant-0+2"));
  CHECK(tenants.size() == 9);
  // Populations share nothing, and the recorded one is there as it was.
  std::map<char, std::set<std::uint32_t>> blocks;
  std::map<char, std::set<std::uint32_t>> population;
  for (std::uint32_t r = 0; r < grown.size(); ++r) {
    const std::string& tenant = grown.source().tenants[grown.columns().tenant[r]];
    const char which = tenant[tenant.size() - 2] == '+' ? tenant.back() : '0';
    population[which].insert(grown.columns().session[r]);
    for (const TraceBlockId id : grown.chain(RequestId{r})) blocks[which].insert(raw(id));
  }
  CHECK(blocks['0'].size() + blocks['1'].size() + blocks['2'].size() == grown.unique_blocks());
  CHECK(blocks['0'].size() == trace.unique_blocks());
  CHECK(contains(grown, trace));
  CHECK(population['1'].size() == sessions);
  CHECK(std::fabs(static_cast<double>(population['2'].size()) - sessions / 2.0) <
        3 * std::sqrt(sessions / 4.0));
}

TEST_CASE("growth of a Poisson process is another one of that rate", "[traces]") {
  // Starts per span, variance of counts in windows over their mean (1 for a Poisson process), and
  // reuse per request, over ten draws of about 2,500 sessions.
  double starts = 0;
  double dispersion = 0;
  double reuse = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SyntheticConfig config;
    config.requests = 10'000;
    config.burst_factor = 1;
    const Workload trace = generate_workload(config, seed);
    const Workload grown = grow_workload(trace, {1.8, 1, 1, 1}, seed);
    const WorkloadSessions before = find_sessions(trace);
    const WorkloadSessions after = find_sessions(grown);
    starts += static_cast<double>(after.count()) / before.count() / 10;
    reuse += hits(grown) / static_cast<double>(grown.references()) /
             (hits(trace) / static_cast<double>(trace.references())) / 10;
    std::vector<double> windows(100, 0);
    for (const std::int64_t start : after.start_ns) {
      const double at = static_cast<double>(start) / static_cast<double>(before.span_ns() + 1);
      ++windows[std::min<std::size_t>(99, static_cast<std::size_t>(100 * at))];
    }
    double squares = 0;
    const double mean = after.count() / 100.0;
    for (const double n : windows) squares += (n - mean) * (n - mean);
    dispersion += squares / 99 / mean / 10;
  }
  INFO("starts " << starts << ", dispersion " << dispersion << ", reuse " << reuse);
  CHECK(starts == Approx(1.8).epsilon(0.02));
  // 1 +- 3 * sqrt(2 / 99 / 10): the copies come at their own times.
  CHECK(std::fabs(dispersion - 1) < 0.14);
  CHECK(reuse == Approx(1).epsilon(0.01));
}

}  // namespace
}  // namespace spillway

// The generator: equal for equal seeds, and a conversation in every property that caches see.
#include "traces/generate/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/digest.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::error_of;
using test::values;
using test::without_think;

SyntheticConfig with_requests(std::uint32_t requests) {
  SyntheticConfig config;
  config.requests = requests;
  return config;
}

/// The requests of every session, in order of arrival.
std::map<std::uint32_t, std::vector<std::uint32_t>> by_session(const Workload& w) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> out;
  for (std::uint32_t r = 0; r < w.size(); ++r) out[w.columns().session[r]].push_back(r);
  return out;
}

TEST_CASE("one seed is one workload, another seed another", "[traces]") {
  const SyntheticConfig config = with_requests(500);
  CHECK(generate_workload(config, 1).content_hash() == generate_workload(config, 1).content_hash());
  CHECK(generate_workload(config, 1).content_hash() != generate_workload(config, 2).content_hash());
  CHECK(generate_workload(config, 1).content_hash() !=
        generate_workload(config, ~std::uint64_t{0}).content_hash());
}

TEST_CASE("golden: the content of seed 42", "[traces]") {
  // Scenarios with synthetic workloads are cited by digest: this must never change.
  const Workload w = generate_workload(with_requests(500), 42);
  CHECK(w.size() == 500);
  CHECK(hex16(without_think(w).content_hash()) == "2a20b1f0b10fba2f");
  CHECK(hex16(w.content_hash()) == "734f41ed864a06a9");
}

TEST_CASE("the bundled sample is what its command says", "[traces]") {
  // spillway trace generate --requests 2000 --sessions-per-s 0.06 --turns 8 --think-s 60
  //   --system-tokens 2000 --user-tokens 500 --seed 1
  SyntheticConfig config;
  config.requests = 2000;
  config.sessions_per_s = 0.06;
  config.turns = 8;
  config.think_s = 60;
  config.system_tokens = 2000;
  config.user_tokens = 500;
  const Workload sample = open_trace(test::source_path("traces/samples/chat.jsonl.gz"), {});
  CHECK(sample.size() == 2000);
  const Workload made = generate_workload(config, 1);
  CHECK(hex16(without_think(sample).content_hash()) == hex16(without_think(made).content_hash()));
}

TEST_CASE("fewer requests are the head of more", "[traces]") {
  const Workload few = generate_workload(with_requests(300), 9);
  const Workload many = generate_workload(with_requests(3000), 9);
  const auto head = [](auto column) { return values(column.first(300)); };
  CHECK(values(few.columns().arrival_ns) == head(many.columns().arrival_ns));
  CHECK(values(few.columns().input_tokens) == head(many.columns().input_tokens));
  CHECK(values(few.columns().output_tokens) == head(many.columns().output_tokens));
  CHECK(values(few.columns().chain) ==
        values(many.columns().chain.first(static_cast<std::size_t>(few.references()))));
}

TEST_CASE("the reader streams exactly the generated rows", "[traces]") {
  const SyntheticConfig config = with_requests(400);
  const Workload w = generate_workload(config, 2);
  const auto reader = make_synthetic_reader(config, 2);
  TraceRow row;
  std::uint32_t r = 0;
  bool same = true;
  while (reader->next(row)) {
    same = same && row.line == r + 1 && row.arrival_ns == nanoseconds_of(w.arrival(RequestId{r})) &&
           row.input_tokens == w.input_tokens(RequestId{r}) &&
           row.blocks.size() == w.chain(RequestId{r}).size() && row.session.has_value();
    ++r;
  }
  CHECK(same);
  CHECK(r == 400);
  CHECK_FALSE(reader->next(row));
}

TEST_CASE("rows obey every rule of a trace file", "[traces]") {
  const std::uint32_t block = GENERATE(16u, 100u, 512u);
  SyntheticConfig config = with_requests(2000);
  config.block_tokens = block;
  config.max_context = 8192;
  const Workload w = generate_workload(config, 4);
  bool valid = true;
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    const RequestId r{i};
    valid = valid && w.input_tokens(r) >= 1 && w.output_tokens(r) >= 1;
    valid = valid && w.input_tokens(r) + w.output_tokens(r) <= config.max_context;
    valid =
        valid && static_cast<std::int64_t>(w.chain(r).size()) == ceil_div(w.input_tokens(r), block);
    valid = valid && nanoseconds_of(w.arrival(r)) % 1'000'000 == 0;  // whole milliseconds
  }
  CHECK(valid);
  CHECK(std::is_sorted(w.columns().arrival_ns.begin(), w.columns().arrival_ns.end()));
}

TEST_CASE("an id names one prefix: the same parent at the same position, always", "[traces]") {
  SyntheticConfig config = with_requests(3000);
  config.system_prompts = 3;
  const Workload w = generate_workload(config, 7);
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Known {
    std::uint32_t parent;
    std::size_t position;
  };
  std::map<std::uint32_t, Known> known;
  std::uint32_t violations = 0;
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    std::uint32_t parent = kNone;
    const std::vector<std::uint32_t> chain = chain_of(w, r);
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const Known& first = known.try_emplace(chain[k], Known{parent, k}).first->second;
      violations += first.parent == parent && first.position == k ? 0 : 1;
      parent = chain[k];
    }
  }
  CHECK(violations == 0);
}

TEST_CASE("every turn sends the whole conversation so far", "[traces]") {
  const Workload w = generate_workload(with_requests(3000), 11);
  std::uint32_t later_turns = 0;
  std::uint32_t violations = 0;
  for (const auto& [session, requests] : by_session(w)) {
    for (std::size_t t = 1; t < requests.size(); ++t) {
      ++later_turns;
      const RequestId before{requests[t - 1]};
      const RequestId now{requests[t]};
      // At least the former prompt, its answer and one token of new text.
      violations +=
          w.input_tokens(now) >= w.input_tokens(before) + w.output_tokens(before) + 1 ? 0 : 1;
      // The former prompt's full blocks head the new one's; its partial block is nobody's.
      const std::size_t full = w.input_tokens(before) / w.block_tokens();
      const auto old_chain = w.chain(before);
      const auto new_chain = w.chain(now);
      violations +=
          std::equal(old_chain.begin(), old_chain.begin() + static_cast<std::ptrdiff_t>(full),
                     new_chain.begin())
              ? 0
              : 1;
      if (full < old_chain.size()) violations += old_chain[full] != new_chain[full] ? 0 : 1;
    }
  }
  CHECK(later_turns > 1500);  // a mean of four turns: three quarters are not the first
  CHECK(violations == 0);
}

TEST_CASE("system prompts are shared between sessions, as often as Zipf says", "[traces]") {
  SyntheticConfig config = with_requests(4000);
  config.turns = 1;
  config.system_prompts = 3;
  config.system_tokens = 4096;  // far above one block, so the first block is the prompt's
  const Workload w = generate_workload(config, 1);
  std::map<std::uint32_t, double> share;
  for (std::uint32_t r = 0; r < w.size(); ++r) share[chain_of(w, r).front()] += 1.0 / w.size();
  REQUIRE(share.size() == 3);
  std::vector<double> sorted;
  for (const auto& [id, part] : share) sorted.push_back(part);
  std::sort(sorted.rbegin(), sorted.rend());
  // 1 : 1/2 : 1/3 is 6/11, 3/11, 2/11; five standard errors are 0.04.
  CHECK(sorted[0] == Approx(6.0 / 11).margin(0.04));
  CHECK(sorted[1] == Approx(3.0 / 11).margin(0.04));
  CHECK(sorted[2] == Approx(2.0 / 11).margin(0.04));
}

TEST_CASE("beyond the system prompt sessions share nothing", "[traces]") {
  SyntheticConfig config = with_requests(500);
  config.turns = 1;
  config.system_prompts = 1;
  config.system_tokens = 1024;
  const Workload w = generate_workload(config, 3);
  std::map<std::uint32_t, std::set<std::uint32_t>> users;  // sessions by block
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    for (const std::uint32_t id : chain_of(w, r)) users[id].insert(w.columns().session[r]);
  }
  const auto shared = std::count_if(users.begin(), users.end(),
                                    [](const auto& entry) { return entry.second.size() > 1; });
  const auto everywhere = std::count_if(
      users.begin(), users.end(), [](const auto& entry) { return entry.second.size() == 500; });
  CHECK(shared > 0);
  CHECK(shared == everywhere);  // a block is everybody's or one session's
}

TEST_CASE("reuse comes from turns: without them only system prompts hit", "[traces]") {
  SyntheticConfig config = with_requests(2000);
  config.system_tokens = 64;  // below one block: nothing to share
  config.turns = 1;
  CHECK(trace_stats(generate_workload(config, 1)).infinite_hits < 200);
  config.turns = 8;
  CHECK(trace_stats(generate_workload(config, 1)).infinite_hit_ratio > 0.5);
}

TEST_CASE("sessions start at the rate asked for", "[traces]") {
  SyntheticConfig config = with_requests(20'000);
  config.turns = 1;
  config.sessions_per_s = 2;
  config.burst_factor = 1;
  const TraceStats s = trace_stats(generate_workload(config, 1));
  CHECK(s.requests_per_s == Approx(2).epsilon(0.035));  // 5 / sqrt(20,000)
}

TEST_CASE("bursts multiply the rate while they last", "[traces]") {
  SyntheticConfig config = with_requests(20'000);
  config.turns = 1;
  config.sessions_per_s = 10;
  config.burst_factor = 5;
  config.burst_every_s = 100;
  config.burst_length_s = 20;
  const Workload w = generate_workload(config, 1);
  double inside = 0;
  for (const std::int64_t ns : w.columns().arrival_ns) {
    inside += ns % 100'000'000'000 < 20'000'000'000 ? 1 : 0;
  }
  // 50/s for 20 s and 10/s for 80 s: 1,000 of 1,800 arrivals, at a mean of 18/s.
  CHECK(inside / w.size() == Approx(1000.0 / 1800).margin(0.02));
  CHECK(trace_stats(w).requests_per_s == Approx(18).epsilon(0.06));  // the span is no whole period
}

TEST_CASE("lengths have the medians asked for", "[traces]") {
  SyntheticConfig config = with_requests(10'000);
  config.turns = 1;
  config.system_prompts = 1;
  config.system_tokens = 1;  // almost nothing: input is the user's text
  config.user_tokens = 600;
  config.answer_tokens = 250;
  config.max_context = 1 << 20;
  const TraceStats s = trace_stats(generate_workload(config, 1));
  // A median's standard error is 1.25 sigma / sqrt(n): 1.3 % for sigma 1, 0.9 % for 0.7.
  CHECK(s.input_tokens.p50 == Approx(600).epsilon(0.06));
  CHECK(s.output_tokens.p50 == Approx(250).epsilon(0.045));
  // The 90th percentile is 1.2816 sigma above, in the logarithm.
  CHECK(s.input_tokens.p90 == Approx(600 * std::exp(1.2816)).epsilon(0.08));
  CHECK(s.output_tokens.p90 == Approx(250 * std::exp(1.2816 * 0.7)).epsilon(0.06));
}

TEST_CASE("sessions have the mean number of turns asked for", "[traces]") {
  SyntheticConfig config = with_requests(20'000);
  config.turns = 4;
  config.think_s = 0.1;  // short sessions, so that few are cut off at the end
  config.answer_tokens = 1;
  config.max_context = 1 << 22;
  const auto sessions = by_session(generate_workload(config, 1));
  CHECK(20'000.0 / static_cast<double>(sessions.size()) == Approx(4).epsilon(0.06));
}

TEST_CASE("turns follow each other by think time plus the answer's pace", "[traces]") {
  SyntheticConfig config = with_requests(5'000);
  config.think_s = 0;
  config.answer_tokens_per_s = 40;
  const Workload w = generate_workload(config, 1);
  std::uint32_t violations = 0;
  for (const auto& [session, requests] : by_session(w)) {
    for (std::size_t t = 1; t < requests.size(); ++t) {
      const RequestId before{requests[t - 1]};
      const Duration gap = w.arrival(RequestId{requests[t]}) - w.arrival(before);
      // Without thinking exactly the answer at 40 tokens/s; both ends are cut to milliseconds.
      const double expected_s = w.output_tokens(before) / 40.0;
      violations += std::abs(seconds_of(gap) - expected_s) <= 0.0021 ? 0 : 1;
    }
  }
  CHECK(violations == 0);
}

TEST_CASE("rows record the think time alone, without the answer's duration", "[traces]") {
  SyntheticConfig config = with_requests(5'000);
  config.think_times = "fixed";
  config.think_s = 7.5;
  const Workload w = generate_workload(config, 1);
  std::uint32_t violations = 0;
  for (const auto& [session, requests] : by_session(w)) {
    violations += w.think_ns(RequestId{requests[0]}) == kThinkUnknown ? 0 : 1;
    for (std::size_t t = 1; t < requests.size(); ++t) {
      const RequestId before{requests[t - 1]};
      const RequestId here{requests[t]};
      const double gap_s = seconds_of(w.arrival(here) - w.arrival(before));
      const double expected_s = 7.5 + w.output_tokens(before) / 40.0;
      violations += w.think_ns(here) == 7'500'000'000 ? 0 : 1;
      violations += std::abs(gap_s - expected_s) <= 0.0021 ? 0 : 1;
    }
  }
  CHECK(violations == 0);
}

TEST_CASE("think times have their mean, whatever their distribution", "[traces]") {
  SyntheticConfig config = with_requests(40'000);
  config.think_times = GENERATE(as<std::string>{}, "exponential", "lognormal", "fixed");
  config.think_s = 30;
  config.think_sigma = 0.8;
  const Workload w = generate_workload(config, 3);
  double sum = 0;
  double count = 0;
  for (const std::int64_t think : w.columns().think_ns) {
    if (think < 0) continue;
    sum += static_cast<double>(think) / 1e9;
    ++count;
  }
  CHECK(sum / count == Approx(30).epsilon(0.03));
}

TEST_CASE("turn counts have their mean and their kind of tail", "[traces]") {
  SyntheticConfig config = with_requests(60'000);
  config.turn_counts = GENERATE(as<std::string>{}, "geometric", "fixed", "heavy-tail");
  config.turns = 5;
  config.turn_tail = 2.5;
  config.user_tokens = 10;
  config.answer_tokens = 10;
  config.think_s = 1;
  config.max_context = 1 << 24;
  const auto sessions = by_session(generate_workload(config, 3));
  std::size_t longest = 0;
  for (const auto& [session, requests] : sessions) longest = std::max(longest, requests.size());
  CHECK(60'000.0 / static_cast<double>(sessions.size()) == Approx(5).epsilon(0.04));
  if (config.turn_counts == "fixed") CHECK(longest == 5);
  if (config.turn_counts == "geometric") CHECK((longest > 25 && longest < 80));
  if (config.turn_counts == "heavy-tail") CHECK(longest > 100);
}

TEST_CASE("lengths follow a table of quantiles", "[traces]") {
  SyntheticConfig config = with_requests(20'000);
  config.turns = 1;
  config.answer_quantiles = {10, 20, 100, 1000};
  const Workload w = generate_workload(config, 3);
  const LengthStats s = trace_stats(w).output_tokens;
  CHECK(s.min >= 10);
  CHECK(s.max < 1000);
  CHECK(s.p50 == Approx(60).epsilon(0.05));  // halfway between the quantiles at 1/3 and 2/3
  CHECK(s.p90 == Approx(730).epsilon(0.05));
}

TEST_CASE("a sigma of 0 fixes a length", "[traces]") {
  SyntheticConfig config = with_requests(1'000);
  config.turns = 1;
  config.system_sigma = config.user_sigma = config.answer_sigma = 0;
  const TraceStats s = trace_stats(generate_workload(config, 3));
  CHECK((s.input_tokens.min == 2100 && s.input_tokens.max == 2100));
  CHECK((s.output_tokens.min == 250 && s.output_tokens.max == 250));
}

// ---- contexts and tenants

SyntheticConfig long_sessions(const char* context) {
  SyntheticConfig config = with_requests(4'000);
  config.context = context;
  config.sessions_per_s = 0.05;
  config.turns = 40;
  config.max_context = 8192;
  config.block_tokens = 64;
  config.think_s = 1;
  return config;
}

TEST_CASE("at its limit a context ends, slides or is compacted", "[traces]") {
  const auto longest = [](const Workload& w) {
    std::size_t most = 0;
    for (const auto& [session, requests] : by_session(w)) most = std::max(most, requests.size());
    return most;
  };
  const Workload ends = generate_workload(long_sessions("accumulate"), 1);
  const Workload slides = generate_workload(long_sessions("window"), 1);
  const Workload compacts = generate_workload(long_sessions("compact"), 1);
  CHECK(longest(ends) < 60);
  CHECK(longest(slides) > 100);
  CHECK(longest(compacts) > 100);
  for (const Workload* w : {&ends, &slides, &compacts}) {
    std::uint32_t violations = 0;
    for (std::uint32_t r = 0; r < w->size(); ++r) {
      const RequestId id{r};
      violations += w->input_tokens(id) + w->output_tokens(id) <= 8192 ? 0 : 1;
    }
    CHECK(violations == 0);
  }
  // A window that slides at every turn shares the system prompt only; a summary is sent on.
  const double sliding = trace_stats(slides).infinite_hit_ratio;
  const double compacting = trace_stats(compacts).infinite_hit_ratio;
  CHECK(trace_stats(ends).infinite_hit_ratio > 0.7);
  CHECK(compacting > sliding + 0.2);
  CHECK(sliding < 0.5);
}

TEST_CASE("a compacted context keeps the system prompt and drops to the summary", "[traces]") {
  SyntheticConfig config = long_sessions("compact");
  config.system_sigma = config.user_sigma = config.answer_sigma = 0;
  config.system_tokens = 1024;
  config.summary_tokens = 300;
  const Workload w = generate_workload(config, 1);
  std::uint32_t drops = 0;
  std::uint32_t violations = 0;
  for (const auto& [session, requests] : by_session(w)) {
    for (std::size_t t = 1; t < requests.size(); ++t) {
      const RequestId before{requests[t - 1]};
      const RequestId here{requests[t]};
      if (w.input_tokens(here) > w.input_tokens(before)) continue;
      ++drops;
      violations += w.input_tokens(here) == 1024 + 300 + 600 ? 0 : 1;
      const auto a = w.chain(before);
      const auto b = w.chain(here);
      violations += std::equal(a.begin(), a.begin() + 16, b.begin()) && a[16] != b[16] ? 0 : 1;
    }
  }
  CHECK(drops > 50);
  CHECK(violations == 0);
}

TEST_CASE("tenants have shares, names and system prompts of their own", "[traces]") {
  SyntheticConfig config = with_requests(20'000);
  config.tenants = 3;
  config.tenant_zipf = 1;
  config.system_prompts = 2;
  config.turns = 1;
  config.system_tokens = 2048;
  config.system_sigma = 0;
  const Workload w = generate_workload(config, 1);
  REQUIRE(w.source().tenants.size() == 3);
  std::map<std::string, double> requests;
  std::map<std::uint32_t, std::set<std::uint32_t>> prompts;  // first block -> tenants
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    const std::uint32_t tenant = w.columns().tenant[r];
    ++requests[w.source().tenants[tenant]];
    prompts[raw(w.chain(RequestId{r})[0])].insert(tenant);
  }
  CHECK(requests.at("tenant-0") / 20'000 == Approx(6.0 / 11).epsilon(0.03));
  CHECK(requests.at("tenant-2") / 20'000 == Approx(2.0 / 11).epsilon(0.05));
  CHECK(prompts.size() == 6);
  for (const auto& [prompt, tenants] : prompts) CHECK(tenants.size() == 1);
}

TEST_CASE("more tenants leave the texts alone", "[traces]") {
  SyntheticConfig one = with_requests(200);
  one.system_sigma = 0;
  SyntheticConfig many = one;
  many.tenants = 50;
  CHECK(values(generate_workload(one, 1).columns().input_tokens) ==
        values(generate_workload(many, 1).columns().input_tokens));
}

TEST_CASE("changing think time leaves the texts alone", "[traces]") {
  // Draws are keyed by session: the k-th session's first turn says the same at any pace.
  SyntheticConfig slow = with_requests(2000);
  SyntheticConfig fast = slow;
  fast.think_s = 1;
  const auto first_turns = [](const Workload& w) {
    std::vector<std::uint32_t> out;
    std::uint32_t sessions = 0;
    for (std::uint32_t r = 0; r < w.size(); ++r) {
      if (w.columns().session[r] != sessions) continue;  // not a session's first request
      ++sessions;
      out.push_back(w.input_tokens(RequestId{r}));
    }
    out.resize(100);
    return out;
  };
  CHECK(first_turns(generate_workload(slow, 1)) == first_turns(generate_workload(fast, 1)));
}

TEST_CASE("changing the mean number of turns leaves the texts alone", "[traces]") {
  // geometric(1) draws like any other, so a mean of exactly one turn shifts no later draw.
  SyntheticConfig one = with_requests(1);
  one.turns = 1;
  SyntheticConfig two = one;
  two.turns = 2;
  CHECK(generate_workload(one, 1).input_tokens(RequestId{0}) ==
        generate_workload(two, 1).input_tokens(RequestId{0}));
}

}  // namespace
}  // namespace spillway

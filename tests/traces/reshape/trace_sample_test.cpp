// Samples: what is taken as a whole, how even a choice is, and that hit ratios stay, measured anew.
#include "traces/reshape/trace_sample.hpp"

#include <cmath>
#include <set>

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/reshape/balanced_choice.hpp"
#include "traces/reshape/sample_units.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/stats/reuse_curve.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::values;
using Units = std::vector<std::uint32_t>;

struct Request {
  std::vector<std::uint64_t> blocks;
  std::optional<std::uint64_t> session{};
};

Workload of(const std::vector<Request>& requests) {
  WorkloadBuilder builder("t", 100);
  TraceRow row;
  for (const Request& request : requests) {
    row.clear();
    row.arrival_ns = builder.size();
    row.input_tokens = 100;
    row.output_tokens = 1;
    row.blocks = request.blocks;
    row.session = request.session;
    builder.add(row);
  }
  return builder.build({"t", "test", {"a note"}});
}

TEST_CASE("requests that share a block are one unit, unless too many share it", "[traces]") {
  // Block 1 is in all of the four requests, which have ten references; trees above it in five each.
  const Workload w = of({{{1, 2, 3}}, {{1, 4}}, {{1, 2, 5}}, {{1, 4}}, {{6}}});
  CHECK(sample_units(w, 10).of == Units{0, 0, 0, 0, 1});
  CHECK(sample_units(w, 9).of == Units{0, 1, 0, 1, 2});
  CHECK(sample_units(w, 5).of == Units{0, 1, 2, 1, 3});  // block 2's tree has six
  CHECK(sample_units(w, 2).of == Units{0, 1, 2, 3, 4});
}

TEST_CASE("a session is never cut, and joins trees up to the bound", "[traces]") {
  const Workload w =
      of({{{1, 2}, 7}, {{3, 4}, 8}, {{5, 6}, 7}, {{5, 9}, 8}, {{3, 4}, 9}, {{5, 6}, 7}});
  CHECK(sample_units(w, 100).of == Units{0, 0, 0, 0, 0, 0});
  // Session 7 has six references already; 8 and 9 share block 3 and have six together.
  CHECK(sample_units(w, 6).of == Units{0, 1, 0, 1, 1, 0});
  CHECK(sample_units(w, 1).of == Units{0, 1, 0, 1, 2, 0});
}

TEST_CASE("requests without blocks are units of their own", "[traces]") {
  CHECK(sample_units(of({{{}}, {{}}, {{1}}}), 100).of == Units{0, 1, 2});
}

TEST_CASE("a balanced choice has the share of every feature", "[traces]") {
  // Feature 0 counts units; 1 and 2 are very uneven: a plain tenth of 1 would be off by a third.
  UnitFeatures features{1000, 3, {}};
  Stream draw(5, "features");
  double total[3] = {0, 0, 0};
  for (std::uint32_t u = 0; u < features.units; ++u) {
    for (const double value : {1.0, draw.lognormal(1, 1.5), draw.exponential(1)}) {
      total[features.values.size() % 3] += value;
      features.values.push_back(value);
    }
  }
  Stream random(1, "choice");
  const std::vector<bool> chosen = balanced_choice(features, 0.1, random);
  double sum[3] = {0, 0, 0};
  for (std::uint32_t u = 0; u < features.units; ++u) {
    for (std::uint32_t k = 0; k < 3 && chosen[u]; ++k) sum[k] += features.of(u)[k];
  }
  for (int k = 0; k < 3; ++k) CHECK(sum[k] == Approx(0.1 * total[k]).epsilon(0.02));
}

TEST_CASE("a choice is at least one unit and at most all", "[traces]") {
  UnitFeatures features{3, 1, {5, 5, 5}};
  Stream random(1, "choice");
  const auto count = [&](double share) {
    const std::vector<bool> chosen = balanced_choice(features, share, random);
    return std::count(chosen.begin(), chosen.end(), true);
  };
  CHECK(count(0.001) == 1);
  CHECK(count(0.67) == 2);
  CHECK(count(1) == 3);
}

TEST_CASE("selected requests keep what they are and wait only for one another", "[traces]") {
  const Workload w = generate_workload(SyntheticConfig{}, 3);
  std::vector<std::uint32_t> requests;
  for (std::uint32_t r = 0; r < w.size(); r += 2) requests.push_back(r);
  const Workload half = select_rows(w, requests);
  REQUIRE(half.size() == requests.size());
  std::uint32_t different = 0;
  std::uint64_t links = 0;
  std::vector<std::uint32_t> place(w.size(), ~0U);
  std::vector<std::uint32_t> block(half.unique_blocks(), ~0U);  // its number in `w`
  for (std::uint32_t i = 0; i < half.size(); ++i) {
    const RequestId now{i};
    const RequestId then{requests[i]};
    place[requests[i]] = i;
    different += half.arrival(now) != w.arrival(then);
    different += half.input_tokens(now) != w.input_tokens(then);
    different += half.output_tokens(now) != w.output_tokens(then);
    const std::vector<std::uint32_t> ours = chain_of(half, i);
    const std::vector<std::uint32_t> theirs = chain_of(w, requests[i]);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t k = 0; k < ours.size(); ++k) {
      if (block[ours[k]] == ~0U) block[ours[k]] = theirs[k];
      different += block[ours[k]] != theirs[k];
    }
    Units kept;
    for (const RequestId before : w.after(then)) {
      if (place[raw(before)] != ~0U) kept.push_back(place[raw(before)]);
    }
    Units now_after;
    for (const RequestId before : half.after(now)) now_after.push_back(raw(before));
    different += now_after != kept;
    links += kept.size();
  }
  CHECK(different == 0);
  CHECK(links == half.columns().after.size());
  std::vector<std::uint32_t> all(w.size());
  for (std::uint32_t r = 0; r < w.size(); ++r) all[r] = r;
  CHECK(select_rows(w, all).content_hash() == w.content_hash());
}

TEST_CASE("a sample of everything is the trace itself", "[traces]") {
  const Workload w = generate_workload(SyntheticConfig{}, 3);
  const TraceSample s = sample_trace(w, {1.0, 0.02, 1});
  CHECK(s.workload.content_hash() == w.content_hash());
  CHECK(s.largest_difference == 0);
  CHECK(s.choices == 1);
  CHECK(s.kept_by_time == std::vector<double>(8, 1.0));
}

TEST_CASE("a trace that names no blocks is sampled by its requests", "[traces]") {
  const TraceSample s = sample_trace(of(std::vector<Request>(50)), {0.2, 0.02, 1});
  CHECK(s.workload.size() == 10);
  CHECK(s.largest_difference == 0);
  CHECK(s.kept_by_time.empty());
}

TEST_CASE("one request is a sample of itself", "[traces]") {
  const TraceSample s = sample_trace(of({{{1, 2}}}), {0.1, 0.02, 1});
  CHECK(s.workload.size() == 1);
  CHECK(s.chosen_units == 1);
}

TEST_CASE("equal seeds give equal samples, others do not", "[traces]") {
  const Workload w = generate_workload(SyntheticConfig{}, 3);
  const auto hash = [&](std::uint64_t seed) {
    return sample_trace(w, {0.3, 0.02, seed}).workload.content_hash();
  };
  CHECK(hash(1) == hash(1));
  CHECK(hash(1) != hash(2));
}

/// Sessions of the sample are whole, and their requests as they were.
void check_whole(const Workload& w, const Workload& sample) {
  std::map<std::uint32_t, std::uint32_t> turns;
  std::map<std::int64_t, std::set<std::uint32_t>> session_at;  // sessions by arrival
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    ++turns[w.columns().session[r]];
    session_at[w.columns().arrival_ns[r]].insert(w.columns().session[r]);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> kept;
  for (std::uint32_t r = 0; r < sample.size(); ++r) {
    kept[sample.columns().session[r]].push_back(r);
  }
  std::uint32_t broken = 0;
  for (const auto& [session, requests] : kept) {
    // The one session of the trace that has a request at each of these times.
    std::set<std::uint32_t> could = session_at[sample.columns().arrival_ns[requests[0]]];
    for (const std::uint32_t r : requests) {
      const auto& here = session_at[sample.columns().arrival_ns[r]];
      std::erase_if(could, [&](std::uint32_t s) { return !here.contains(s); });
    }
    const std::size_t have = requests.size();
    broken +=
        std::none_of(could.begin(), could.end(), [&](std::uint32_t s) { return turns[s] == have; });
  }
  CHECK(broken == 0);
}

TEST_CASE("sessions are kept whole, at the times they had", "[traces]") {
  const Workload w = generate_workload(SyntheticConfig{}, 8);
  check_whole(w, sample_trace(w, {0.25, 0.02, 1}).workload);
}

/// The difference between two traces' hit ratios, a cache of each size against its tenth.
double difference_at(const Workload& w, const Workload& sample, double part) {
  const auto blocks = static_cast<std::uint64_t>(part * w.unique_blocks() + 0.5);
  const auto ratio = [](const Workload& of_these, std::uint64_t capacity) {
    const ReuseCurve curve = reuse_curve(of_these, TouchOrder::kReverse, Atomicity::kRequest);
    return static_cast<double>(curve.block.hits(capacity)) / static_cast<double>(curve.references);
  };
  const auto tenth = static_cast<std::uint64_t>(static_cast<double>(blocks) / 10 + 0.5);
  return ratio(sample, tenth) - ratio(w, blocks);
}

TEST_CASE("a tenth of the conversation trace keeps its hit ratios within 2 points", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const Workload w = open_trace(trace.path, {});
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  const TraceSample s = sample_trace(w, {0.1, 0.02, seed});
  CHECK(s.largest_difference < 0.02);
  CHECK(s.workload.size() == Approx(0.1 * w.size()).epsilon(0.01));
  for (const double kept : s.kept_by_time) CHECK(kept == Approx(0.1).epsilon(0.05));
  const double parts[] = {0.01, 0.05, 0.10, 0.25, 0.50};
  for (std::size_t i = 0; i < 5; ++i) {
    const double difference = difference_at(w, s.workload, parts[i]);
    CHECK(std::fabs(difference) < 0.02);
    CHECK(s.ratios[i].difference() == Approx(difference).margin(1e-12));
  }
}

TEST_CASE("a tenth of the retrieval trace keeps its hit ratios within 2 points", "[traces]") {
  const auto trace = test::material("traces/ragpulse_days1-4.jsonl.gz");
  const Workload w = open_trace(trace.path, {});
  const TraceSample s = sample_trace(w, {0.1, 0.02, GENERATE(1u, 2u, 3u)});
  CHECK(s.largest_difference < 0.02);
  CHECK(s.workload.size() == Approx(0.1 * w.size()).epsilon(0.05));
}

TEST_CASE("requests of agents are too long for a tenth of a small cache", "[traces]") {
  // A request has 2,000 blocks; a tenth of 1% of the unique blocks is 480. Of the stand-in: a
  // quarter of its blocks, 893, finds all that can be found, 92%; a tenth of that finds at most 89
  // of a request's 140 and more.
  const auto trace = test::material("traces/kvcache_tester_agentic_0001-0080.jsonl.gz");
  const Workload w = open_trace(trace.path, {});
  CHECK(sample_trace(w, {0.1, 0.02, 1}).largest_difference > 0.02);
}

TEST_CASE("a prompt that one request in twenty has is kept with all its users or none",
          "[traces]") {
  // Twenty system prompts of twenty blocks, each behind 1 request in 20; every request has five
  // blocks of its own. A plain tenth of the requests would have each prompt as far apart as before,
  // but in a tenth of the cache: with room for half of the trace's blocks no hit would be left.
  std::vector<Request> requests;
  Stream draw(2, "prompts");
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Request request;
    const std::uint64_t prompt = draw.below(20);
    for (std::uint64_t k = 0; k < 20; ++k) request.blocks.push_back(100 * prompt + k);
    for (std::uint64_t k = 0; k < 5; ++k) request.blocks.push_back(10'000 + 5 * i + k);
    requests.push_back(request);
  }
  const Workload w = of(requests);
  const TraceSample s = sample_trace(w, {0.1, 0.02, 1});
  for (std::size_t i = 2; i < 5; ++i) CHECK(std::fabs(s.ratios[i].difference()) < 0.02);
  std::set<std::uint64_t> prompts;
  for (std::uint32_t r = 0; r < s.workload.size(); ++r) prompts.insert(chain_of(s.workload, r)[0]);
  CHECK(prompts.size() == 2);
}

}  // namespace
}  // namespace spillway

// Small engine runs for tests: a workload written row by row, an engine under the reference
// scenario's compute and links, and everything that was observed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/engine/engine.hpp"
#include "sim/observer.hpp"
#include "sim/workload.hpp"

namespace spillway::test {

struct Row {
  std::int64_t arrival_ms;
  std::uint32_t input_tokens;
  std::uint32_t output_tokens;
  std::vector<std::uint64_t> blocks;  ///< ids of trace blocks
  std::string tenant{};               ///< tenants get ids in the order of their first rows
};

/// `block_tokens`: size of a trace block.
Workload workload_of(const std::vector<Row>& rows, std::uint32_t block_tokens);

/// Everything an engine tells.
struct Journal final : Observer {
  std::vector<RequestRecord> requests;  ///< by request id
  std::vector<StepRecord> steps;
  std::vector<TransferRecord> transfers;
  std::vector<TierChange> tier_changes;
  std::vector<RequestId> preempted;
  std::vector<std::uint64_t> cold;  ///< millionths of a block, by decoded token
  std::vector<NeededBlocks> needed;

  void on_step(const StepRecord& r) override { steps.push_back(r); }
  void on_request(const RequestRecord& r) override {
    if (requests.size() <= raw(r.request)) requests.resize(raw(r.request) + 1);
    requests[raw(r.request)] = r;
  }
  void on_transfer(const TransferRecord& r) override { transfers.push_back(r); }
  void on_tier_change(const TierChange& c) override { tier_changes.push_back(c); }
  void on_preemption(Time, RequestId request) override { preempted.push_back(request); }
  void on_cold_decode(std::uint64_t millionths) override { cold.push_back(millionths); }
  void on_needed_blocks(const NeededBlocks& n) override { needed.push_back(n); }
};

/// The reference scenario: blocks of 16 tokens and 131,072 bytes a token, a step of 2 ms + 20 us a
/// token + 5 ns a token of context, links of 10 us + 25 GB/s.
struct Setup {
  EngineConfig config;
  std::uint64_t dram_blocks = 0;  ///< 0: no tier below
  std::int64_t bytes_per_second = 25'000'000'000;
  std::string eviction = "lru";
  std::string hbm_eviction = "lru";
  std::string admission = "always";
  std::string write_admission = "always";
  bool load_at_break_even = false;
  CopyInterference interference;
  std::vector<RequestClass> classes{};  ///< by tenant

  Setup();
};

struct EngineRun : EngineStats {
  Journal journal;
  std::uint32_t stuck = 0;
  std::optional<Standstill> standstill{};
  Time end{};
};

EngineParts parts_of(const Setup& setup);

/// An engine of these parts on a network of its own. With an `observer`, that one is told instead
/// of the journal.
EngineRun run_parts(const Workload& workload, EngineParts parts, const NetworkSpec& network = {},
                    const ArrivalConfig& arrival = {}, Observer* observer = nullptr);
/// The same of the parts of `setup`.
EngineRun run_engine(const Workload& workload, const Setup& setup,
                     const ArrivalConfig& arrival = {}, Observer* observer = nullptr);

/// When transfers on a link ended, in nanoseconds.
std::vector<std::int64_t> ends_of(const EngineRun& run, std::uint32_t link);
/// Blocks that came into a tier.
std::uint64_t stored_in(const EngineRun& run, std::uint32_t tier);

/// Time of a step in nanoseconds: 2,000,000 + 20,000 n + 5 context.
constexpr std::int64_t step_ns(std::int64_t tokens, std::int64_t context) {
  return 2'000'000 + 20'000 * tokens + 5 * context;
}

}  // namespace spillway::test

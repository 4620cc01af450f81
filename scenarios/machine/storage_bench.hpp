// Storage under the scratch folder: rates and latencies by block size, number in flight and jobs.
//
// One nameless file of random content. The first write of it in 1 MiB blocks is the sustained
// write, in quarters, so that a drop behind a write cache shows; each quarter ends with fdatasync,
// in its time. Then random reads and overwrites, past the page cache (O_DIRECT) where the file
// system has that, and buffered reads with the cache dropped before or warm. Writes end with
// fdatasync, in their rate though not in their latencies. What is read is verified.
#pragma once

#include <memory>

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/block_content.hpp"
#include "scenarios/machine/io_engine.hpp"
#include "scenarios/machine/machine.hpp"
#include "scenarios/machine/scratch_file.hpp"

namespace spillway {

/// What the file is at least.
inline constexpr std::int64_t kLeastScratchBytes = std::int64_t{64} << 20;
/// What a calibration of that budget would like to have.
std::int64_t wanted_scratch_bytes(double budget_s);

class StorageBench final : public Bench {
 public:
  explicit StorageBench(const HostState& host) : host_(host) {}

  std::string_view name() const override { return "storage"; }
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  nlohmann::json measure(const CellPlan& cell) override;
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  std::vector<CellPlan> grid() const;
  void prepare();
  /// Writes on until `extent` bytes are written; throws BenchLost.
  void fill(std::int64_t extent);
  IoOutcome run(const IoLoad& load);
  bool reads_back(std::int64_t block);

  const HostState& host_;
  BenchLimits limits_;
  IoEngine engine_ = IoEngine::kUring;
  double cell_s_ = 1;
  std::int64_t file_bytes_ = 0;
  std::int64_t written_ = 0;  ///< from the start of the file
  std::uint64_t measured_ = 0;
  std::unique_ptr<BlockContent> content_;
  std::unique_ptr<ScratchFile> file_;
  std::vector<std::string> warnings_;
};

}  // namespace spillway

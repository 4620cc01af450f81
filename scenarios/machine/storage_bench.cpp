#include "scenarios/machine/storage_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/machine/cell_runner.hpp"
#include "scenarios/machine/mapping.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/error.hpp"
#include "sim/quantile.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kLargest = 16 * kMiB;
constexpr std::int64_t kQuarters = 4;
constexpr std::int64_t kStep = kQuarters * kLargest;  ///< the file is a multiple of it
constexpr std::int64_t kSustainedBlock = kMiB;
constexpr std::uint32_t kSustainedQd = 8;
constexpr double kExpectedWrite = 0.5e9;  ///< bytes/s, for the plan
constexpr std::int64_t kWarmBytes = 256 * kMiB;
constexpr std::uint32_t kMostThreads = 64;  ///< of the pread engine
constexpr std::uint64_t kFewOperations = 16;
constexpr int kReadBack = 4;

constexpr std::int64_t kBlocks[] = {4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB,
                                    1 * kMiB, 4 * kMiB,  16 * kMiB};
constexpr std::uint32_t kDepths[] = {1, 4, 16, 64, 256};

bool coarse_block(std::int64_t block) {
  return block == 4 * kKiB || block == 64 * kKiB || block == kMiB || block == kLargest;
}

/// What a KV cache asks first: small and large blocks, one at a time and many.
int priority_of(std::int64_t block, std::uint32_t qd, std::uint32_t jobs) {
  if (jobs > 1) return 3;
  if ((block == 4 * kKiB && qd == 1) || (block == kMiB && qd == 16)) return 0;
  return coarse_block(block) && (qd == 1 || qd == 16) ? 1 : 2;
}

}  // namespace

std::int64_t wanted_scratch_bytes(double budget_s) {
  constexpr double kPerSecond = 20e6;  // the first write then takes a small part of the budget
  constexpr std::int64_t kMost = std::int64_t{32} << 30;  // and of a drive's life
  const double wanted = std::min(budget_s * kPerSecond, static_cast<double>(kMost));
  return std::max(kLeastScratchBytes, static_cast<std::int64_t>(wanted) / kStep * kStep);
}

std::vector<CellPlan> StorageBench::plan(const BenchLimits& limits,
                                         std::vector<std::string>& missing) {
  limits_ = limits;
  warnings_.clear();
  if (limits.scratch.empty()) {
    missing.push_back("storage: no scratch folder; --scratch DIR names one");
    return {};
  }
  file_bytes_ = limits.scratch_bytes / kStep * kStep;
  if (file_bytes_ < kLeastScratchBytes) {
    missing.push_back(fmt::format(
        "storage: needs a scratch file of {}, at most half of what is free under {}{}; {} is free",
        size_of(kLeastScratchBytes), limits.scratch,
        host_.scratch.in_memory ? " and, since that is in memory, of --memory" : "",
        host_.scratch.free_bytes < 0 ? "not known how much" : size_of(host_.scratch.free_bytes)));
    return {};
  }
  if (!uring_permitted()) {
    engine_ = IoEngine::kPread;
    warnings_.push_back(
        "storage: io_uring is not permitted here; pread and pwrite with a thread per operation in "
        "flight stand in, and cost more CPU");
  }
  cell_s_ = std::clamp(limits.budget_s / 250, 0.02, 1.0);
  std::vector<CellPlan> out;
  for (std::int64_t quarter = 0; quarter < kQuarters; ++quarter) {
    const std::int64_t part = file_bytes_ / kQuarters;
    out.push_back({"storage",
                   {{"op", "sustained_write"},
                    {"direct", true},
                    {"bytes", kSustainedBlock},
                    {"qd", kSustainedQd},
                    {"jobs", 1},
                    {"after_bytes", quarter * part}},
                   static_cast<double>(part) / kExpectedWrite,
                   quarter == 0 ? 0 : 1,
                   true});
  }
  const std::vector<CellPlan> rest = grid();
  const std::int64_t most = limits.memory_bytes / 2;
  std::size_t too_large = 0;
  for (const CellPlan& cell : rest) {
    const auto jobs = cell.request["jobs"].get<std::uint32_t>();
    const auto qd = cell.request["qd"].get<std::uint32_t>();
    const bool threads = engine_ == IoEngine::kPread && jobs * qd > kMostThreads;
    if (threads || cell.request["bytes"].get<std::int64_t>() * jobs * qd > most) {
      ++too_large;
    } else {
      out.push_back(cell);
    }
  }
  if (too_large > 0) {
    missing.push_back(fmt::format("storage: {} cells with more in flight than {} of memory{}",
                                  too_large, size_of(most),
                                  engine_ == IoEngine::kPread ? " or 64 threads" : ""));
  }
  return out;
}

std::vector<CellPlan> StorageBench::grid() const {
  std::vector<CellPlan> out;
  const double each_s = cell_s_ + 0.02;
  for (const std::uint32_t jobs : {1U, 4U}) {
    for (const std::int64_t block : kBlocks) {
      for (const std::uint32_t qd : kDepths) {
        for (const char* op : {"read", "write"}) {
          out.push_back(
              {"storage",
               {{"op", op}, {"direct", true}, {"bytes", block}, {"qd", qd}, {"jobs", jobs}},
               each_s,
               priority_of(block, qd, jobs)});
        }
      }
    }
  }
  for (const std::int64_t block : {64 * kKiB, kMiB}) {
    for (const std::uint32_t qd : {1U, 16U}) {
      for (const bool cold : {true, false}) {
        out.push_back({"storage",
                       {{"op", "read"},
                        {"direct", false},
                        {"cold", cold},
                        {"bytes", block},
                        {"qd", qd},
                        {"jobs", 1}},
                       each_s + (cold ? 0.05 : 0.2),
                       qd == 1 ? 1 : 2});
      }
    }
  }
  return out;
}

void StorageBench::prepare() {
  if (file_) return;
  try {
    file_ = std::make_unique<ScratchFile>(limits_.scratch, file_bytes_);
  } catch (const InputError& error) {
    throw BenchLost(error.what());
  }
  content_ = std::make_unique<BlockContent>(limits_.seed);
  if (!file_->has_direct()) {
    warnings_.push_back(fmt::format(
        "storage: {} does not take O_DIRECT: reads and writes go through the page cache",
        host_.scratch.fs.empty() ? "this file system" : host_.scratch.fs));
  }
}

IoOutcome StorageBench::run(const IoLoad& load) {
  IoOutcome outcome;
  try {
    outcome = run_io(engine_, load, *content_, limits_.stop);
  } catch (const std::bad_alloc&) {
    outcome.problem = "the system refused the memory";
  }
  if (outcome.no_space) {
    throw BenchLost(fmt::format("{}: {}", limits_.scratch, outcome.problem));
  }
  return outcome;
}

void StorageBench::fill(std::int64_t extent) {
  if (written_ >= extent) return;
  IoLoad load;
  load.fd = file_->direct();
  load.write = true;
  load.block = kSustainedBlock;
  load.qd = kSustainedQd;
  load.begin = written_;
  load.extent = extent;
  load.seconds = 1e9;
  const IoOutcome outcome = run(load);
  const auto done = static_cast<std::int64_t>(outcome.operations) * kSustainedBlock;
  if (outcome.problem.empty() && written_ + done >= extent) {
    written_ = extent;
  } else if (!outcome.problem.empty()) {
    throw BenchLost(fmt::format("{}: {}", limits_.scratch, outcome.problem));
  }
}

bool StorageBench::reads_back(std::int64_t block) {
  const Mapping memory(block);
  Stream random(limits_.seed, "calibrate-read-back", ++measured_);
  for (int i = 0; i < kReadBack; ++i) {
    const auto blocks = static_cast<std::uint64_t>(written_ / block);
    const std::int64_t offset = static_cast<std::int64_t>(random.below(blocks)) * block;
    const auto bytes = static_cast<std::size_t>(block);
    if (pread(file_->direct(), memory.data(), bytes, offset) != block ||
        !content_->equals(memory.data(), block, offset)) {
      return false;
    }
  }
  return true;
}

nlohmann::json StorageBench::measure(const CellPlan& cell) {
  prepare();
  StorageCell row;
  row.fs = host_.scratch.fs;
  row.engine = name_of(engine_);
  row.op = cell.request.at("op");
  row.direct = cell.request.at("direct").get<bool>() && file_->has_direct();
  row.cold = cell.request.value("cold", true);
  row.bytes = cell.request.at("bytes");
  row.qd = cell.request.at("qd");
  row.jobs = cell.request.at("jobs");
  row.after_bytes = cell.request.value("after_bytes", std::int64_t{0});

  IoLoad load;
  load.fd = row.direct ? file_->direct() : file_->buffered();
  load.write = row.op != "read";
  load.block = row.bytes;
  load.qd = row.qd;
  load.jobs = row.jobs;
  load.seconds = cell_s_;
  load.seed = mix64(limits_.seed + ++measured_);
  const bool sustained = row.op == "sustained_write";
  if (sustained) {
    fill(row.after_bytes);
    load.begin = row.after_bytes;
    load.extent = row.after_bytes + file_bytes_ / kQuarters;
    load.seconds = 1e9;
  } else {
    fill(file_bytes_ / kQuarters);
    load.extent = written_;
  }
  if (limits_.stop && limits_.stop()) return to_document(row);
  if (!load.write && !row.direct) {
    const bool dropped = file_->drop_cache(written_);
    if (row.cold) {
      load.once = true;
      if (!dropped) row.state.problem = "the page cache could not be dropped";
    } else {
      load.extent = std::min({written_, kWarmBytes, limits_.memory_bytes / 2 / kMiB * kMiB});
      IoLoad warming = load;
      warming.block = kMiB;
      warming.qd = 1;
      warming.once = true;
      warming.seconds = 1e9;
      run(warming);
    }
  }
  IoOutcome outcome = run(load);
  if (sustained && outcome.problem.empty()) written_ = std::max(written_, load.extent);
  if (load.write) {
    const double begin = monotonic_s();
    if (!file_->sync() && outcome.problem.empty()) outcome.problem = "fdatasync failed";
    outcome.seconds += monotonic_s() - begin;
  }
  if (load.write && outcome.problem.empty() && !reads_back(row.bytes)) {
    outcome.problem = "read other than what was written";
  }
  if (row.state.problem.empty()) row.state.problem = outcome.problem;
  row.state.valid = row.state.problem.empty();
  row.state.stable = outcome.cv <= kUnstableCv && outcome.operations >= kFewOperations;
  row.operations = outcome.operations;
  if (outcome.latency_us.empty()) return to_document(row);
  const double moved = static_cast<double>(outcome.operations) * static_cast<double>(row.bytes);
  row.gbs = moved / outcome.seconds / 1e9;
  tell_latency(row, outcome.latency_us);
  row.lat_p999_us = quantile(outcome.latency_us, 0.999);
  return to_document(row);
}

}  // namespace spillway

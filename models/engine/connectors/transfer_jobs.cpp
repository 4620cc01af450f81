#include "models/engine/connectors/transfer_jobs.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {
// Numbers of transfers from here on are pieces of layered loads: load x layers + layer.
constexpr std::uint32_t kFirstPiece = std::uint32_t{1} << 31;
}  // namespace

std::uint32_t TransferJobs::make(Handle h) {
  const std::uint32_t job = jobs_.take();
  jobs_[job].request = h;
  jobs_[job].blocks = 0;
  jobs_[job].fencing.clear();
  jobs_[job].below.clear();
  jobs_[job].hbm.clear();
  ++in_flight_;
  return job;
}

void TransferJobs::release(std::uint32_t job) {
  jobs_.release(job);
  --in_flight_;
}

// ---- planning
// ------------------------------------------------------------------------------------

void TransferJobs::begin_plan(StepTransfers& transfers) {
  transfers.clear();
  transfers_ = &transfers;
}

void TransferJobs::end_plan() {
  std::swap(transfers_->stores, deferred_);
  std::swap(transfers_->loads, planned_loads_);
  // SimpleCPUOffloadConnector launches its stores behind the step's compute in every release
  // (vllm/v1/simple_kv_offload/worker.py, get_finished).
  const bool defer = config_.store_defer_next_step && !config_.simple_offload();
  std::vector<std::uint32_t>& rest = defer ? deferred_ : transfers_->behind;
  for (const std::uint32_t job : planned_) {
    (fenced_now(job) ? transfers_->stores : rest).push_back(job);
  }
  planned_.clear();
}

bool TransferJobs::fenced_now(std::uint32_t job) const {
  const auto& fencing = jobs_[job].fencing;
  return std::find(fencing.begin(), fencing.end(), transfers_) != fencing.end();
}

void TransferJobs::fence(std::uint32_t job) {
  if (fenced_now(job)) return;
  jobs_[job].fencing.push_back(transfers_);
  ++transfers_->fences_pending;
}

// ---- submission
// ----------------------------------------------------------------------------------

void TransferJobs::submit(Direction direction, std::uint32_t job) {
  path_->submit(direction, job, bytes_of(job), jobs_[job].blocks * config_.copies_per_block);
}

void TransferJobs::submit_stores(const std::vector<std::uint32_t>& jobs) {
  stores_under_way_ += static_cast<std::uint32_t>(jobs.size());  // some paths end jobs at once
  for (const std::uint32_t job : jobs) submit(Direction::kDown, job);
}

void TransferJobs::submit_loads(const std::vector<std::uint32_t>& jobs) {
  loads_under_way_ += static_cast<std::uint32_t>(jobs.size());
  for (const std::uint32_t job : jobs) {
    jobs_[job].served = 0;
    waiter_.on_load(job, LoadEvent::kSubmitted);
    submit(Direction::kUp, job);
  }
}

void TransferJobs::submit_layered_loads(const std::vector<std::uint32_t>& jobs,
                                        std::uint32_t layers) {
  KV_ASSERT(loads_under_way_ == 0, "layered loads of two steps at once");
  const std::uint32_t copies = std::max(1U, config_.copies_per_block / layers);
  layered_ = jobs;
  loads_under_way_ = static_cast<std::uint32_t>(jobs.size());
  pieces_pending_.assign(layers, loads_under_way_);
  for (const std::uint32_t job : jobs) jobs_[job].pieces = layers;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint32_t i = 0; i < loads_under_way_; ++i) {
      const Bytes piece(layer_part(bytes_of(jobs[i]).count(), layer, layers));
      path_->submit(Direction::kUp, kFirstPiece + i * layers + layer, piece,
                    jobs_[jobs[i]].blocks * copies);
    }
  }
}

/// A transfer towards HBM has ended. When that was all of a load, `job` becomes its number.
bool TransferJobs::ends_load(std::uint32_t& job) {
  if (job >= kFirstPiece) {
    const auto layers = static_cast<std::uint32_t>(pieces_pending_.size());
    const std::uint32_t piece = job - kFirstPiece;
    --pieces_pending_[piece % layers];
    job = layered_[piece / layers];
    if (--jobs_[job].pieces > 0) return false;
  }
  --loads_under_way_;
  return true;
}

void TransferJobs::on_load_service(std::uint32_t job, bool begins) {
  if (job >= kFirstPiece) return;
  const bool told = begins ? jobs_[job].served++ == 0 : --jobs_[job].served == 0;
  if (told) waiter_.on_load(job, begins ? LoadEvent::kServed : LoadEvent::kPaused);
}

void TransferJobs::on_transfer_done(Direction direction, std::uint32_t job) {
  if (direction == Direction::kUp && job < kFirstPiece) waiter_.on_load(job, LoadEvent::kEnded);
  if (direction == Direction::kUp && !ends_load(job)) return waiter_.on_transfer_progress();
  if (direction == Direction::kDown) --stores_under_way_;
  ended_[index_of(direction)].push_back(job);
  for (StepTransfers* step : jobs_[job].fencing) --step->fences_pending;
  waiter_.on_transfer_progress();
}

}  // namespace spillway

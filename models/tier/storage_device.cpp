#include "models/tier/storage_device.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

StorageOp other(StorageOp op) {
  return op == StorageOp::kRead ? StorageOp::kWrite : StorageOp::kRead;
}

/// The latencies of a task's operations, then its bytes at the most that one slot may have (no time
/// where they pass another station behind).
class OperationService final : public ServiceModel {
 public:
  OperationService(const LatencyQuantiles& latency, Stream stream, std::int64_t rate)
      : latency_(latency), stream_(stream), rate_(rate) {}
  Service service(Bytes payload, std::uint32_t operations) override {
    return {latency_.draw(stream_, operations), time_at_rate(payload, rate_)};
  }

 private:
  TailLatency latency_;
  Stream stream_;
  std::int64_t rate_;
};

/// The bytes of a drive, one task at a time.
class DriveService final : public ServiceModel {
 public:
  DriveService(const EventQueue& queue, std::int64_t rate, WriteCache* cache)
      : queue_(queue), rate_(rate), cache_(cache) {}
  Service service(Bytes payload, std::uint32_t) override {
    return {Duration(0), cache_ == nullptr ? time_at_rate(payload, rate_)
                                           : cache_->write(queue_.now(), payload)};
  }

 private:
  const EventQueue& queue_;
  std::int64_t rate_;
  WriteCache* cache_;
};

}  // namespace

std::int64_t client_share(const StorageLane& lane, std::uint32_t clients) {
  const std::int64_t part =
      lane.total_rate == 0 ? 0 : std::max<std::int64_t>(1, lane.total_rate / (clients + 1));
  return lowest_rate({lane.client_rate, part});
}

StorageDevice::StorageDevice(EventQueue& queue, Fabric& fabric, const StorageDeviceConfig& config,
                             Observer& observer, StorageListener& listener)
    : queue_(queue), observer_(observer), listener_(listener), spec_(config.spec), fabric_(fabric) {
  KV_ASSERT(spec_.slots > 0 && spec_.read_first <= spec_.slots, "{} of {} slots read first",
            spec_.read_first, spec_.slots);
  KV_ASSERT(spec_.operation_bytes > Bytes(0), "operations of no bytes");
  if (spec_.write_cache) cache_.emplace(*spec_.write_cache, spec_.write.total_rate);
  free_ = {spec_.read_first, spec_.slots - spec_.read_first};
  links_ = {config.read_link, config.write_link};
  routes_ = {make_route(StorageOp::kRead, config), make_route(StorageOp::kWrite, config)};
}

RouteId StorageDevice::make_route(StorageOp op, const StorageDeviceConfig& config) {
  const bool read = op == StorageOp::kRead;
  const StorageLane& lane = read ? spec_.read : spec_.write;
  const Stream stream(config.seed, read ? "storage reads" : "storage writes");
  const auto station = [&](std::unique_ptr<ServiceModel> model, std::uint32_t slots) {
    return fabric_.add_station({std::move(model), slots, kNoLink});
  };
  if (spec_.kind == StorageKind::kNvme) {
    KV_ASSERT(lane.total_rate > 0, "a drive without a rate");
    const Hop hops[] = {
        {.station =
             station(std::make_unique<OperationService>(lane.latency, stream, 0), spec_.slots)},
        {.station = station(std::make_unique<DriveService>(queue_, lane.total_rate,
                                                           !read && cache_ ? &*cache_ : nullptr),
                            1)}};
    return fabric_.add_route(hops);
  }
  StorageLane own = lane;
  own.client_rate = 0;
  const std::int64_t part = client_share(own, config.clients);
  std::vector<MediumId> media;
  if (lane.client_rate > 0) media.push_back(fabric_.add_medium(lane.client_rate));
  if (part > 0 && spec_.one_at_a_time) {
    if (!server_) server_ = fabric_.add_medium(part);
    media.push_back(*server_);
  } else if (part > 0) {
    media.push_back(fabric_.add_medium(part));
  }
  const std::int64_t most = lowest_rate({lane.slot_rate, lane.client_rate, part});
  KV_ASSERT(most > 0, "storage without a limit");
  const Hop hops[] = {
      {.station =
           station(std::make_unique<OperationService>(lane.latency, stream, most), spec_.slots),
       .media = media}};
  return fabric_.add_route(hops);
}

void StorageDevice::submit(StorageOp op, std::uint32_t job, Bytes bytes) {
  KV_ASSERT(bytes > Bytes(0), "a storage job of {} bytes", bytes.count());
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  Job& j = jobs_[job];
  j = Job{};
  j.op = op;
  j.bytes = bytes;
  j.operations = static_cast<std::uint32_t>(ceil_div(bytes.count(), spec_.operation_bytes.count()));
  j.tasks = spec_.whole_jobs
                ? 1
                : std::min(j.operations, std::max(kMostTasks, spec_.slots * kTasksPerSlot));
  j.submitted = queue_.now();
  (op == StorageOp::kRead ? wear_.read : wear_.written) += bytes;
  Busy& busy = busy_[index_of(op)];
  if (busy.jobs++ == 0) busy.since = queue_.now();
  waiting_[index_of(op)].push_back(job);
  // Nothing waits while a slot is free, so that only this job can need one.
  for (const StorageOp prefers : {op, other(op)}) {
    while (free_[index_of(prefers)] > 0 && !waiting_[index_of(op)].empty()) give(prefers);
  }
}

/// A free slot takes the next task. Preconditions: there is such a slot, and a task.
void StorageDevice::give(StorageOp prefers) {
  const StorageOp op = waiting_[index_of(prefers)].empty() ? other(prefers) : prefers;
  RingQueue<std::uint32_t>& queue = waiting_[index_of(op)];
  const std::uint32_t job = queue.front();
  --free_[index_of(prefers)];
  if (jobs_[job].begun + 1 == jobs_[job].tasks) queue.pop_front();
  begin_task(job, prefers);
}

void StorageDevice::begin_task(std::uint32_t job, StorageOp prefers) {
  Job& j = jobs_[job];
  if (j.begun == 0) j.started = queue_.now();
  // The first (operations mod tasks) tasks have one operation more.
  const auto up_to = [&j](std::uint32_t tasks) {
    return tasks * (j.operations / j.tasks) + std::min(tasks, j.operations % j.tasks);
  };
  const std::uint32_t first = up_to(j.begun);
  const std::uint32_t last = up_to(++j.begun);
  const Bytes from = spec_.operation_bytes * first;
  const Bytes to = std::min(j.bytes, spec_.operation_bytes * last);
  std::uint32_t task = static_cast<std::uint32_t>(tasks_.size());
  if (free_tasks_.empty()) {
    tasks_.emplace_back();
  } else {
    task = free_tasks_.back();
    free_tasks_.pop_back();
  }
  tasks_[task] = {job, prefers};
  fabric_.submit(routes_[index_of(j.op)], task, to - from, last - first, *this);
}

void StorageDevice::on_route_service(RouteId, std::uint32_t task, bool begins) {
  const std::uint32_t job = tasks_[task].job;
  Job& j = jobs_[job];
  if (j.op == StorageOp::kWrite) return;
  const bool told = begins ? j.served++ == 0 : --j.served == 0;
  if (told) listener_.on_read_service(job, begins);
}

void StorageDevice::on_route_done(RouteId, std::uint32_t task) {
  const auto [job, prefers] = tasks_[task];
  free_tasks_.push_back(task);
  ++free_[index_of(prefers)];
  if (!waiting_[0].empty() || !waiting_[1].empty()) give(prefers);
  if (++jobs_[job].ended == jobs_[job].tasks) end_job(job);
}

void StorageDevice::end_job(std::uint32_t job) {
  const Job j = jobs_[job];
  const std::size_t op = index_of(j.op);
  Busy& busy = busy_[op];
  if (--busy.jobs == 0) busy.total += queue_.now() - busy.since;
  latency_[op].add(queue_.now() - j.submitted);
  if (links_[op] != kNoLink) {
    observer_.on_transfer(
        {links_[op], j.bytes, j.operations, j.submitted, j.started, queue_.now()});
  }
  listener_.on_storage_done(j.op, job);
}

}  // namespace spillway

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

}  // namespace

StorageDevice::StorageDevice(StorageServer& server, const StorageClientConfig& config,
                             Observer& observer, StorageListener& listener)
    : server_(server),
      queue_(server.queue()),
      fabric_(server.fabric()),
      observer_(observer),
      listener_(listener),
      spec_(server.spec()) {
  KV_ASSERT(spec_.slots > 0 && spec_.read_first <= spec_.slots, "{} of {} slots read first",
            spec_.read_first, spec_.slots);
  KV_ASSERT(spec_.operation_bytes > Bytes(0), "operations of no bytes");
  free_ = {spec_.read_first, spec_.slots - spec_.read_first};
  links_ = {config.read_link, config.write_link};
  routes_ = {make_route(StorageOp::kRead, config), make_route(StorageOp::kWrite, config)};
}

RouteId StorageDevice::make_route(StorageOp op, const StorageClientConfig& config) {
  const StorageLane& lane = server_.lane(op);
  const Stream stream(config.seed, op == StorageOp::kRead ? "storage reads" : "storage writes");
  const std::int64_t own = config.own_rate[index_of(op)];
  std::int64_t most = 0;  // a drive's bytes pass its own station
  std::vector<MediumId> media;
  if (!server_.is_drive()) {
    if (lane.client_rate > 0) media.push_back(fabric_.add_medium(lane.client_rate));
    most = lowest_rate({lane.slot_rate, lane.client_rate, server_.share(op), own});
    KV_ASSERT(most > 0, "storage without a limit");
  }
  if (own > 0) media.push_back(fabric_.add_medium(own));
  const StationId slots = fabric_.add_station(
      {std::make_unique<OperationService>(lane.latency, stream, most), spec_.slots, kNoLink});
  return fabric_.add_route(server_.hops(op, slots, std::move(media), config.through));
}

void StorageDevice::submit(StorageOp op, std::uint32_t job, Bytes bytes, std::uint32_t operations) {
  KV_ASSERT(bytes > Bytes(0), "a storage job of {} bytes", bytes.count());
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  Job& j = jobs_[job];
  j = Job{};
  j.op = op;
  j.bytes = bytes;
  const auto whole =
      static_cast<std::uint32_t>(ceil_div(bytes.count(), spec_.operation_bytes.count()));
  j.operations = operations == 0 ? whole : std::min(operations, whole);
  j.tasks = spec_.whole_jobs
                ? 1
                : std::min(j.operations, std::max(kMostTasks, spec_.slots * kTasksPerSlot));
  j.submitted = queue_.now();
  server_.count(op, bytes);
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
  const Bytes to = last == j.operations ? j.bytes : spec_.operation_bytes * last;
  const std::uint32_t task = tasks_.take();
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
  tasks_.release(task);
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

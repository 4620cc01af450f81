#include "models/engine/connectors/lmcache/lmcache_backends.hpp"

#include <cmath>

namespace spillway {

namespace {

Bytes there(const BackendSite& site, Bytes of_rank) {
  return of_rank * std::int64_t{site.copies};
}

}  // namespace

// ---- disk

void LmcacheDisk::put(std::span<const ChunkCopy> chunks) {
  for (const ChunkCopy& chunk : chunks) {
    if (site_.table.find(chunk.id) != kNoChunkSlot) continue;
    const ChunkSlot slot = site_.table.take_evicting(there(site_, chunk.bytes));
    if (slot == kNoChunkSlot) {
      ++refused_;
      continue;
    }
    site_.table.name(slot, chunk.id, true);
    site_.host.use(chunk.buffer);
    const std::uint32_t write = writes_.take();
    writes_[write] = {slot, chunk.buffer};
    ++writing_;
    threads_.submit(*this, write);
  }
}

void DiskThreads::start() {
  while (!waiting_.empty() && free_ > 0) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    --free_;
    next.disk->begin(next.write);
  }
}

void LmcacheDisk::read(ChunkSlot slot) {
  site_.table.touch(slot);
  port_.submit(StorageOp::kRead, 0, site_.table.bytes_of(slot));
}

void LmcacheDisk::on_port_done(StorageOp op, std::uint32_t job) {
  if (op == StorageOp::kRead) return site_.reader.on_read();
  site_.table.written(writes_[job].slot);
  site_.table.done(writes_[job].slot);
  site_.host.done(writes_[job].buffer);
  writes_.release(job);
  --writing_;
  threads_.done();
}

// ---- remote

std::uint32_t LmcacheRemote::make_job() {
  const std::uint32_t job = jobs_.take();
  jobs_[job].chunks.clear();
  jobs_[job].abandoned = false;
  return job;
}

Bytes LmcacheRemote::packed(Bytes of_rank) const {
  const Bytes whole = there(site_, of_rank);
  if (site_.config.serde.ratio == 1) return whole;
  return Bytes(static_cast<std::int64_t>(
      std::ceil(static_cast<double>(whole.count()) / site_.config.serde.ratio)));
}

Duration LmcacheRemote::unpacking(std::span<const ChunkCopy> chunks) const {
  Bytes bytes{0};
  for (const ChunkCopy& chunk : chunks) bytes += chunk.bytes;
  return time_at_rate(bytes, site_.config.serde.decode_rate);
}

Duration LmcacheRemote::put(std::span<const ChunkCopy> chunks) {
  const bool dropped = !reachable();
  const std::uint32_t job = make_job();
  Bytes bytes{0};
  Bytes plain{0};
  for (const ChunkCopy& chunk : chunks) {
    const auto i = static_cast<std::uint32_t>(chunk.id);
    putting_.grow(std::size_t{i} + 1, 0);
    if (putting_[i] != 0) continue;
    if (dropped) {
      ++unreachable_;
      continue;
    }
    putting_[i] = 1;
    site_.host.use(chunk.buffer);
    jobs_[job].chunks.push_back(chunk);
    bytes += packed(chunk.bytes);
    plain += chunk.bytes;
  }
  if (jobs_[job].chunks.empty()) {
    jobs_.release(job);
    return Duration(0);
  }
  port_.submit(StorageOp::kWrite, job, bytes);
  return time_at_rate(plain, site_.config.serde.encode_rate);
}

void LmcacheRemote::get(std::span<const ChunkCopy> chunks) {
  read_ = make_job();
  jobs_[read_].chunks.assign(chunks.begin(), chunks.end());
  Bytes bytes{0};
  for (const ChunkCopy& chunk : chunks) bytes += packed(chunk.bytes);
  port_.submit(StorageOp::kRead, read_, bytes);
}

void LmcacheRemote::abandon() {
  jobs_[read_].abandoned = true;
}

void LmcacheRemote::on_port_done(StorageOp op, std::uint32_t job) {
  op == StorageOp::kWrite ? end_put(jobs_[job]) : end_get(jobs_[job]);
  jobs_.release(job);
}

void LmcacheRemote::end_put(const Job& job) {
  for (const ChunkCopy& chunk : job.chunks) {
    putting_[static_cast<std::uint32_t>(chunk.id)] = 0;
    site_.host.done(chunk.buffer);
    if (const ChunkSlot old = site_.table.find(chunk.id); old != kNoChunkSlot) {
      site_.table.touch(old);
      continue;
    }
    const ChunkSlot slot = site_.table.take_evicting(packed(chunk.bytes));
    if (slot == kNoChunkSlot) {
      ++refused_;
      continue;
    }
    site_.table.name(slot, chunk.id);
    site_.table.done(slot);
  }
}

void LmcacheRemote::end_get(const Job& job) {
  for (const ChunkCopy& chunk : job.chunks) {
    if (const ChunkSlot slot = site_.table.find(chunk.id); slot != kNoChunkSlot) {
      site_.table.touch(slot);
    }
    if (job.abandoned) site_.host.done(chunk.buffer);
  }
  if (!job.abandoned) site_.reader.on_read();
}

}  // namespace spillway

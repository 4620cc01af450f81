#include "models/engine/connectors/hicache/hicache.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- what is decided
// -----------------------------------------------------------------------------

void Hicache::write(RadixTree::Node node, std::uint32_t pages) {
  const Op op{Op::kWrite, node, pages};
  forming_ ? ops_.push_back(op) : submit_write(op, false);
}

void Hicache::start_loads() {
  if (pending_.empty()) return;
  ops_.push_back({Op::kLoad, 0, std::exchange(pending_pages_, 0)});
  loads_ = true;
}

void Hicache::end_forming(bool held) {
  forming_ = false;
  held_ = held;
  if (!held) go_on();
}

void Hicache::release() {
  if (!held_) return;
  held_ = false;
  go_on();
}

/// Carries out what was decided, as far as copies that it waits for have ended.
void Hicache::go_on() {
  for (; at_ < ops_.size(); ++at_) {
    const Op op = ops_[at_];
    switch (op.kind) {
      case Op::kWrite:
        submit_write(op, true);
        break;
      case Op::kFlush:
        if (awaited_ > 0) {
          if (!flushed_) ++counters_.flushes;
          flushed_ = true;
          return;
        }
        break;
      case Op::kLoad: {
        const std::uint32_t job = jobs_of_.take();
        jobs_of_[job].awaited = false;
        jobs_of_[job].written = 0;
        jobs_of_[job].locked.swap(pending_);
        pending_.clear();
        load_ = {};
        ++counters_.load_jobs;
        submit(Direction::kUp, job, op.pages);
        break;
      }
    }
  }
  ops_.clear();
  at_ = 0;
  if (flushed_) former_->on_formed(env_.queue.now());
  flushed_ = false;
}

void Hicache::submit_write(const Op& op, bool awaited) {
  const std::uint32_t job = jobs_of_.take();
  Job& j = jobs_of_[job];
  j.awaited = awaited;
  j.written = op.pages;
  j.locked.clear();
  if (!awaited) j.locked.push_back(op.node);
  ++counters_.store_jobs;
  if (awaited) ++awaited_;
  submit(Direction::kDown, job, op.pages);
}

void Hicache::submit(Direction direction, std::uint32_t job, std::uint32_t pages) {
  ++under_way_;
  path_->submit(direction, job, env_.config.block_bytes * std::int64_t{pages},
                pages * env_.config.copies_per_block);
}

// ---- what has ended
// ------------------------------------------------------------------------------

void Hicache::on_load_service(std::uint32_t /*job*/, bool begins) {
  if (begins && load_.start == kNever) load_.start = env_.queue.now();
}

void Hicache::on_transfer_done(Direction direction, std::uint32_t job) {
  --under_way_;
  if (direction == Direction::kUp) load_.end = env_.queue.now();
  if (jobs_of_[job].awaited && --awaited_ == 0) go_on();
  ended_.push_back(job);
  env_.waiter.on_transfer_progress();
}

void Hicache::acknowledge() {
  for (const std::uint32_t job : ended_) {
    const Job& j = jobs_of_[job];
    if (storage_ != nullptr && j.written > 0) storage_->back_up(j.locked.front(), j.written);
    for (const RadixTree::Node node : j.locked) tree_->unlock(node);
    jobs_of_.release(job);
  }
  ended_.clear();
  if (storage_ != nullptr) storage_->drain();
}

TierLevel Hicache::level(std::uint32_t tier) const {
  if (tier == 0) {
    const RadixTree::Counters& c = tree_->counters();
    return {c.written, c.dropped, static_cast<std::uint32_t>(c.written - c.dropped),
            static_cast<std::uint32_t>(tree_->host_used())};
  }
  return storage_->pages().level();
}

void Hicache::on_finished(Handle h, bool held) {
  if (storage_ != nullptr) storage_->pages().on_request_end();
  UnaskedConnector::on_finished(h, held);
}

void Hicache::on_withdrawn(const ActiveRequest&, Time) {
  if (storage_ != nullptr) storage_->pages().on_request_end();
}

void Hicache::report(EngineStats& stats) const {
  if (path_ == nullptr) return;
  stats.offload = counters_;
  stats.offload.no_room = tree_->counters().refused;
  if (storage_ != nullptr) storage_->pages().report(stats);
}

// ---- steps
// ---------------------------------------------------------------------------------------

Duration HicacheStep::begin_forward(const StepPlan&, Time now, Duration compute) {
  launch_ = now;
  compute_ = compute;
  loads_ = cache_.take_loads();
  told_ = late_ = false;
  return Duration(0);
}

/// Layer l begins when the one before has ended and its own piece, the l-th part of the load, is
/// there.
Time HicacheStep::forward_end() const {
  if (!loads_) return launch_ + compute_;
  const Hicache::Load& load = cache_.load();
  if (config_.load == LoadSemantics::kBlocking) return std::max(launch_, load.end) + compute_;
  const std::int64_t layers = config_.layers;
  const auto part = [layers](Duration whole, std::int64_t l) {
    const std::int64_t ns = whole.count();
    return Duration(ns / layers * l + ns % layers * l / layers);
  };
  Time done = launch_;
  for (std::int64_t l = 1; l <= layers; ++l) {
    const Time there = load.start + part(load.end - load.start, l);
    done = std::max(done, there) + part(compute_, l) - part(compute_, l - 1);
  }
  return done;
}

std::optional<Time> HicacheStep::new_end(Time now) {
  if (!told_) {
    if (loads_ && cache_.load().end == kNever) return std::nullopt;
    told_ = true;
    const Time end = forward_end();
    const Duration waited = end - launch_ - compute_;
    if (waited > Duration(0)) ++stalls_;
    stall_ += waited;
    return end;
  }
  if (!late_ || !cache_.formed()) return std::nullopt;
  late_ = false;
  return now;
}

/// The host, which forms the next batch, looks at this one's results when it has launched that.
bool HicacheStep::may_end() {
  cache_.release();
  late_ = !cache_.formed();
  return !late_;
}

void HicacheStep::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
}

}  // namespace spillway

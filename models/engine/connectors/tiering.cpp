#include "models/engine/connectors/tiering.hpp"

#include <algorithm>

#include "sim/error.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

struct Tiering::Tier final : private StorageListener {
  struct Result {
    BlockId chunk;
    bool found;
  };
  struct Batch {
    Time answered;
    std::uint32_t chunks;
  };
  Tier(Tiering& owner, const Environment& e, const SecondaryTierConfig& config)
      : owner_(owner),
        lookup(config.lookup),
        device(e.network.server(config.device.server), config.device, e.observer, *this),
        present(std::size_t{e.blocks} + 1),
        answers(std::size_t{e.blocks} + 1),
        askers(std::size_t{e.blocks} + 1) {}

  void on_read_service(std::uint32_t job, bool begins) override {
    owner_.tell(job, begins ? LoadEvent::kServed : LoadEvent::kPaused);
  }
  void on_storage_done(StorageOp, std::uint32_t job) override { owner_.job_ended(*this, job); }

  Tiering& owner_;
  Duration lookup;
  StorageDevice device;
  std::vector<bool> present;
  std::vector<Answer> answers;
  std::vector<std::uint32_t> askers;  ///< requests that keep the answer
  std::vector<BlockId> noted;         ///< asked for in this step
  RingQueue<Batch> batches;           ///< with the thread
  RingQueue<BlockId> asked;           ///< the chunks of these, in order
  Time thread_free{};
  std::vector<Result> results;       ///< not yet seen
  std::vector<std::uint32_t> ended;  ///< jobs, not yet seen
  std::vector<std::uint32_t> to_submit;
  SecondaryCounters counters;
};

Tiering::Tiering(const Environment& e, const std::vector<SecondaryTierConfig>& tiers)
    : queue_(e.queue),
      first_(e.first),
      waiter_(e.waiter),
      chunk_bytes_(e.chunk_bytes),
      pins_(e.first.capacity() + 1) {
  KV_ASSERT(tiers.size() <= 8, "{} tiers behind host memory", tiers.size());
  for (const SecondaryTierConfig& tier : tiers) {
    tiers_.push_back(std::make_unique<Tier>(*this, e, tier));
  }
}

Tiering::~Tiering() = default;

const SecondaryCounters& Tiering::counters(std::size_t tier) const {
  return tiers_[tier]->counters;
}
const StorageDevice& Tiering::device(std::size_t tier) const {
  return tiers_[tier]->device;
}
void Tiering::count(std::size_t tier, std::uint64_t queries, std::uint64_t hits) {
  tiers_[tier]->counters.queries += queries;
  tiers_[tier]->counters.hits += hits;
}

bool Tiering::idle() const {
  return !any_ended_ && jobs_.size() == free_jobs_.size() &&
         std::all_of(tiers_.begin(), tiers_.end(),
                     [](const auto& t) { return t->batches.empty() && t->device.idle(); });
}

// ---- look-up
// -------------------------------------------------------------------------------------

Tiering::Asker& Tiering::asker(RequestId request) {
  if (asker_of_.size() <= raw(request)) asker_of_.resize(raw(request) + 1);
  std::uint32_t& index = asker_of_[raw(request)];
  if (index == 0 && free_askers_.empty()) {
    askers_.emplace_back();
    index = static_cast<std::uint32_t>(askers_.size());
  } else if (index == 0) {
    index = free_askers_.back();
    free_askers_.pop_back();
  }
  return askers_[index - 1];
}

/// All tiers are asked in turn, even behind one whose answer is awaited, as upstream does.
Tiering::Verdict Tiering::look_up(const ChunkAt& at, Handle handle, const Access& access) {
  const auto [position, chunk] = at;
  Asker& who = asker(access.request);
  if (who.livelocked) return Verdict::kRetry;
  who.handle = handle;
  if (who.marks.size() <= position) {
    const std::size_t before = who.marks.capacity();
    who.marks.resize(position + 1);
    marks_claim_.grow((who.marks.capacity() - before) * sizeof(Mark));
  }
  Mark& mark = who.marks[position];
  mark.chunk = chunk;
  bool retry = false;
  for (std::uint32_t i = 0; i < tiers_.size(); ++i) {
    Tier& tier = *tiers_[i];
    Answer& answer = tier.answers[raw(chunk)];
    if (answer == Answer::kUnasked) {
      answer = Answer::kNoted;
      tier.noted.push_back(chunk);
    }
    if ((mark.asked >> i & 1) == 0) {
      mark.asked = static_cast<std::uint8_t>(mark.asked | 1U << i);
      ++tier.askers[raw(chunk)];
    }
    if (answer == Answer::kYes) {
      return promote(i, who, position, access) ? Verdict::kPending : Verdict::kMiss;
    }
    retry = retry || answer != Answer::kNo;
  }
  return retry ? Verdict::kRetry : Verdict::kMiss;
}

/// A slot of host memory for the chunk, whatever had to leave for it; false where none can be had.
bool Tiering::promote(std::uint32_t tier, Asker& who, std::uint32_t position,
                      const Access& access) {
  Tier& t = *tiers_[tier];
  Mark& mark = who.marks[position];
  if (!first_.make_room({&mark.chunk, 1}, {}, access)) {
    ++t.counters.promotion_failures;
    if (pinned_slots_ > 0) ++promotions_refused_;
    refused_in_step_ = true;
    return false;
  }
  if (++mark.promoted == kMostPromotions) {
    who.livelocked = true;
    ++livelocked_;
  }
  mark.source = static_cast<std::uint8_t>(tier + 1);
  ++t.counters.promoted_chunks;
  // One job for each request and tier in a step.
  const bool open = !t.to_submit.empty() && jobs_[t.to_submit.back()].request == access.request;
  const std::uint32_t job = open ? t.to_submit.back() : make_job(tier, true, access.request);
  if (!open) {
    jobs_[job].handle = who.handle;
    t.to_submit.push_back(job);
    t.counters.promoted_behind += position;
  }
  jobs_[job].slots.push_back(first_.begin_write(mark.chunk));
  return true;
}

std::uint32_t Tiering::source(RequestId request, std::uint32_t position) const {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return 0;
  const Asker& who = askers_[asker_of_[raw(request)] - 1];
  return position < who.marks.size() ? who.marks[position].source : 0;
}

void Tiering::on_load(RequestId request) {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return;
  Asker& who = askers_[asker_of_[raw(request)] - 1];
  for (Mark& mark : who.marks) mark.promoted = 0;
  if (who.livelocked) --livelocked_;
  who.livelocked = false;
}

void Tiering::forget(RequestId request) {
  if (asker_of_.size() <= raw(request) || asker_of_[raw(request)] == 0) return;
  Asker& who = askers_[asker_of_[raw(request)] - 1];
  for (const Mark& mark : who.marks) {
    for (std::uint32_t i = 0; i < tiers_.size(); ++i) {
      if ((mark.asked >> i & 1) == 0) continue;
      Tier& tier = *tiers_[i];
      Answer& answer = tier.answers[raw(mark.chunk)];
      // A question that is with the thread stays, so that others can share its answer.
      if (--tier.askers[raw(mark.chunk)] == 0 && answer != Answer::kAsked) {
        answer = Answer::kUnasked;
      }
    }
  }
  who.marks.clear();
  who.livelocked = false;
  free_askers_.push_back(asker_of_[raw(request)]);
  asker_of_[raw(request)] = 0;
}

// ---- transfers
// -----------------------------------------------------------------------------------

std::uint32_t Tiering::make_job(std::uint32_t tier, bool promotion, RequestId request) {
  auto job = static_cast<std::uint32_t>(jobs_.size());
  if (free_jobs_.empty()) {
    jobs_.emplace_back();
  } else {
    job = free_jobs_.back();
    free_jobs_.pop_back();
  }
  jobs_[job].tier = tier;
  jobs_[job].promotion = promotion;
  jobs_[job].request = request;
  jobs_[job].slots.clear();
  return job;
}

void Tiering::cascade(SlotSpan slots, RequestId request) {
  for (const SlotId slot : slots) pinned_slots_ += pins_[raw(slot)] == 0 ? 1 : 0;
  peak_pinned_slots_ = std::max(peak_pinned_slots_, pinned_slots_);
  for (std::uint32_t i = 0; i < tiers_.size(); ++i) {
    Tier& tier = *tiers_[i];
    first_.begin_read(slots);
    const std::uint32_t job = make_job(i, false, request);
    jobs_[job].slots.assign(slots.begin(), slots.end());
    std::int64_t fresh = 0;  // a file that exists is not written again
    for (const SlotId slot : slots) {
      ++pins_[raw(slot)];
      fresh += tier.present[raw(first_.block_in(slot))] ? 0 : 1;
    }
    SecondaryCounters& c = tier.counters;
    ++c.cascades;
    c.pinned += static_cast<std::uint32_t>(slots.size());
    c.peak_pinned = std::max(c.peak_pinned, c.pinned);
    if (fresh > 0) {
      tier.device.submit(StorageOp::kWrite, job, chunk_bytes_ * fresh);
    } else {
      tier.ended.push_back(job);
      any_ended_ = true;
    }
  }
}

void Tiering::on_store_refused(std::size_t chunks) {
  const std::size_t room = first_.room() + first_.evictable();
  if (pinned_slots_ > 0 && chunks <= room + pinned_slots_) ++stores_refused_;
}

void Tiering::end_job(std::uint32_t number, Time now) {
  Job& job = jobs_[number];
  Tier& tier = *tiers_[job.tier];
  const Access access{now, job.request};
  if (job.promotion) {
    first_.end_write(job.slots, access);
  } else {
    for (const SlotId slot : job.slots) {
      const std::size_t chunk = raw(first_.block_in(slot));
      if (!tier.present[chunk]) ++tier.counters.stored;
      tier.present[chunk] = true;
      if (--pins_[raw(slot)] == 0) --pinned_slots_;
    }
    tier.counters.pinned -= static_cast<std::uint32_t>(job.slots.size());
    first_.end_read(job.slots, access);
  }
  free_jobs_.push_back(number);
}

// ---- steps
// ---------------------------------------------------------------------------------------

void Tiering::begin_step(Time now) {
  if (begun_) return;
  begun_ = true;
  if (!any_ended_) return;
  any_ended_ = false;
  for (const auto& tier : tiers_) {
    for (const std::uint32_t job : tier->ended) end_job(job, now);
    tier->ended.clear();
    if (!tier->results.empty()) ++version_;
    for (const Tier::Result& result : tier->results) {
      const bool kept = tier->askers[raw(result.chunk)] > 0;
      tier->answers[raw(result.chunk)] = !kept          ? Answer::kUnasked
                                         : result.found ? Answer::kYes
                                                        : Answer::kNo;
    }
    tier->results.clear();
  }
}

void Tiering::end_step(Time now) {
  begin_step(now);
  begun_ = false;
  // A refusal is met, and counted, at every step: the same look-up must run again.
  if (refused_in_step_) ++version_;
  refused_in_step_ = false;
  for (std::uint32_t i = 0; i < tiers_.size(); ++i) {
    Tier& tier = *tiers_[i];
    for (const std::uint32_t job : tier.to_submit) {
      ++tier.counters.promotions;
      const auto chunks = static_cast<std::int64_t>(jobs_[job].slots.size());
      tell(job, LoadEvent::kSubmitted);
      tier.device.submit(StorageOp::kRead, job, chunk_bytes_ * chunks);
    }
    tier.to_submit.clear();
    std::uint32_t chunks = 0;
    for (const BlockId chunk : tier.noted) {
      // Whoever asked may be gone, or the chunk be here twice.
      if (tier.answers[raw(chunk)] != Answer::kNoted) continue;
      tier.answers[raw(chunk)] = Answer::kAsked;
      ++chunks;
      if (tier.lookup == Duration(0)) {
        tier.results.push_back({chunk, tier.present[raw(chunk)]});
        any_ended_ = true;
      } else {
        tier.asked.push_back(chunk);
      }
    }
    tier.noted.clear();
    if (chunks == 0 || tier.lookup == Duration(0)) continue;
    tier.thread_free = std::max(tier.thread_free, now) + tier.lookup * chunks;
    tier.batches.push_back({tier.thread_free, chunks});
    queue_.schedule(tier.thread_free, Phase::kTransferDone, *this, {0, 0, i});
  }
}

/// The thread of a tier has answered its oldest batch.
void Tiering::on_event(EventPayload payload) {
  Tier& tier = *tiers_[payload.subject];
  for (std::uint32_t i = 0; i < tier.batches.front().chunks; ++i) {
    const BlockId chunk = tier.asked.front();
    tier.results.push_back({chunk, tier.present[raw(chunk)]});
    tier.asked.pop_front();
  }
  tier.batches.pop_front();
  notify();
}

void Tiering::tell(std::uint32_t job, LoadEvent event) {
  waiter_.on_promotion(jobs_[job].handle, jobs_[job].request, event);
}

void Tiering::job_ended(Tier& tier, std::uint32_t job) {
  if (jobs_[job].promotion) tell(job, LoadEvent::kEnded);
  tier.ended.push_back(job);
  notify();
}

void Tiering::notify() {
  any_ended_ = true;
  waiter_.on_transfer_progress();
}

}  // namespace spillway

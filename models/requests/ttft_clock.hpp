// Where a request's time goes until its first token: one stage at any instant, so that the stages
// add up to that time exactly. Constant work for each change of state; it decides nothing.
//
// - kQueue: neither in a step nor waiting for a transfer of its own. It waits for its turn, for
//   blocks, for a place in the batch, for the step boundary at which a load that has ended is
//   noticed, for what other requests load or store, for answers of storage tiers, and from the
//   schedule to the begin of its step's worker part.
// - kLoadWait, kLoad: a load of its own, a promotion from storage included, has been submitted and
//   has not ended; kLoad while any station on the way serves any part of it, kLoadWait otherwise.
// - kStep: from the begin of the worker part of a step that computes its prompt to that step's end:
//   flushes, stalls and everybody else's tokens included. Where a step waits for the request's own
//   load before it computes (blocking loads, barriers), that wait is kLoadWait and kLoad. Where its
//   layers wait for their own pieces (layer-wise loads), all of it is kStep: copy and compute
//   overlap, and what is late lengthens the step.
// - kRecompute: from its first preemption on, all that it waits, loads included, and all steps that
//   begin below what it had computed before. A step that begins there or beyond is kStep again, and
//   so is what follows, until the next preemption. A step in flight when it is preempted remains
//   what it was.
#pragma once

#include <cstdint>
#include <vector>

#include "models/requests/transfer_waiter.hpp"
#include "sim/stage_watch.hpp"
#include "sim/ttft_stages.hpp"
#include "sim/units.hpp"

namespace spillway {

class TtftClock {
 public:
  /// It arrives. `marks`, where not null, takes the begin of each stage, and must stay until the
  /// clock is stopped.
  void start(Time now, std::vector<StageMark>* marks = nullptr) {
    *this = TtftClock();
    since_ = now;
    stopped_ = false;
    marks_ = marks;
    if (marks_ != nullptr) marks_->assign(1, {stage_, now});
  }
  /// Its first token is there.
  void stop(Time now) {
    advance(now);
    stopped_ = true;
  }

  void preempt(Time now) {
    advance(now);
    behind_ = true;
    change();
  }
  /// A step was scheduled that computes what had not been computed before.
  void catch_up() { behind_ = false; }
  /// The worker part of a step with tokens of it begins; `again`: it had computed them before.
  void begin_step(Time now, bool again) {
    advance(now);
    ++steps_;
    again_ = again;
    change();
  }
  void end_step(Time now) {
    advance(now);
    if (steps_ > 0) --steps_;
    change();
  }
  void on_load(LoadEvent event, Time now) { count(load_, event, now); }
  void on_promotion(LoadEvent event, Time now) { count(promotions_, event, now); }

  /// Once it is stopped: all of the time since its start.
  const TtftParts& parts() const { return parts_; }

 private:
  struct Transfers {
    std::uint16_t pending = 0;  ///< submitted, not ended
    std::uint16_t served = 0;   ///< of these, by some station
  };

  void advance(Time now) {
    if (stopped_) return;
    parts_[static_cast<std::size_t>(stage_)] += now - since_;
    since_ = now;
  }
  void change() {
    const TtftStage before = stage_;
    stage_ = stage();
    if (marks_ != nullptr && !stopped_ && stage_ != before) mark();
  }
  TtftStage stage() const {
    if (steps_ > 0) {
      if (again_) return TtftStage::kRecompute;
      return load_.pending > 0 ? loading() : TtftStage::kStep;
    }
    if (behind_) return TtftStage::kRecompute;
    return load_.pending + promotions_.pending > 0 ? loading() : TtftStage::kQueue;
  }
  /// Stages without length leave no mark.
  void mark() {
    if (marks_->back().since == since_) marks_->pop_back();
    if (marks_->empty() || marks_->back().stage != stage_) marks_->push_back({stage_, since_});
  }
  TtftStage loading() const {
    return load_.served + promotions_.served > 0 ? TtftStage::kLoad : TtftStage::kLoadWait;
  }
  void count(Transfers& transfers, LoadEvent event, Time now) {
    advance(now);
    switch (event) {
      case LoadEvent::kSubmitted:
        ++transfers.pending;
        break;
      case LoadEvent::kServed:
        ++transfers.served;
        break;
      case LoadEvent::kPaused:
        if (transfers.served > 0) --transfers.served;
        break;
      case LoadEvent::kEnded:
        if (transfers.pending > 0) --transfers.pending;
        break;
    }
    change();
  }

  TtftParts parts_{};
  Time since_{};
  std::vector<StageMark>* marks_ = nullptr;
  std::uint32_t steps_ = 0;  ///< whose worker parts have begun, and have not ended
  Transfers load_;
  Transfers promotions_;
  TtftStage stage_ = TtftStage::kQueue;
  bool behind_ = false;  ///< preempted, and not yet where it was
  bool again_ = false;   ///< the last step begun computes again
  bool stopped_ = true;
};

}  // namespace spillway

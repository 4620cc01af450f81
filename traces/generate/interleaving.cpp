#include "traces/generate/interleaving.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <limits>

namespace spillway {

namespace {

constexpr double kLatenessWeight = 0.02;  ///< of being late once over, against one more request
constexpr double kStartTolerance = 0.02;  ///< of all turns: what a session's start may be off
constexpr std::size_t kScales = 32;

struct Waiting {
  std::uint64_t last = 0;  ///< place of the turn before
  std::uint64_t step = 0;
  std::uint32_t session = 0;
  std::uint32_t turn = 0;
  std::uint64_t due() const { return last + step; }
};

/// Below 0 before its time, above from then on. A turn that has waited for long is hurt little by
/// one request more: so a late one does not break up the quick exchanges of others.
double urgency(double waited, double step) {
  if (waited < step) return waited / step - 1;
  return 1 / waited + kLatenessWeight * (waited / step - 1);
}

/// Turns whose steps have one order of magnitude.
class Scale {
 public:
  void add(const Waiting& waiting) {
    early_.push_back(waiting);
    std::push_heap(early_.begin(), early_.end(), later);
  }
  /// The turn that is most urgent at place `now`, where it is more so than `most`.
  bool offer(std::uint64_t now, double& most) {
    while (!early_.empty() && early_.front().due() <= now) {
      due_.push_back(pop_early());
    }
    choice_ = Choice::kNone;
    const auto consider = [&](const Waiting& w, Choice choice) {
      const double is = urgency(static_cast<double>(now - w.last), static_cast<double>(w.step));
      if (is <= most) return;
      most = is;
      choice_ = choice;
    };
    if (!due_.empty()) {
      consider(due_.front(), Choice::kOldest);
      consider(due_.back(), Choice::kNewest);
    } else if (!early_.empty()) {
      consider(early_.front(), Choice::kEarly);
    }
    return choice_ != Choice::kNone;
  }
  /// Removes the turn of the last offer.
  Waiting take() {
    if (choice_ == Choice::kEarly) return pop_early();
    const Waiting out = choice_ == Choice::kOldest ? due_.front() : due_.back();
    choice_ == Choice::kOldest ? due_.pop_front() : due_.pop_back();
    return out;
  }

 private:
  enum class Choice : std::uint8_t { kNone, kOldest, kNewest, kEarly };

  static bool later(const Waiting& a, const Waiting& b) {
    return a.due() != b.due() ? a.due() > b.due() : a.session > b.session;
  }
  Waiting pop_early() {
    std::pop_heap(early_.begin(), early_.end(), later);
    const Waiting out = early_.back();
    early_.pop_back();
    return out;
  }

  std::vector<Waiting> early_;  ///< a heap, by due
  std::deque<Waiting> due_;     ///< in the order in which they became due
  Choice choice_ = Choice::kNone;
};

}  // namespace

std::vector<InterleavedTurn> interleave(const std::vector<InterleavedSession>& sessions) {
  std::size_t turns = 0;
  for (const InterleavedSession& session : sessions) turns += 1 + session.steps.size();
  const double tolerance = 1 + kStartTolerance * static_cast<double>(turns);
  std::array<Scale, kScales> scales;
  std::vector<InterleavedTurn> out;
  std::uint32_t opened = 0;
  while (out.size() < turns) {
    const std::uint64_t now = out.size();
    double most = -std::numeric_limits<double>::infinity();
    if (opened < sessions.size()) {
      const double behind = static_cast<double>(now) - sessions[opened].start;
      most = urgency(behind + tolerance, tolerance);
    }
    Scale* best = nullptr;
    for (Scale& scale : scales) {
      if (scale.offer(now, most)) best = &scale;
    }
    Waiting next;
    if (best != nullptr) {
      next = best->take();
    } else {
      next.session = opened++;
    }
    const InterleavedSession& session = sessions[next.session];
    out.push_back({session.id, next.turn});
    if (next.turn < session.steps.size()) {
      const std::uint32_t step = std::max(1U, session.steps[next.turn]);
      const auto scale = static_cast<std::size_t>(std::bit_width(step) - 1);
      scales[scale].add({now, step, next.session, next.turn + 1});
    }
  }
  return out;
}

}  // namespace spillway

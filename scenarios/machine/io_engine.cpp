#include "scenarios/machine/io_engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>

#include "scenarios/machine/io_ring.hpp"
#include "scenarios/machine/mapping.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/machine/samples.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr double kPatience = 8;       ///< times `seconds`, for `least` operations
constexpr double kAskEvery_s = 0.02;  ///< whether to stop
constexpr std::size_t kBatches = 8;   ///< whose times say how steady it was
constexpr std::uint64_t kVerifyEvery = 64;
constexpr std::size_t kMostSamples = std::size_t{1} << 21;  ///< of one worker

struct Completion {
  double at_s;
  double latency_us;
};

/// What the workers of one load share.
struct Shared {
  Shared(const IoLoad& l, const BlockContent& c, const std::function<bool()>& s)
      : load(l), content(c), stop(s) {}

  const IoLoad& load;
  const BlockContent& content;
  const std::function<bool()>& stop;
  double start_s = 0;
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> ended{false};
  std::atomic<std::uint64_t> next{0};  ///< of the blocks that are taken in order
  std::vector<std::uint32_t> order;    ///< of the blocks, where none comes twice
  std::mutex mutex;
  std::string problem;
  bool no_space = false;

  void fail(const std::string& what, int error = 0) {
    const std::lock_guard lock(mutex);
    if (problem.empty()) problem = what;
    no_space = no_space || error == ENOSPC || error == EDQUOT || error == EFBIG;
    ended = true;
  }
};

/// One operation in flight: a buffer, and the next block that fits what the buffer holds.
class Slot {
 public:
  Slot(Shared& shared, std::byte* buffer, Stream& random) : shared_(shared), buffer_(buffer) {
    const IoLoad& load = shared.load;
    // The place modulo 1 MiB that this buffer's body is for.
    if (load.block < BlockContent::kPeriod) {
      const auto places = static_cast<std::uint64_t>(BlockContent::kPeriod / load.block);
      place_ = static_cast<std::int64_t>(random.below(places)) * load.block;
    }
    if (load.write) shared.content.fill(buffer, load.block, place_);
  }

  /// False when there is nothing left to do.
  bool next(Stream& random) {
    const IoLoad& load = shared_.load;
    if (load.begin >= 0) {
      const std::uint64_t index = shared_.next++;
      offset_ = load.begin + static_cast<std::int64_t>(index) * load.block;
      if (offset_ + load.block > load.extent) return false;
    } else if (load.once) {
      const std::uint64_t index = shared_.next++;
      if (index >= shared_.order.size()) return false;
      offset_ = static_cast<std::int64_t>(shared_.order[index]) * load.block;
    } else if (load.write && load.block < BlockContent::kPeriod) {
      const auto periods = static_cast<std::uint64_t>(load.extent / BlockContent::kPeriod);
      offset_ = static_cast<std::int64_t>(random.below(periods)) * BlockContent::kPeriod + place_;
    } else {
      const auto blocks = static_cast<std::uint64_t>(load.extent / load.block);
      offset_ = static_cast<std::int64_t>(random.below(blocks)) * load.block;
    }
    if (load.write) shared_.content.stamp(buffer_, load.block, offset_);
    begin_s_ = monotonic_s();
    return true;
  }

  /// Of an operation that ended with `result` bytes or -errno.
  Completion complete(std::int64_t result, std::uint64_t number) {
    const double now = monotonic_s();
    const IoLoad& load = shared_.load;
    if (result != load.block) {
      const int error = result < 0 ? static_cast<int>(-result) : 0;
      shared_.fail(error != 0 ? std::string(std::strerror(error))
                              : fmt::format("{} of {} bytes came", result, load.block),
                   error);
    } else if (!load.write) {
      const bool all = number % kVerifyEvery == 0;
      const bool right = all ? shared_.content.equals(buffer_, load.block, offset_)
                             : shared_.content.stamped(buffer_, offset_);
      if (!right) shared_.fail(fmt::format("at {}: read other than what was written", offset_));
    }
    return {now, (now - begin_s_) * 1e6};
  }

  std::byte* buffer() const { return buffer_; }
  std::int64_t offset() const { return offset_; }

 private:
  Shared& shared_;
  std::byte* buffer_;
  std::int64_t place_ = 0;
  std::int64_t offset_ = 0;
  double begin_s_ = 0;
};

/// One thread's part of a load.
class Worker {
 public:
  Worker(Shared& shared, std::uint32_t number, std::uint32_t qd)
      : shared_(shared),
        number_(number),
        random_(shared.load.seed, "calibrate-io", number),
        memory_(static_cast<std::int64_t>(qd) * shared.load.block) {
    for (std::uint32_t i = 0; i < qd; ++i) {
      slots_.emplace_back(shared, memory_.data() + i * shared.load.block, random_);
    }
  }

  void run(IoEngine engine) {
    try {
      if (engine == IoEngine::kUring) {
        run_uring();
      } else {
        run_pread();
      }
    } catch (const std::bad_alloc&) {
      shared_.fail("out of memory");
    }
  }
  const std::vector<Completion>& completions() const { return completions_; }

 private:
  /// Whether to submit another one.
  bool more() {
    if (shared_.ended) return false;
    const double now = monotonic_s();
    const double spent = now - shared_.start_s;
    if (number_ == 0 && shared_.stop && now - asked_s_ > kAskEvery_s) {
      asked_s_ = now;
      if (shared_.stop()) shared_.ended = true;
    }
    const IoLoad& load = shared_.load;
    if (spent >= load.seconds && (shared_.done >= load.least || spent >= kPatience * load.seconds))
      shared_.ended = true;
    return !shared_.ended;
  }

  void note(Slot& slot, std::int64_t result) {
    const Completion c = slot.complete(result, shared_.done++);
    if (completions_.size() < kMostSamples) completions_.push_back(c);
  }

  void run_pread() {
    Slot& slot = slots_.front();
    const auto bytes = static_cast<std::size_t>(shared_.load.block);
    while (more() && slot.next(random_)) {
      const ssize_t n = shared_.load.write
                            ? pwrite(shared_.load.fd, slot.buffer(), bytes, slot.offset())
                            : pread(shared_.load.fd, slot.buffer(), bytes, slot.offset());
      note(slot, n < 0 ? -errno : n);
    }
  }

  void run_uring() {
    IoRing ring(static_cast<std::uint32_t>(slots_.size()));
    if (ring.status() != 0) {
      shared_.fail(fmt::format("io_uring: {}", std::strerror(-ring.status())));
      return;
    }
    std::vector<std::size_t> idle(slots_.size());
    std::iota(idle.begin(), idle.end(), std::size_t{0});
    std::size_t in_flight = 0;
    bool exhausted = false;
    while (true) {
      bool queued = false;
      while (!idle.empty() && !exhausted && more()) {
        Slot& slot = slots_[idle.back()];
        if (!slot.next(random_)) {
          exhausted = true;
          break;
        }
        ring.queue({shared_.load.write, shared_.load.fd, slot.buffer(),
                    static_cast<std::uint32_t>(shared_.load.block),
                    static_cast<std::uint64_t>(slot.offset()), idle.back()});
        idle.pop_back();
        ++in_flight;
        queued = true;
      }
      if (queued) ring.submit();
      if (in_flight == 0) return;
      IoRing::Done done;
      if (const int status = ring.wait(done); status != 0) {
        if (status == -EINTR) continue;
        shared_.fail(fmt::format("io_uring: {}", std::strerror(-status)));
        return;
      }
      do {
        const auto index = static_cast<std::size_t>(done.tag);
        note(slots_[index], done.result);
        idle.push_back(index);
        --in_flight;
      } while (ring.peek(done));
    }
  }

  Shared& shared_;
  std::uint32_t number_;
  Stream random_;
  Mapping memory_;
  std::vector<Slot> slots_;
  std::vector<Completion> completions_;
  double asked_s_ = 0;
};

/// Of the times that equally many operations took, one batch after the other.
double batch_variation(const std::vector<Completion>& sorted, double start_s) {
  std::vector<double> times;
  double from = start_s;
  const std::size_t size = sorted.size() / kBatches;
  for (std::size_t b = 0; size > 0 && b < kBatches; ++b) {
    const double to = sorted[(b + 1) * size - 1].at_s;
    times.push_back(to - from);
    from = to;
  }
  return variation(times);
}

std::vector<std::uint32_t> shuffled_blocks(const IoLoad& load) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(load.extent / load.block));
  std::iota(order.begin(), order.end(), 0U);
  Stream random(load.seed, "calibrate-io-order");
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

}  // namespace

std::string_view name_of(IoEngine engine) {
  return engine == IoEngine::kUring ? "io_uring" : "pread";
}

bool uring_permitted() {
  return IoRing(1).status() == 0;
}

IoOutcome run_io(IoEngine engine, const IoLoad& load, const BlockContent& content,
                 const std::function<bool()>& stop) {
  Shared shared(load, content, stop);
  if (load.once) shared.order = shuffled_blocks(load);
  // pread keeps one operation in flight per thread.
  const bool uring = engine == IoEngine::kUring;
  const std::uint32_t threads = uring ? load.jobs : load.jobs * load.qd;
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t t = 0; t < threads; ++t) {
    workers.push_back(std::make_unique<Worker>(shared, t, uring ? load.qd : 1));
  }
  shared.start_s = monotonic_s();
  run_together(threads, [&](std::size_t t) { workers[t]->run(engine); });

  std::vector<Completion> all;
  for (const auto& worker : workers) {
    all.insert(all.end(), worker->completions().begin(), worker->completions().end());
  }
  std::sort(all.begin(), all.end(),
            [](const Completion& a, const Completion& b) { return a.at_s < b.at_s; });
  IoOutcome out;
  out.operations = all.size();
  out.problem = shared.problem;
  out.no_space = shared.no_space;
  if (all.empty()) return out;
  out.seconds = all.back().at_s - shared.start_s;
  out.cv = batch_variation(all, shared.start_s);
  for (const Completion& c : all) out.latency_us.push_back(c.latency_us);
  std::sort(out.latency_us.begin(), out.latency_us.end());
  return out;
}

}  // namespace spillway

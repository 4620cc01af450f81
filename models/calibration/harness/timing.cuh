// How work on a device is timed: behind a gate, so that submitting it is not in the time, or with
// the host's clock; alone, or beside other work.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "models/calibration/harness/cuda_objects.cuh"
#include "models/calibration/harness/kernels.cuh"
#include "models/calibration/harness/statistics.hpp"

namespace spillway_harness {

/// A stream's queue is finite: more calls behind a closed gate could wait for it forever.
constexpr int kMostGatedCalls = 512;
constexpr std::uint64_t kGateLimitNs = 2'000'000'000;

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The time a cell may take, and its warm-up.
struct Limits {
  double limit_s = 0.25;
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  static constexpr double kWarmUpS = 0.05;
  static constexpr int kWarmUpBatches = 4;
};

/// A flag in pinned memory that spinning kernels wait for. Opened when it goes out of scope, so
/// that an error on the way leaves no kernel spinning.
class Gate {
 public:
  Gate() : memory_("host_alloc", 4096) {
    flag()[0] = 1;
    flag()[1] = 0;
  }
  ~Gate() {
    open();
    // After an error kernels may still look at the flag that is about to be freed.
    if (std::uncaught_exceptions() > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      (void)cudaDeviceSynchronize();
    }
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void close() { set(0); }
  void open() { set(1); }
  /// Makes `stream`, of the current device, wait.
  void hold(cudaStream_t stream) {
    int* const there = reinterpret_cast<int*>(memory_.on_device());
    spin<<<1, 1, 0, stream>>>(there, there + 1, kGateLimitNs);
    check_launch("start the gate");
  }
  /// Throws BadRequest when a kernel gave up: what was timed includes the wait.
  void expect_held() {
    if (flag()[1] == 0) return;
    flag()[1] = 0;
    throw BadRequest("gated: the copies were not queued within 2 s");
  }

 private:
  volatile int* flag() { return reinterpret_cast<volatile int*>(memory_.data()); }
  void set(int value) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    flag()[0] = value;
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  HostMemory memory_;
};

/// Work that is queued batch by batch; `batch` counts up, so that buffers can rotate.
using Enqueue = std::function<void(cudaStream_t stream, std::int64_t batch)>;

/// At least 4 batches and 50 ms; the seconds that one batch took, submission included. It comes
/// before any gate: a kernel's first launch loads it, which could wait for the one that spins.
inline double warm_up(const Stream& stream, const Enqueue& enqueue, std::int64_t& batch) {
  const double start = now_s();
  int done = 0;
  double spent = 0;
  do {
    for (int i = 0; i < Limits::kWarmUpBatches; ++i) enqueue(stream, batch++);
    stream.wait();
    done += Limits::kWarmUpBatches;
    spent = now_s() - start;
  } while (spent < Limits::kWarmUpS);
  return spent / done;
}

/// Microseconds per batch, in samples of `per_sample` batches behind the gate.
class GatedTimer {
 public:
  GatedTimer(Gate& gate, const Stream& stream, const Enqueue& enqueue)
      : gate_(gate), stream_(stream), enqueue_(enqueue) {}

  double sample(int per_sample) {
    gate_.close();
    gate_.hold(stream_);
    start_.record(stream_);
    for (int i = 0; i < per_sample; ++i) enqueue_(stream_, batch_++);
    end_.record(stream_);
    gate_.open();
    end_.wait();
    gate_.expect_held();
    return elapsed_us(start_, end_) / per_sample;
  }

  /// Warm-up, then samples as `limit_s` allows. `calls`: submissions that a batch takes.
  std::vector<double> run(double limit_s, int calls) {
    const double submitted_s = warm_up(stream_, enqueue_, batch_);
    const int most = std::max(1, kMostGatedCalls / calls);
    // The warm-up may have been bound by submission, so one sample shows how long a batch is.
    const SamplePlan first = plan_samples(submitted_s, limit_s, most);
    const double batch_s = sample(first.per_sample) * 1e-6;
    const SamplePlan plan = plan_samples(batch_s, limit_s, most);
    std::vector<double> out;
    for (int i = 0; i < plan.samples; ++i) out.push_back(sample(plan.per_sample));
    return out;
  }

 private:
  Gate& gate_;
  const Stream& stream_;
  const Enqueue& enqueue_;
  Event start_;
  Event end_;
  std::int64_t batch_ = 0;
};

/// One batch at a time, by the host's clock: from before its first call to the end of its last
/// copy; `submit_us` is the median time inside the calls.
struct UngatedTimes {
  std::vector<double> total_us;
  double submit_us = 0;
};
inline UngatedTimes time_ungated(const Stream& stream, const Enqueue& enqueue, double limit_s) {
  constexpr double kMost = 200;
  constexpr double kFewest = 5;
  std::int64_t batch = 0;
  const double batch_s = warm_up(stream, enqueue, batch);
  const int samples = static_cast<int>(std::clamp(limit_s / batch_s, kFewest, kMost));
  UngatedTimes out;
  std::vector<double> submit_us;
  for (int i = 0; i < samples; ++i) {
    const double start = now_s();
    enqueue(stream, batch++);
    submit_us.push_back(1e6 * (now_s() - start));
    stream.wait();
    out.total_us.push_back(1e6 * (now_s() - start));
  }
  out.submit_us = summary_of(submit_us).median;
  return out;
}

/// Something that goes on beside other things: batches of equal work on a stream of its own.
struct Party {
  int gpu = 0;
  int calls = 1;  ///< submissions per batch
  Enqueue enqueue;
  std::unique_ptr<Stream> stream;
  int repeats = 1;               ///< batches per round
  std::vector<double> alone_us;  ///< per batch
  std::vector<double> together_us;
};

/// Starts `parties` behind one gate and times each one's batches up to the moment at which the
/// first of them has no work left: so long all of them disturb each other. Microseconds per batch.
inline std::vector<double> run_round(Gate& gate, const std::vector<Party*>& parties,
                                     std::int64_t& batch) {
  struct Trace {
    std::vector<Event> events;  ///< opened, then the end of each batch
  };
  std::vector<Trace> traces(parties.size());
  gate.close();
  for (std::size_t p = 0; p < parties.size(); ++p) {
    Party& party = *parties[p];
    check(cudaSetDevice(party.gpu), "choose the device");
    for (int i = 0; i <= party.repeats; ++i) traces[p].events.emplace_back();
    gate.hold(*party.stream);
    traces[p].events[0].record(*party.stream);
    for (int i = 1; i <= party.repeats; ++i) {
      party.enqueue(*party.stream, batch++);
      traces[p].events[static_cast<std::size_t>(i)].record(*party.stream);
    }
  }
  gate.open();
  for (Party* party : parties) {
    check(cudaSetDevice(party->gpu), "choose the device");
    party->stream->wait();
  }
  gate.expect_held();
  std::vector<std::vector<double>> ends(parties.size());
  double first_idle = 1e300;
  for (std::size_t p = 0; p < parties.size(); ++p) {
    for (std::size_t i = 1; i < traces[p].events.size(); ++i) {
      ends[p].push_back(elapsed_us(traces[p].events[0], traces[p].events[i]));
    }
    first_idle = std::min(first_idle, ends[p].back());
  }
  std::vector<double> out;
  for (const std::vector<double>& own : ends) {
    std::size_t count = 1;
    while (count < own.size() && own[count] <= first_idle * (1 + 1e-6)) ++count;
    out.push_back(own[count - 1] / static_cast<double>(count));
  }
  return out;
}

/// Times each party alone and then all together, round by round, as `limit_s` allows.
inline void time_parties(Gate& gate, std::vector<Party>& parties, double limit_s) {
  constexpr double kRoundUs = 10'000;
  std::int64_t batch = 0;
  std::vector<Party*> all;
  double round_us = 0;
  for (Party& party : parties) {
    check(cudaSetDevice(party.gpu), "choose the device");
    party.stream = std::make_unique<Stream>();
    (void)warm_up(*party.stream, party.enqueue, batch);
    party.repeats = 2;
    const double us = std::max(0.5, run_round(gate, {&party}, batch)[0]);
    // An event follows each batch, so a batch is one call more.
    const double most = std::max(2, kMostGatedCalls / (party.calls + 1));
    party.repeats = static_cast<int>(std::clamp(kRoundUs / us, 2.0, most));
    round_us = std::max(round_us, us * party.repeats);
    all.push_back(&party);
  }
  // Equal durations: otherwise the shortest would leave the others alone too soon.
  const double rounds = limit_s * 1e6 / (round_us * (1.0 + static_cast<double>(parties.size())));
  const int count = static_cast<int>(std::clamp(rounds, 5.0, 20.0));
  for (int i = 0; i < count; ++i) {
    for (Party& party : parties) {
      party.alone_us.push_back(run_round(gate, {&party}, batch)[0]);
    }
    const std::vector<double> together = run_round(gate, all, batch);
    for (std::size_t p = 0; p < parties.size(); ++p) {
      parties[p].together_us.push_back(together[p]);
    }
  }
}

}  // namespace spillway_harness

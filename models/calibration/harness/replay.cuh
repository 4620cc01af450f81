// Plays a schedule of transfers on the GPU at its times, and says when each really was.
#pragma once

#include <istream>
#include <string>
#include <thread>
#include <vector>

#include "models/calibration/harness/copies.cuh"

namespace spillway_harness {

struct Transfer {
  double submitted_us = 0;
  std::int64_t bytes = 0;
  std::int64_t copies = 1;
  bool to_device = true;
};

/// Reads all lines even where one is wrong, so that the next request is found.
inline std::vector<Transfer> read_transfers(std::istream& in, std::int64_t count) {
  std::vector<Transfer> out;
  std::string problem;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string line;
    if (!std::getline(in, line)) throw BadRequest("transfers: the input ended too soon");
    const std::vector<std::string> words = split(line, ' ');
    Transfer transfer;
    try {
      if (words.size() != 4 || (words[3] != "h2d" && words[3] != "d2h")) {
        throw BadRequest("transfers: expected `submitted_us bytes copies dir`");
      }
      transfer.submitted_us = std::stod(words[0]);
      transfer.bytes = whole_number("transfers", words[1]);
      transfer.copies = whole_number("transfers", words[2]);
      transfer.to_device = words[3] == "h2d";
      if (transfer.bytes < 1 || transfer.copies < 1 || transfer.copies > transfer.bytes ||
          !(transfer.submitted_us >= 0) || transfer.submitted_us > 1e10) {
        throw BadRequest("transfers: out of range");
      }
    } catch (const std::exception& error) {
      if (problem.empty()) problem = std::string(error.what()) + ": \"" + line + "\"";
    }
    out.push_back(transfer);
  }
  if (!problem.empty()) throw BadRequest(problem);
  return out;
}

/// One direction: its arenas, its stream, and its copies at places drawn from the arenas.
class ReplayLane {
 public:
  ReplayLane(bool to_device, std::int64_t arena, std::uint64_t seed)
      : to_device_(to_device), host_("host_alloc", arena), device_(arena), draws_(seed) {
    std::fill_n(host_.data(), arena, static_cast<char>(1));
    check(cudaMemset(device_.data(), 1, static_cast<std::size_t>(arena)), "fill");
    check(cudaDeviceSynchronize(), "fill");
  }
  const Stream& stream() const { return stream_; }

  void enqueue(const Transfer& transfer, const std::string& api) {
    const std::int64_t each = transfer.bytes / transfer.copies;
    const std::int64_t slots = std::max<std::int64_t>(1, host_.bytes() / (each + 1));
    targets_.clear();
    sources_.clear();
    sizes_.clear();
    for (std::int64_t i = 0; i < transfer.copies; ++i) {
      // What does not divide is spread over the first copies, a byte each.
      const std::int64_t bytes = each + (i < transfer.bytes % transfer.copies ? 1 : 0);
      char* const host = host_.data() + draws_.below(slots) * each / 16 * 16;
      char* const device = device_.data() + draws_.below(slots) * each / 16 * 16;
      targets_.push_back(to_device_ ? device : host);
      sources_.push_back(to_device_ ? host : device);
      sizes_.push_back(static_cast<std::size_t>(bytes));
    }
    if (api == "memcpy_batch") {
      enqueue_batch();
      return;
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      check(cudaMemcpyAsync(targets_[i], sources_[i], sizes_[i],
                            to_device_ ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream_),
            "cudaMemcpyAsync");
    }
  }

 private:
  void enqueue_batch() {
#if CUDART_VERSION >= 12080
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    std::size_t from = 0;
#if CUDART_VERSION >= 13000
    check(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(),
                               &attributes, &from, 1, stream_),
          "cudaMemcpyBatchAsync");
#else
    std::size_t failed = 0;
    check(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(),
                               &attributes, &from, 1, &failed, stream_),
          "cudaMemcpyBatchAsync");
#endif
#else
    throw BadRequest("api: cudaMemcpyBatchAsync came with CUDA 12.8; this harness is older");
#endif
  }

  bool to_device_;
  HostMemory host_;
  DeviceMemory device_;
  Draws draws_;
  Stream stream_;
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

inline void replay(const Request& request, const Limits& limits, std::istream& in, Answer& answer) {
  const std::vector<Transfer> transfers =
      read_transfers(in, request.number("transfers", 1, 1 << 20));
  const auto gpu = static_cast<int>(request.number("gpu", 0, 63));
  const std::string api = request.text_or("api", "memcpy_async");
  if (api != "memcpy_async" && api != "memcpy_batch") {
    throw BadRequest("api: expected memcpy_async or memcpy_batch");
  }
  check(cudaSetDevice(gpu), "choose the device");
  std::int64_t largest = 0;
  for (const Transfer& t : transfers) largest = std::max(largest, t.bytes / t.copies + 1);
  // Copies of a transfer may overlap each other's places; only a single copy must fit.
  const std::int64_t arena =
      std::max(std::min(limits.memory_bytes / 4, std::int64_t{1} << 30) / 4096 * 4096,
               std::int64_t{1} << 20);
  if (2 * largest > arena) {
    throw BadRequest("memory_bytes: a copy of " + std::to_string(largest) + " bytes does not fit");
  }
  ReplayLane lanes[2] = {{false, arena, 1}, {true, arena, 2}};
  // Everything once, so that nothing is loaded or mapped during the replay.
  Transfer first = transfers.front();
  first.bytes = std::min<std::int64_t>(first.bytes, 1 << 20);
  first.copies = 1;
  for (ReplayLane& lane : lanes) {
    for (int i = 0; i < Limits::kWarmUpBatches; ++i) lane.enqueue(first, api);
    lane.stream().wait();
  }

  std::vector<Event> begins(transfers.size());
  std::vector<Event> ends(transfers.size());
  std::vector<double> submitted;
  const Event base;
  base.record(lanes[1].stream());
  base.wait();
  const double origin = now_s();
  double late_us = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers[i];
    for (double left = 1; left > 0;) {
      left = origin + 1e-6 * t.submitted_us - now_s();
      // Sleeping is not exact; the last stretch is waited for.
      if (left > 300e-6) std::this_thread::sleep_for(std::chrono::duration<double>(left - 200e-6));
    }
    submitted.push_back(1e6 * (now_s() - origin));
    late_us = std::max(late_us, submitted.back() - t.submitted_us);
    ReplayLane& lane = lanes[t.to_device ? 1 : 0];
    begins[i].record(lane.stream());
    lane.enqueue(t, api);
    ends[i].record(lane.stream());
  }
  for (const ReplayLane& lane : lanes) lane.stream().wait();
  std::vector<double> started;
  std::vector<double> ended;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    started.push_back(elapsed_us(base, begins[i]));
    // The short time is exact where the time since the origin, a float, is not.
    ended.push_back(started.back() + elapsed_us(begins[i], ends[i]));
  }
  answer.numbers("submitted_us", submitted).numbers("started_us", started);
  answer.numbers("ended_us", ended).number("late_us", late_us);
}

}  // namespace spillway_harness

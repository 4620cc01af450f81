// The API server between clients and engines: what a request and each chunk of an answer cost its
// processes, so that bursts and many streams queue there.
//
// A process has an event loop and a tokeniser. A request takes the loop's time, then the
// tokeniser's by its prompt, then a delay that keeps nobody busy; then the engine has it. What a
// step emits waits for the loop: one chunk for each request, in their order. Tokens that come while
// a chunk of the same request still waits go out with it (vllm/v1/engine/output_processor.py,
// RequestOutputCollector).
//
// The loop takes turns: up to kChunksInTurn chunks that wait, then one request. (vLLM hands the
// loop over after VLLM_V1_OUTPUT_PROC_CHUNK_SIZE outputs, vllm/v1/engine/async_llm.py.)
// The tokeniser is a thread of its own (vllm/utils/async_utils.py, AsyncMicrobatchTokenizer): a
// long prompt keeps other prompts waiting, not answers.
// Model: a request is handled in one piece; processes get requests in turn, whichever instance
// serves them.
//
// Observers behind it see clients' times: a request arrives when the server has it, its tokens
// when their chunk is written. Where no front end is given, nothing of this is there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/arrivals.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"
#include "sim/stage_watch.hpp"

namespace spillway {

struct FrontEndConfig {
  std::uint32_t processes = 1;
  Duration request{};       ///< of the loop, for a request on its way in
  Duration prompt_token{};  ///< of the tokeniser
  Duration delay{};         ///< from there to the engine
  Duration chunk{};         ///< of the loop, for a chunk on its way out

  /// It takes time at all.
  bool any() const { return std::max({request, prompt_token, delay, chunk}) > Duration(0); }
};

/// What it did, warm-up included.
struct FrontEndStats {
  Duration busy{};  ///< of all loops
  Duration span{};  ///< from the first request to the last chunk
  std::uint64_t chunks = 0;
  std::uint64_t tokens = 0;
};

class FrontEnd final : public EventHandler,
                       public RequestSink,
                       public RequestEndListener,
                       public TokenListener,
                       public StageWatch,
                       public Observer {
 public:
  static constexpr std::uint32_t kChunksInTurn = 128;

  /// Requests that arrive before `measure_from` are the warm-up's. `stages`: null, or who is told
  /// of stages.
  FrontEnd(EventQueue& queue, const Workload& workload, const FrontEndConfig& config,
           Time measure_from, Observer& observer, StageWatch* stages);

  /// Whom requests go to, and who hears of their ends; before the first comes.
  void connect(RequestSink& engines, RequestEndListener& clients) {
    engines_ = &engines;
    clients_ = &clients;
  }
  FrontEndStats stats() const;

  void submit(RequestId request, Time due) override;
  void on_event(EventPayload payload) override;

  // What engines tell.
  void on_token(RequestId request) override;
  void on_stages(std::span<const StageMark> stages) override;
  void on_request(const RequestRecord& record) override;
  void on_request_end(RequestId request) override;
  /// Gaps are those between chunks.
  void on_token_gap(Duration, std::uint32_t) override {}
  void on_step(const StepRecord& r) override { observer_.on_step(r); }
  void on_transfer(const TransferRecord& r) override { observer_.on_transfer(r); }
  void on_tier_change(const TierChange& c) override { observer_.on_tier_change(c); }
  void on_preemption(Time now, RequestId request) override {
    observer_.on_preemption(now, request);
  }
  void on_cold_decode(std::uint64_t millionths) override { observer_.on_cold_decode(millionths); }
  void on_needed_blocks(const NeededBlocks& n) override { observer_.on_needed_blocks(n); }

 private:
  enum class Kind : std::uint16_t { kLoop, kSubmit, kAnswered };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Process {
    RingQueue<RequestId> requests;  ///< that the loop has not handled
    RingQueue<RequestId> chunks;    ///< that it has not written
    RequestId handled{};            ///< the request under way
    bool handling = false;
    bool busy = false;  ///< or woken at this instant
    bool requests_turn = false;
    Time tokeniser_free{};
  };
  struct Passing {
    Time due{};
    Time arrival = kNever;
    Time first_chunk = kNever;
    Time last_chunk = kNever;
    std::uint32_t process = 0;
    std::uint32_t end = kNone;  ///< its place among ends_, once its last token waits
    bool chunk_waits = false;
  };
  /// An answer whose last chunk is not written yet.
  struct End {
    RequestRecord record;
    std::vector<StageMark> stages;
  };

  Passing& passing(RequestId request) { return passing_[raw(request)]; }
  void wake(std::uint32_t process);
  void turn(std::uint32_t process);
  void hand_on(Process& process);
  void write(RequestId request, Time now);
  void answered(RequestId request);
  RequestRecord as_clients_see(const RequestRecord& record) const;
  void add_marks(End& end) const;

  EventQueue& queue_;
  const Workload& workload_;
  FrontEndConfig config_;
  Time measure_from_;
  Observer& observer_;
  StageWatch* stage_watch_;
  RequestSink* engines_ = nullptr;
  RequestEndListener* clients_ = nullptr;
  std::vector<Process> processes_;
  std::vector<Passing> passing_;  ///< by request
  Slab<End> ends_;
  std::vector<StageMark> told_stages_;  ///< of the request whose end is told next
  std::uint32_t next_process_ = 0;
  Time first_arrival_ = kNever;
  Time last_chunk_{};
  FrontEndStats stats_;
};

}  // namespace spillway

#include "models/engine/connectors/level.hpp"

#include "sim/error.hpp"

namespace spillway {

namespace {

/// What engines share is named by all that there will ever be.
EvictionContext context_of(const Level::Environment& e, const LevelConfig& config) {
  EvictionContext context = e.context;
  if (config.shared) context.blocks = e.chunks;
  return context;
}

std::unique_ptr<BlockStore> store_of(const Level::Environment& e, const LevelConfig& config) {
  const BlockStore::Size size{config.capacity, e.chunks, true, config.rules.trim.time_to_live};
  return std::make_unique<BlockStore>(size, config.eviction, context_of(e, config));
}

std::unique_ptr<WriteAdmissionPolicy> admission_of(const Level::Environment& e,
                                                   const LevelConfig& config) {
  WriteAdmissionContext context;
  context.blocks = context_of(e, config).blocks;
  context.block_tokens = e.context.block_tokens;
  return config.write_admission.make(context);
}

}  // namespace

Level::Level(const Environment& e, const LevelConfig& config)
    : queue_(e.queue),
      listener_(e.listener),
      rules_(config.rules),
      global_(e.global),
      lookup_(config.lookup),
      own_(config.shared ? nullptr : store_of(e, config)),
      store_(config.shared ? e.shared->at(config.device.server, [&] { return store_of(e, config); })
                           : *own_),
      device_(e.network.server(config.device.server), config.device, e.observer, *this),
      admission_(admission_of(e, config)),
      answers_(std::size_t{e.context.blocks} + 1),
      askers_(std::size_t{e.context.blocks} + 1) {}

void Level::grow_blocks(std::uint32_t blocks) {
  if (!shared()) {
    store_.grow_blocks(blocks);
    if (admission_ != nullptr) admission_->grow(blocks);
  }
  answers_.resize(std::size_t{blocks} + 1);
  askers_.resize(std::size_t{blocks} + 1);
}

void Level::admit(std::vector<BlockId>& chunks, Time now, std::uint32_t writes_under_way) {
  if (admission_ == nullptr || chunks.empty()) return;
  verdicts_.resize(chunks.size());
  positions_.resize(chunks.size());
  WriteOffer offer;
  offer.now = now;
  offer.blocks = chunks;
  offer.positions = positions_;
  offer.jobs_in_flight = writes_under_way;
  admission_->decide(offer, verdicts_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (verdicts_[i] == WriteVerdict::kWrite) chunks[kept++] = chunks[i];
    ++counters.refused[static_cast<std::size_t>(verdicts_[i])];
  }
  chunks.resize(kept);
}

// ---- questions
// -----------------------------------------------------------------------------------

Level::Answer Level::ask(BlockId chunk) {
  Answer& answer = answers_[raw(chunk)];
  if (answer == Answer::kUnasked) {
    answer = Answer::kNoted;
    noted_.push_back(chunk);
  }
  return answer;
}

void Level::let_go(BlockId chunk) {
  Answer& answer = answers_[raw(chunk)];
  // A question that is with the thread stays, so that others can share its answer.
  if (--askers_[raw(chunk)] == 0 && answer != Answer::kAsked) answer = Answer::kUnasked;
}

bool Level::see_answers() {
  if (results_.empty()) return false;
  for (const Result& result : results_) {
    const bool kept = askers_[raw(result.chunk)] > 0;
    answers_[raw(result.chunk)] = !kept          ? Answer::kUnasked
                                  : result.found ? Answer::kYes
                                                 : Answer::kNo;
  }
  results_.clear();
  return true;
}

bool Level::submit_questions(Time now) {
  std::uint32_t chunks = 0;
  for (const BlockId chunk : noted_) {
    // Whoever asked may be gone, or the chunk be here twice.
    if (answers_[raw(chunk)] != Answer::kNoted) continue;
    answers_[raw(chunk)] = Answer::kAsked;
    ++chunks;
    if (lookup_ == Duration(0)) {
      results_.push_back({chunk, holds(name_of(chunk))});
    } else {
      asked_.push_back(chunk);
    }
  }
  noted_.clear();
  if (chunks == 0) return false;
  if (lookup_ == Duration(0)) return true;
  thread_free_ = std::max(thread_free_, now) + lookup_ * chunks;
  batches_.push_back({thread_free_, chunks});
  queue_.schedule(thread_free_, Phase::kTransferDone, *this, {0, 0, 0});
  return false;
}

/// The thread has answered its oldest batch.
void Level::on_event(EventPayload) {
  for (std::uint32_t i = 0; i < batches_.front().chunks; ++i) {
    const BlockId chunk = asked_.front();
    results_.push_back({chunk, holds(name_of(chunk))});
    asked_.pop_front();
  }
  batches_.pop_front();
  listener_.on_level_progress(kNoJob);
}

}  // namespace spillway

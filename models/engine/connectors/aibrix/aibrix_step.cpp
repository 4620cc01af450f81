#include "models/engine/connectors/aibrix/aibrix_step.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {
constexpr int kNanosInMilli = 6;  // power of ten
}  // namespace

void AibrixStep::connect(AibrixConnector& connector, std::unique_ptr<TransferPath> path) {
  connector_ = &connector;
  l2_ = connector.l2();
  path_ = std::move(path);
}

// ---- going on
// ------------------------------------------------------------------------------------

void AibrixStep::continue_at(Time at) {
  place_.queue.schedule(at, Phase::kStepStart, place_.rank, *this,
                        {static_cast<std::uint16_t>(Kind::kGoOn), 0, ++epoch_});
}

/// Whether that is now already.
bool AibrixStep::wait_until(Time at, At next) {
  at_ = next;
  if (at == place_.queue.now()) return true;
  continue_at(at);
  return false;
}

void AibrixStep::on_event(EventPayload payload) {
  if (static_cast<Kind>(payload.kind) == Kind::kLate) {
    if (payload.subject != reads_ || at_ != At::kReading) return;
    l2_->give_up_read();
    connector_->count_late(g_);
    at_ = At::kLate;
  } else {
    if (payload.subject != epoch_) return;
    if (at_ == At::kCompute) at_ = At::kStoreRequest;
  }
  go_on();
  if (at_ == At::kOver) end_ = place_.queue.now();
  if (at_ == At::kCompute || at_ == At::kOver) place_.waiter.on_step_progress();
}

void AibrixStep::on_l2_read() {
  at_ = At::kArrived;
  continue_at(place_.queue.now());
}

/// As far as it can at this instant.
void AibrixStep::go_on() {
  while (at_ != At::kCompute && at_ != At::kOver) {
    if (l2_ != nullptr && !l2_->written()) return;
    if (!move()) return;
  }
}

/// One move; false where it waits.
bool AibrixStep::move() {
  return at_ < At::kCompute ? move_load() : move_store();
}

void AibrixStep::load(const StepPlan&, const StepTransfers&, Time now) {
  began_ = now;
  item_ = 0;
  at_ = At::kLoadRequest;
  for (const AibrixItem& item : connector_->items()) {
    if (!is_long(item)) continue;
    connector_->request(item.request).clock.on_load(LoadEvent::kSubmitted, now);
  }
  go_on();
}

const StepPlan& AibrixStep::left_of(const StepPlan& plan) {
  left_.items = plan.items;
  for (const AibrixItem& item : connector_->items()) {
    const std::uint32_t saved = item.brought - (item.brought == item.tokens ? 1 : 0);
    left_.items[item.place].computed += saved;
    left_.items[item.place].tokens -= saved;
  }
  return left_;
}

/// Where nothing can be stored the step ends with its compute.
Duration AibrixStep::begin_forward(const StepPlan&, Time now, Duration compute) {
  if (now > began_) {
    ++stalls_;
    stall_ += now - began_;
  }
  item_ = 0;
  if (connector_->items().empty()) {
    at_ = At::kOver;
    end_ = now + compute;
  } else {
    continue_at(now + compute);
  }
  return Duration(0);
}

/// The blocks from chunk_ to `last`, at most as many as a chunk has; false if there are none.
bool AibrixStep::begins_chunk(std::uint32_t last) {
  if (chunk_ >= last) return false;
  const std::uint32_t most = connector_->config().aibrix.chunk_blocks(block());
  connector_->name(connector_->items()[item_].request, chunk_, std::min(last, chunk_ + most), ids_);
  h_ = g_ = 0;
  return true;
}

bool AibrixStep::asks_twice(std::size_t missing) const {
  return l2_ != nullptr &&
         connector_->config().aibrix.asks_twice(static_cast<std::uint32_t>(missing),
                                                static_cast<std::uint32_t>(ids_.size()));
}

bool AibrixStep::copy(Direction way, std::size_t blocks, At next) {
  at_ = next;
  const OffloadConfig& c = connector_->config();
  path_->submit(way, 0, c.block_bytes * static_cast<std::int64_t>(blocks),
                static_cast<std::uint32_t>(blocks) * c.copies_per_block);
  return false;
}

void AibrixStep::let_go_all() {
  for (const L1Buffer buffer : held_) connector_->l1().let_go(buffer);
  for (const L1Buffer buffer : buffers_) connector_->l1().let_go(buffer);
  held_.clear();
  buffers_.clear();
}

// ---- loads
// ---------------------------------------------------------------------------------------

bool AibrixStep::move_load() {
  switch (at_) {
    case At::kLoadRequest:
      return next_load();
    case At::kLoadChunk:
      return find_in_l1();
    case At::kBuffers: {
      const auto missing = static_cast<std::uint32_t>(ids_.size()) - h_;
      at_ = connector_->l1().take(missing, buffers_) > 0 ? At::kAsk : At::kLoadCopy;
      return true;
    }
    case At::kAsk:
      return ask_l2();
    case At::kAsked:
      return read_l2();
    case At::kLate:
      g_ = 0;
      for (const L1Buffer buffer : buffers_) connector_->l1().let_go(buffer);
      buffers_.clear();
      at_ = At::kLoadCopy;
      return true;
    case At::kArrived:
      return keep_read();
    case At::kLoadCopy:
      return copy_up();
    case At::kLoadCopied:
      return end_chunk();
    default:
      return false;  // kReading: until it arrives or is late
  }
}

bool AibrixStep::next_load() {
  const std::vector<AibrixItem>& items = connector_->items();
  while (item_ < items.size() && !is_long(items[item_])) ++item_;
  if (item_ == items.size()) {
    at_ = At::kCompute;
    return true;
  }
  const AibrixItem& item = items[item_];
  connector_->request(item.request).clock.on_load(LoadEvent::kServed, place_.queue.now());
  chunk_ = first_of(item);
  brought_ = 0;
  at_ = At::kLoadChunk;
  return true;
}

bool AibrixStep::find_in_l1() {
  AibrixItem& item = connector_->items()[item_];
  if (!begins_chunk(last_of(item))) {
    end_load();
    return true;
  }
  L1Cache& l1 = connector_->l1();
  while (h_ < ids_.size() && l1.has(ids_[h_])) held_.push_back(l1.get(ids_[h_++]));
  const bool resumed = connector_->request(item.request).preemptions > 0;
  connector_->count_lookup(0, resumed, ids_.size(), h_);
  at_ = asks_twice(ids_.size() - h_) ? At::kBuffers : At::kLoadCopy;
  return true;
}

bool AibrixStep::ask_l2() {
  const std::int64_t tokens = static_cast<std::int64_t>(ids_.size() - h_) * block();
  const Time now = place_.queue.now();
  deadline_ = now + Duration(ceil_times(tokens, connector_->config().aibrix.per_token_timeout_ms,
                                        kNanosInMilli));
  const Time answer = now + l2_->lookup();
  return answer > deadline_ ? wait_until(deadline_, At::kLate) : wait_until(answer, At::kAsked);
}

bool AibrixStep::read_l2() {
  const auto wanted = ids_from(h_).first(buffers_.size());
  g_ = l2_->leading(wanted);
  const AibrixItem& item = connector_->items()[item_];
  connector_->count_lookup(1, connector_->request(item.request).preemptions > 0, wanted.size(), g_);
  if (g_ == 0) {
    at_ = At::kLate;
    return true;
  }
  at_ = At::kReading;
  l2_->read(wanted.first(g_));
  place_.queue.schedule(deadline_, Phase::kStepStart, place_.rank, *this,
                        {static_cast<std::uint16_t>(Kind::kLate), 0, ++reads_});
  return false;
}

/// What has arrived enters L1.
bool AibrixStep::keep_read() {
  for (; buffers_.size() > g_; buffers_.pop_back()) connector_->l1().let_go(buffers_.back());
  for (std::uint32_t i = 0; i < g_; ++i) connector_->l1().put(ids_[h_ + i], buffers_[i]);
  at_ = At::kLoadCopy;
  return true;
}

bool AibrixStep::copy_up() {
  if (h_ + g_ > 0) return copy(Direction::kUp, h_ + g_, At::kLoadCopied);
  end_load();
  return true;
}

bool AibrixStep::end_chunk() {
  let_go_all();
  const AibrixItem& item = connector_->items()[item_];
  ActiveRequest& r = connector_->request(item.request);
  if (r.preemptions == 0) {
    r.cached_tokens[1] += h_ * block();
    if (g_ > 0) r.cached_tokens[2] += g_ * block();
    // What the first block has that was computed before is nobody's.
    if (brought_ == 0) r.cached_tokens[h_ > 0 ? 1 : 2] -= item.computed - chunk_ * block();
  }
  brought_ += h_ + g_;
  if (h_ + g_ == ids_.size()) {
    chunk_ += h_ + g_;
    at_ = At::kLoadChunk;
  } else {
    end_load();
  }
  return true;
}

void AibrixStep::end_load() {
  AibrixItem& item = connector_->items()[item_];
  if (brought_ > 0) {
    item.brought = brought_ * block() - (item.computed - first_of(item) * block());
  }
  TtftClock& clock = connector_->request(item.request).clock;
  clock.on_load(LoadEvent::kPaused, place_.queue.now());
  clock.on_load(LoadEvent::kEnded, place_.queue.now());
  ++item_;
  at_ = At::kLoadRequest;
}

// ---- stores
// --------------------------------------------------------------------------------------

bool AibrixStep::move_store() {
  switch (at_) {
    case At::kStoreRequest:
      return next_store();
    case At::kStoreChunk:
      return find_stored();
    case At::kStoreAsked:
      h_ += l2_->leading(ids_from(h_));
      at_ = At::kStoreTake;
      return true;
    case At::kStoreTake:
      return take_buffers();
    case At::kStoreCopy:
      return copy_down();
    default:
      return keep_stored();
  }
}

bool AibrixStep::next_store() {
  const std::vector<AibrixItem>& items = connector_->items();
  while (item_ < items.size() && items[item_].brought == items[item_].prompt) ++item_;
  if (item_ == items.size()) {
    at_ = At::kOver;
    return true;
  }
  chunk_ = (items[item_].computed + items[item_].brought) / block();
  at_ = At::kStoreChunk;
  return true;
}

bool AibrixStep::find_stored() {
  if (!begins_chunk(last_of(connector_->items()[item_]))) {
    ++item_;
    at_ = At::kStoreRequest;
    return true;
  }
  while (h_ < ids_.size() && connector_->l1().has(ids_[h_])) ++h_;
  if (!asks_twice(ids_.size() - h_)) {
    at_ = At::kStoreTake;
    return true;
  }
  return wait_until(place_.queue.now() + l2_->lookup(), At::kStoreAsked);
}

bool AibrixStep::take_buffers() {
  const auto missing = static_cast<std::uint32_t>(ids_.size()) - h_;
  if (missing > 0) {
    connector_->count_refused(missing - connector_->l1().take(missing, buffers_));
    at_ = At::kStoreCopy;
    return true;
  }
  chunk_ += h_;
  at_ = At::kStoreChunk;
  return true;
}

bool AibrixStep::copy_down() {
  if (!buffers_.empty()) return copy(Direction::kDown, buffers_.size(), At::kStoreCopied);
  ++item_;
  at_ = At::kStoreRequest;
  return true;
}

bool AibrixStep::keep_stored() {
  for (std::size_t i = 0; i < buffers_.size(); ++i) connector_->l1().put(ids_[h_ + i], buffers_[i]);
  let_go_all();
  chunk_ += static_cast<std::uint32_t>(ids_.size());
  at_ = At::kStoreChunk;
  return true;
}

bool AibrixStep::idle() const {
  return path_->idle() && (l2_ == nullptr || l2_->idle());
}

void AibrixStep::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
}

}  // namespace spillway

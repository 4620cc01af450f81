#include "models/engine/connectors/multi/multi_connector.hpp"

namespace spillway {

void MultiConnector::on_enqueue(Handle h) {
  for (const auto& part : parts_) part->on_enqueue(h);
}

/// get_num_new_matched_tokens(): the first that cannot tell ends it, and puts the request off.
MultiConnector::Lookup MultiConnector::look_up(const ActiveRequest& r, std::uint32_t local,
                                               const Access& access) {
  Lookup out{true, 0};
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const Lookup found = parts_[k]->look_up(r, local, access);
    if (!found.known) return {false, 0};
    if (out.blocks > 0 || found.blocks == 0) continue;
    out = found;
    chosen_[r.handle] = static_cast<std::uint8_t>(k);
  }
  return out;
}

std::uint64_t MultiConnector::version() const {
  return parts_[0]->version() + parts_[1]->version();
}

void MultiConnector::note_lookup(const ActiveRequest& r, std::uint32_t local) {
  for (const auto& part : parts_) part->note_lookup(r, local);
}

void MultiConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                     std::uint32_t external) {
  const std::uint8_t chosen = chosen_[r.handle];
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    parts_[k]->count_admission(r, local, k == chosen ? external : 0);
  }
}

/// All that is loaded stands under the first tier's name, which is the native one's.
void MultiConnector::attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) {
  parts_[chosen_[r.handle]]->attribute(r, local, external);
}

void MultiConnector::plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) {
  parts_[chosen_[h]]->plan_load(h, local, blocks);
}

void MultiConnector::plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) {
  parts_[1]->plan_stores(plan, now, transfers);  // leaves the transfers alone
  parts_[0]->plan_stores(plan, now, transfers);
}

void MultiConnector::on_finished(Handle h, bool held) {
  for (const auto& part : parts_) part->on_finished(h, held);
}

void MultiConnector::on_withdrawn(const ActiveRequest& r, Time now) {
  for (const auto& part : parts_) part->on_withdrawn(r, now);
}

bool MultiConnector::holds_finished() const {
  return parts_[0]->holds_finished() || parts_[1]->holds_finished();
}

std::span<const Handle> MultiConnector::let_go() {
  return parts_[1]->let_go();
}

void MultiConnector::on_gone(Handle h) {
  if (++gone_[h] < parts_.size()) return;
  gone_[h] = 0;
  requests_.recycle(h);
}

bool MultiConnector::poll(Time now) {
  const bool first = parts_[0]->poll(now);
  return parts_[1]->poll(now) || first;
}

bool MultiConnector::wants_step() const {
  return parts_[0]->wants_step() || parts_[1]->wants_step();
}

bool MultiConnector::idle() const {
  return parts_[0]->idle() && parts_[1]->idle();
}

TierLevel MultiConnector::level(std::uint32_t tier) const {
  const std::uint32_t first = parts_[0]->tiers();
  return tier < first ? parts_[0]->level(tier) : parts_[1]->level(tier - first);
}

void MultiConnector::report(EngineStats& stats) const {
  parts_[1]->report(stats);
  const OffloadCounters second = stats.offload;
  parts_[0]->report(stats);
  stats.offload.load_jobs += second.load_jobs;
  stats.offload.store_jobs += second.store_jobs;
}

void MultiConnector::grow_blocks(std::uint32_t blocks) {
  for (const auto& part : parts_) part->grow_blocks(blocks);
}

void MultiConnector::check_drained() const {
  for (const auto& part : parts_) part->check_drained();
}

}  // namespace spillway

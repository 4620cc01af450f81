#include "models/engine/connectors/tier_connector.hpp"

namespace spillway {

void TierConnector::count_admission(const ActiveRequest& r, std::uint32_t local,
                                    std::uint32_t external) {
  if (r.preemptions > 0) {
    counters_.hits_resumed += external;
    return;
  }
  counters_.queries += r.tokens() / env_.config.block_tokens - local;
  counters_.hits += external;
}

bool TierConnector::poll(Time now) {
  auto& stores = jobs_.ended(Direction::kDown);
  auto& loads = jobs_.ended(Direction::kUp);
  const bool any = !stores.empty() || !loads.empty();
  for (; !stores.empty(); stores.pop_front()) complete_store(stores.front(), now);
  for (; !loads.empty(); loads.pop_front()) complete_load(loads.front(), now);
  return any;
}

void TierConnector::complete_load(std::uint32_t job, Time now) {
  ActiveRequest& r = env_.requests[jobs_[job].request];
  tier_->end_read(jobs_[job].below, {now, r.id});
  r.loads = 0;
  r.load_done = r.state == RequestState::kLoading;
  recycle_if_gone(jobs_[job].request);
  jobs_.release(job);
}

void TierConnector::recycle_if_gone(Handle h) {
  const ActiveRequest& r = env_.requests[h];
  if (!r.offered || r.transfers_in_flight()) return;
  forget(r.id);
  env_.requests.recycle(h);
}

}  // namespace spillway

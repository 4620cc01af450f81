#include "models/tier/storage_server.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// The bytes of a drive, one task at a time.
/// Model: media that hold a write up leave the cache's level as if it had gone at the full rate.
class DriveService final : public ServiceModel {
 public:
  DriveService(const EventQueue& queue, std::int64_t rate, WriteCache* cache)
      : queue_(queue), rate_(rate), cache_(cache) {}
  Service service(Bytes payload, std::uint32_t) override {
    return {Duration(0), cache_ == nullptr ? time_at_rate(payload, rate_)
                                           : cache_->write(queue_.now(), payload)};
  }

 private:
  const EventQueue& queue_;
  std::int64_t rate_;
  WriteCache* cache_;
};

}  // namespace

std::int64_t shared_part(std::int64_t total_rate, std::uint32_t others, std::uint32_t simulated) {
  if (total_rate == 0) return 0;
  const WideInt part = WideInt{total_rate} * simulated / (WideInt{simulated} + others);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(part));
}

std::int64_t client_share(const StorageLane& lane, std::uint32_t others, std::uint32_t simulated) {
  return lowest_rate({lane.client_rate, shared_part(lane.total_rate, others, simulated)});
}

StorageServer::StorageServer(EventQueue& queue, Fabric& fabric, const LaidMedia& media,
                             const StorageServerSpec& spec)
    : queue_(queue), fabric_(fabric), media_(media), spec_(spec.spec) {
  KV_ASSERT(spec.clients > 0, "storage without clients");
  if (spec_.write_cache) cache_.emplace(*spec_.write_cache, spec_.write.total_rate);
  for (const StorageOp op : {StorageOp::kRead, StorageOp::kWrite}) {
    const std::size_t i = index_of(op);
    shares_[i] = shared_part(lane(op).total_rate, spec.others, spec.clients);
    if (is_drive()) {
      KV_ASSERT(lane(op).total_rate > 0, "a drive without a rate");
      WriteCache* cache = op == StorageOp::kWrite && cache_ ? &*cache_ : nullptr;
      drive_[i] = fabric_.add_station(
          {std::make_unique<DriveService>(queue_, lane(op).total_rate, cache), 1, kNoLink});
    }
  }
  if (!is_drive()) lay_limits(spec.clients, spec.others);
}

/// What all simulated clients get with 1, 2, ... of their operations moving bytes, where each of
/// them stands for as many again of the others.
std::vector<std::int64_t> StorageServer::share_by_flows(const StorageLane& lane,
                                                        std::uint32_t clients,
                                                        std::uint32_t others) const {
  std::vector<std::int64_t> out;
  for (std::uint32_t n = 1; n <= lane.rate_by_flows.size(); ++n) {
    const auto flows = static_cast<std::uint32_t>(
        ceil_div(std::int64_t{n} * (clients + others), std::int64_t{clients}));
    out.push_back(shared_part(lane.total_rate_of(flows), others, clients));
  }
  if (out.empty()) out.push_back(shared_part(lane.total_rate, others, clients));
  return out;
}

void StorageServer::lay_limits(std::uint32_t clients, std::uint32_t others) {
  std::array<std::vector<std::int64_t>, 2> rates;
  for (const StorageOp op : {StorageOp::kRead, StorageOp::kWrite}) {
    if (shares_[index_of(op)] > 0) {
      rates[index_of(op)] = share_by_flows(lane(op), clients, others);
    }
  }
  const bool one = spec_.one_at_a_time && !rates[0].empty() && !rates[1].empty();
  if (!one) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!rates[i].empty()) limits_[i] = fabric_.add_medium(rates[i]);
    }
    return;
  }
  std::vector<std::int64_t> most(std::max(rates[0].size(), rates[1].size()));
  for (std::size_t n = 0; n < most.size(); ++n) {
    for (const auto& own : rates) most[n] = std::max(most[n], own[std::min(n, own.size() - 1)]);
  }
  both_ = fabric_.add_medium(most);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] != most) limits_[i] = fabric_.add_medium(rates[i]);
  }
}

std::vector<Hop> StorageServer::hops(StorageOp op, StationId slots, std::vector<MediumId> media,
                                     std::span<const std::uint32_t> through) const {
  const bool write = op == StorageOp::kWrite;
  Hop moves{.station = slots, .media = std::move(media)};
  std::vector<Hop> out;
  if (is_drive()) {
    out.push_back({.station = slots});
    moves.station = drive_[index_of(op)];
  } else {
    for (const auto& limit : {both_, limits_[index_of(op)]}) {
      if (limit) moves.media.push_back(*limit);
    }
  }
  // What serves in order lies between client and server.
  const std::vector<Hop> way = media_.across(std::move(moves), through, write);
  out.insert(out.end(), way.begin(), way.end());
  return out;
}

}  // namespace spillway

// A client of Mooncake Store alone: the store, which several of them may share, and the ways there.
#include "models/engine/schedulers/mooncake_client.hpp"
#include "models/chains/local_chains.hpp"
#include "models/engine/families/mooncake_parts.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct MooncakeBase final : Assembly::Base {
  std::unique_ptr<ChunkedConfig> config;
  std::unique_ptr<MooncakeMaster> own;  ///< where nobody shares it
  std::unique_ptr<TransferPath> memory;
  std::unique_ptr<TierPort> ssd;
};

/// Recycles requests that are over; the store's clock stops after the last.
class ClientConnector final : public UnaskedConnector {
 public:
  ClientConnector(const OffloadConfig& config, RequestPool& requests, TransferWaiter& waiter,
                  MooncakeClock& clock)
      : UnaskedConnector(config, requests, waiter), clock_(clock) {}
  std::uint32_t tiers() const override { return 0; }
  TierLevel level(std::uint32_t) const override { return {}; }
  void report(EngineStats&) const override {}
  void on_withdrawn(const ActiveRequest&, Time) override { clock_.on_request_end(); }

 private:
  MooncakeClock& clock_;
};

}  // namespace

MooncakeParts mooncake_parts(const Site& site, const EngineParts& parts,
                             std::span<const ChunkTierConfig> tiers, const InstantOrder& order,
                             std::uint32_t number, std::unique_ptr<MooncakeMaster>& own) {
  KV_ASSERT(parts.things != nullptr && !tiers.empty(), "a client without a store");
  SharedThings& things = *parts.things;
  auto& settlement =
      things.at<Settlement>(0, [&] { return std::make_unique<Settlement>(site.queue, order); });
  auto& clock = things.at<MooncakeClock>(
      0, [&] { return std::make_unique<MooncakeClock>(site.queue, site.workload.size(), order); });
  const auto make = [&] {
    const bool ssd = tiers.size() > 1;
    const MooncakeStore::Size size{site.chains.most_blocks(), tiers[0].capacity,
                                   ssd ? tiers[1].capacity : Bytes(0)};
    return std::make_unique<MooncakeMaster>(
        site.config.mooncake, size,
        MooncakeMaster::Place{site.queue, site.network, settlement, site.observer, clock, number},
        ssd ? &tiers[1].port : nullptr);
  };
  if (tiers[0].shared) {
    return {settlement, clock, things.at<MooncakeMaster>(tiers[0].number, make)};
  }
  own = make();
  return {settlement, clock, *own};
}

Assembly assemble_mooncake_client(const Site& site, EngineParts& parts) {
  KV_ASSERT(parts.chunked != nullptr, "a client without a store");
  auto base = std::make_unique<MooncakeBase>();
  base->config = std::move(parts.chunked);
  const std::vector<ChunkTierConfig>& tiers = base->config->tiers;
  const MooncakeParts store = mooncake_parts(site, parts, tiers, kAmongSteps, 1, base->own);
  auto client = std::make_unique<MooncakeClient>(MooncakeClient::Environment{
      site.queue, site.workload, site.chains.global(), site.requests, site.cost, site.waiter,
      store.settlement, store.clock, store.master, site.config.block_tokens,
      site.config.block_bytes, tiers[0].first});
  base->memory = make_host_path(site.queue, site.network.fabric(), site.network.media(),
                                std::move(base->config->lanes), site.observer, *client);
  if (tiers.size() > 1) {
    base->ssd = std::make_unique<TierPort>(site.network, tiers[1].port, store.settlement,
                                           site.queue, site.observer, client->port_listener());
  }
  client->attach(*base->memory, base->ssd.get());
  Assembly out;
  out.connector =
      std::make_unique<ClientConnector>(site.config, site.requests, site.waiter, store.clock);
  out.moves = std::make_unique<StepMoves>();
  out.scheduler = std::move(client);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway

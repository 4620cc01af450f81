// A client of Mooncake Store alone: the store, which several of them may share, and the ways there.
#include "models/engine/schedulers/mooncake_client.hpp"
#include "models/chains/local_chains.hpp"
#include "models/engine/engine_parts.hpp"
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

MooncakeMaster& master_of(const Site& site, const EngineParts& parts, Settlement& settlement,
                          MooncakeClock& clock, MooncakeBase& base) {
  const std::vector<ChunkTierConfig>& tiers = base.config->tiers;
  const auto make = [&] {
    const bool ssd = tiers.size() > 1;
    const MooncakeStore::Size size{site.chains.most_blocks(), tiers[0].capacity,
                                   ssd ? tiers[1].capacity : Bytes(0)};
    return std::make_unique<MooncakeMaster>(
        site.config.mooncake, size,
        MooncakeMaster::Place{site.queue, site.network, settlement, site.observer, clock},
        ssd ? &tiers[1].port : nullptr);
  };
  if (tiers[0].shared) return parts.things->at<MooncakeMaster>(tiers[0].number, make);
  base.own = make();
  return *base.own;
}

}  // namespace

Assembly assemble_mooncake_client(const Site& site, EngineParts& parts) {
  KV_ASSERT(parts.chunked != nullptr && parts.things != nullptr, "a client without a store");
  SharedThings& things = *parts.things;
  auto& settlement =
      things.at<Settlement>(0, [&] { return std::make_unique<Settlement>(site.queue); });
  auto& clock = things.at<MooncakeClock>(
      0, [&] { return std::make_unique<MooncakeClock>(site.queue, site.workload.size()); });
  auto base = std::make_unique<MooncakeBase>();
  base->config = std::move(parts.chunked);
  MooncakeMaster& master = master_of(site, parts, settlement, clock, *base);
  const std::vector<ChunkTierConfig>& tiers = base->config->tiers;
  auto client = std::make_unique<MooncakeClient>(MooncakeClient::Environment{
      site.queue, site.workload, site.chains.global(), site.requests, site.cost, site.waiter,
      settlement, clock, master, site.config.block_tokens, site.config.block_bytes,
      tiers[0].first});
  base->memory = make_host_path(site.queue, site.network.fabric(), site.network.media(),
                                std::move(base->config->lanes), site.observer, *client);
  if (tiers.size() > 1) {
    base->ssd = std::make_unique<TierPort>(site.network, tiers[1].port, settlement, site.queue,
                                           site.observer, client->port_listener());
  }
  client->attach(*base->memory, base->ssd.get());
  Assembly out;
  out.connector = std::make_unique<ClientConnector>(site.config, site.requests, site.waiter, clock);
  out.moves = std::make_unique<StepMoves>();
  out.scheduler = std::move(client);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway

// Random topologies: media, ranks, drives and servers that several engines share. Every byte that
// is submitted arrives, none faster than the narrowest part of its way, and a run repeats.
#include <algorithm>
#include <map>

#include "models/tier/storage_path.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

/// The topology that a seed stands for, and what goes over it.
class RandomNetwork final : public EventHandler, public Observer {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed, "topology") {
    NetworkSpec spec;
    for (std::uint64_t i = 1 + below(4); i > 0; --i) {
      media_rates_.push_back(rate());
      spec.media.push_back({media_rates_.back(), link(), below(3) == 0});
      medium_links_.push_back(spec.media.back().link);
    }
    const auto engines = static_cast<std::uint32_t>(1 + below(4));
    for (std::uint64_t i = 1 + below(3); i > 0; --i) {
      spec.servers.push_back({storage(), engines, static_cast<std::uint32_t>(below(3))});
    }
    servers_ = spec.servers;
    network_ = std::make_unique<Network>(queue_, spec, *this);
    for (std::uint32_t i = 0; i < engines; ++i) add_engine();
    Duration at{0};
    for (int i = 0; i < 300; ++i) {
      at += Duration(static_cast<std::int64_t>(below(2'000'000)));
      queue_.schedule(Time(at), Phase::kArrival, *this, {0, 0, static_cast<std::uint32_t>(i)});
    }
    jobs_.resize(300);
  }

  std::vector<std::int64_t> run() {
    while (queue_.step()) {
    }
    std::vector<std::int64_t> out;
    for (const Job& job : jobs_) {
      REQUIRE(job.ended == 1);
      CHECK(job.at - job.submitted >= job.least);
      out.push_back(nanoseconds_of(job.at));
    }
    CHECK(network_->fabric().idle());
    CHECK(network_->fabric().in_flight() == 0);
    for (const auto& engine : engines_) CHECK(engine->path->idle());
    // Every byte on every link, media as well as lanes and devices.
    CHECK(told_ == expected_);
    Bytes moved(0);
    for (std::uint32_t i = 0; i < servers_.size(); ++i) {
      moved += network_->server(i).wear().read + network_->server(i).wear().written;
    }
    CHECK(moved == storage_bytes_);
    return out;
  }

 private:
  struct Lane {
    std::int64_t rate = 0;
    std::uint32_t link = 0;
    std::vector<std::uint32_t> through;
  };
  struct Job {
    Time submitted{};
    Time at{};
    Duration least{0};
    int ended = 0;
  };
  /// One engine's way: lanes of its ranks, a client of storage, or both in turn.
  struct Engine final : TransferListener {
    explicit Engine(RandomNetwork& n) : net(n) {}
    void on_transfer_done(Direction, std::uint32_t job) override {
      ++net.jobs_[job].ended;
      net.jobs_[job].at = net.queue_.now();
    }
    RandomNetwork& net;
    std::unique_ptr<TransferPath> path;
    std::array<std::vector<Lane>, 2> lanes;  ///< by direction, of each rank; none: directly
    std::vector<Lane> devices;               ///< read and write of each client, if storage
    bool stored_once = false;
  };

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  std::int64_t rate() { return static_cast<std::int64_t>(1 + below(30)) * kGiga; }
  std::uint32_t link() { return links_++; }
  std::vector<std::uint32_t> some_media() {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < media_rates_.size(); ++i) {
      if (below(2) == 0) out.push_back(i);
    }
    return out;
  }
  StorageSpec storage() {
    StorageSpec spec;
    spec.kind = static_cast<StorageKind>(below(4));
    for (StorageLane* lane : {&spec.read, &spec.write}) {
      lane->total_rate = rate();
      if (spec.kind != StorageKind::kNvme && below(2) == 0) lane->client_rate = rate();
      const Duration least(static_cast<std::int64_t>(below(100'000)));
      lane->latency = {least, least * 2, least * 3, least * 9};
    }
    spec.slots = static_cast<std::uint32_t>(1 + below(16));
    spec.read_first = static_cast<std::uint32_t>(1 + below(spec.slots));
    spec.operation_bytes = Bytes(static_cast<std::int64_t>(20'000 + below(2'000'000)));
    spec.one_at_a_time = spec.kind == StorageKind::kKv && below(2) == 0;
    spec.whole_jobs = below(3) == 0;
    return spec;
  }
  Lane random_lane() {
    Lane out;
    out.rate = rate();
    out.link = link();
    out.through = some_media();
    return out;
  }
  static LaneSpec spec_of(const Lane& lane) {
    LaneSpec out;
    out.link = lane.link;
    out.model = make_affine_link(Duration(500), lane.rate);
    out.through = lane.through;
    out.duplex_factor = 0.8;
    return out;
  }

  void add_engine() {
    engines_.push_back(std::make_unique<Engine>(*this));
    Engine& e = *engines_.back();
    const auto ranks = static_cast<std::uint32_t>(1 + below(4));
    const bool stored = below(3) > 0;
    const bool direct = stored && below(3) == 0;
    e.stored_once = ranks > 1 && below(3) == 0;
    HostLanes host;
    host.stored_once = e.stored_once;
    for (std::uint32_t rank = 0; rank < ranks && !direct; ++rank) {
      e.lanes[0].push_back(random_lane());
      e.lanes[1].push_back(random_lane());
      host.ranks.push_back({spec_of(e.lanes[0].back()), spec_of(e.lanes[1].back())});
    }
    if (!stored) {
      e.path =
          make_host_path(queue_, network_->fabric(), network_->media(), std::move(host), *this, e);
      return;
    }
    StoragePathConfig config;
    const auto server = static_cast<std::uint32_t>(below(servers_.size()));
    for (std::uint32_t i = 0; i < (direct ? ranks : 1); ++i) {
      StorageClientConfig client{server, below(1000), link(), link(), some_media()};
      if (direct) client.own_rate = {rate(), rate()};
      for (const StorageOp op : {StorageOp::kRead, StorageOp::kWrite}) {
        const StorageServerSpec& s = servers_[server];
        const bool read = op == StorageOp::kRead;
        // A drive's limit is no part of others': it is one.
        const StorageLane& lane = read ? s.spec.read : s.spec.write;
        e.devices.push_back(
            {lowest_rate({lane.total_rate, lane.client_rate, client.own_rate[index_of(op)]}),
             read ? client.read_link : client.write_link, client.through});
      }
      config.clients.push_back(std::move(client));
    }
    config.copies = e.stored_once ? 1 : ranks;
    if (!direct) config.host = std::move(host);
    e.path = std::make_unique<StoragePath>(queue_, *network_, std::move(config), *this, e);
  }

  /// What `bytes` over `lane` add to the counts, and the least time that they take.
  Duration expect(const Lane& lane, Bytes bytes) {
    expected_[lane.link] += bytes.count();
    std::int64_t narrowest = lane.rate;
    for (const std::uint32_t i : lane.through) {
      expected_[medium_links_[i]] += bytes.count();
      narrowest = std::min(narrowest, media_rates_[i]);
    }
    return time_at_rate(bytes, narrowest);
  }

  void on_event(EventPayload payload) override {
    Job& job = jobs_[payload.subject];
    Engine& e = *engines_[below(engines_.size())];
    const auto direction = static_cast<Direction>(below(2));
    const Bytes bytes(static_cast<std::int64_t>(1 + below(6'000'000)));
    const std::size_t way = index_of(direction);
    const bool down = direction == Direction::kDown;
    job.submitted = queue_.now();
    const auto slowest = [&](const std::vector<const Lane*>& lanes, Bytes each) {
      Duration out{0};
      for (const Lane* lane : lanes) out = std::max(out, expect(*lane, each));
      return out;
    };
    std::vector<const Lane*> lanes;
    for (const Lane& lane : e.lanes[way]) {
      if (lanes.empty() || !down || !e.stored_once) lanes.push_back(&lane);
    }
    job.least = slowest(lanes, bytes);
    std::vector<const Lane*> devices;
    for (std::size_t i = down ? 1 : 0; i < e.devices.size(); i += 2) {
      if (devices.empty() || !down || !e.stored_once) devices.push_back(&e.devices[i]);
    }
    // By way of the host one client moves all parts.
    const std::size_t parts =
        e.lanes[way].empty() || e.stored_once ? 1 : std::max<std::size_t>(1, e.lanes[way].size());
    const Bytes each = bytes * static_cast<std::int64_t>(parts);
    job.least += slowest(devices, each);
    storage_bytes_ += each * static_cast<std::int64_t>(devices.size());
    e.path->submit(direction, payload.subject, bytes, static_cast<std::uint32_t>(1 + below(9)));
  }
  void on_transfer(const TransferRecord& r) override { told_[r.link] += r.payload.count(); }

  Stream random_;
  EventQueue queue_;
  std::uint32_t links_ = 0;
  std::vector<std::int64_t> media_rates_;
  std::vector<std::uint32_t> medium_links_;
  std::vector<StorageServerSpec> servers_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Job> jobs_;
  std::map<std::uint32_t, std::int64_t> told_;
  std::map<std::uint32_t, std::int64_t> expected_;
  Bytes storage_bytes_{0};
};

TEST_CASE("random networks lose nothing, outrun nothing and repeat themselves", "[models]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const std::vector<std::int64_t> once = RandomNetwork(seed).run();
    CHECK(RandomNetwork(seed).run() == once);
  }
}

}  // namespace
}  // namespace spillway::test

// What a transfer through the fabric costs: three hops, 1,000 transfers in flight.
//
//   build/bench/spillway_bench "[links]"    transfers a second of processor time, medians of 7
#include "models/link/fabric.hpp"
#include "models/link/link_model.hpp"
#include "sim/rng.hpp"
#include "tests/bench/processor_time.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using bench::median_s;

constexpr std::uint32_t kInFlight = 1000;
constexpr std::uint32_t kTransfers = 400'000;

/// A thousand clients, each sending its next transfer when one has arrived.
class Source final : public RouteListener {
 public:
  Source(Fabric& fabric, std::vector<RouteId> routes, bool mixed)
      : fabric_(fabric), routes_(std::move(routes)), mixed_(mixed) {}
  void start() {
    for (std::uint32_t i = 0; i < kInFlight; ++i) send(i);
  }
  void on_route_done(RouteId, std::uint32_t job) override {
    ++done_;
    if (sent_ < kTransfers) send(job);
  }
  std::uint32_t done() const { return done_; }

 private:
  void send(std::uint32_t job) {
    const std::int64_t blocks = mixed_ ? 1 + static_cast<std::int64_t>(rng_.below(64)) : 16;
    fabric_.submit(routes_[sent_++ % routes_.size()], job, 2_MiB * blocks, 16, *this);
  }

  Fabric& fabric_;
  std::vector<RouteId> routes_;
  bool mixed_;
  Stream rng_{1, "bench"};
  std::uint32_t sent_ = 0;
  std::uint32_t done_ = 0;
};

std::unique_ptr<ServiceModel> affine(std::int64_t gbs) {
  return make_link_service(make_affine_link(std::chrono::microseconds(10), gbs * 1'000'000'000));
}

/// Three stations, each with places for `slots`; with a medium at each where `shared`, held to
/// less than its flows could move.
double transfers_per_s(std::uint32_t slots, bool shared, bool mixed) {
  const double seconds = median_s(7, [&] {
    EventQueue queue;
    Observer none;
    Fabric fabric(queue);
    std::vector<Hop> hops(3);
    for (int i = 0; i < 3; ++i) {
      hops[static_cast<std::size_t>(i)].station = fabric.add_station({affine(20 + i), slots});
      if (shared) {
        hops[static_cast<std::size_t>(i)].media = {
            fabric.add_medium((100 + 10 * i) * std::int64_t{1'000'000'000})};
      }
    }
    Source source(fabric, {fabric.add_route(hops)}, mixed);
    source.start();
    while (queue.step()) {
    }
    CHECK(source.done() == kTransfers);
  });
  return kTransfers / seconds;
}

TEST_CASE("a transfer of three hops, 1,000 in flight", "[links]") {
  fmt::print("\n| stations | media | sizes | million transfers/s |\n|---|---|---|--:|\n");
  const auto row = [](const char* stations, const char* media, const char* sizes, double rate) {
    fmt::print("| {} | {} | {} | {:.2f} |\n", stations, media, sizes, rate / 1e6);
  };
  row("1 slot", "none", "equal", transfers_per_s(1, false, false));
  row("1 slot", "none", "mixed", transfers_per_s(1, false, true));
  row("64 slots", "none", "mixed", transfers_per_s(64, false, true));
  row("64 slots", "fair, 64 flows", "equal", transfers_per_s(64, true, false));
  row("64 slots", "fair, 64 flows", "mixed", transfers_per_s(64, true, true));
}

}  // namespace
}  // namespace spillway

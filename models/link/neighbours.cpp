#include "models/link/neighbours.hpp"

#include <algorithm>

#include "sim/rng.hpp"

namespace spillway {

namespace {
constexpr std::uint64_t kLongestDelay = 1'000'000'000;  // ns
}

void Neighbours::add(std::size_t lane, RouteId route) {
  // A client's number is its place in its lane: both lanes of a client share one delay.
  const auto number = static_cast<std::uint64_t>(
      std::count_if(clients_.begin(), clients_.end(),
                    [lane](const Client& client) { return client.lane == lane; }));
  Client client;
  client.lane = lane;
  client.route = route;
  client.delay =
      Duration(static_cast<std::int64_t>(Stream(seed_, "neighbour", number).below(kLongestDelay)));
  clients_.push_back(std::move(client));
}

void Neighbours::repeat(std::size_t lane, Bytes payload, std::uint32_t copies) {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (client.lane != lane) continue;
    client.coming.push_back({payload, copies});
    queue_.schedule(queue_.now() + client.delay, Phase::kArrival, *this, {0, 0, i});
  }
}

void Neighbours::on_event(EventPayload payload) {
  Client& client = clients_[payload.subject];
  const Transfer transfer = client.coming.front();
  client.coming.pop_front();
  fabric_.submit(client.route, payload.subject, transfer.payload, transfer.copies, *this);
}

}  // namespace spillway

// The first operation takes what it takes alone; the rest follow at the rate that the device
// reaches with as many of them in flight as it has slots.
#include "models/tier/storage_link.hpp"

#include <algorithm>
#include <cmath>

#include "models/tier/storage_device.hpp"

namespace spillway {

namespace {

class StorageReadLink final : public LinkModel {
 public:
  StorageReadLink(const StorageSpec& spec, std::uint32_t clients, std::unique_ptr<LinkModel> host,
                  std::uint32_t parts)
      : lane_(spec.read),
        slots_(spec.slots),
        operation_(spec.operation_bytes),
        parts_(parts),
        host_(std::move(host)) {
    lane_.total_rate = client_share(lane_, clients);
  }

  Duration service_time(Bytes payload, std::uint32_t copies) const override {
    const Bytes all = payload * std::int64_t{parts_};
    const Bytes piece = operation_ > Bytes(0) ? std::min(operation_, all) : all;
    const std::int64_t operations = ceil_div(all.count(), piece.count());
    Duration device = operation_time(lane_, piece);
    if (const Bytes rest = all - piece; rest > Bytes(0)) {
      const auto depth = static_cast<std::uint32_t>(std::min<std::int64_t>(operations, slots_));
      const double rate = rate_at_depth(lane_, piece, depth);
      device += at_most_longest(std::ceil(static_cast<double>(rest.count()) / rate * 1e9));
    }
    return host_ == nullptr ? device : device + host_->service_time(payload, copies);
  }
  BytesPerSecond capacity() const override {
    return BytesPerSecond(rate_at_depth(lane_, operation_, slots_));
  }

 private:
  StorageLane lane_;
  std::uint32_t slots_;
  Bytes operation_;
  std::uint32_t parts_;
  std::unique_ptr<LinkModel> host_;
};

}  // namespace

std::unique_ptr<LinkModel> make_storage_read_link(const StorageSpec& spec, std::uint32_t clients,
                                                  std::unique_ptr<LinkModel> host,
                                                  std::uint32_t copies) {
  return std::make_unique<StorageReadLink>(spec, clients, std::move(host), copies);
}

}  // namespace spillway

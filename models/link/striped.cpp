// A link of several NICs: latency + what the busiest of them carries / the rate of one.
#include <algorithm>
#include <memory>
#include <utility>

#include "models/link/link_model.hpp"

namespace spillway {

namespace {

class StripedLink final : public LinkModel {
 public:
  StripedLink(std::unique_ptr<LinkModel> nic, const Stripes& stripes)
      : nic_(std::move(nic)), stripes_(stripes) {}

  Duration service_time(Bytes payload, std::uint32_t copies) const override {
    const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t piece = up(payload.count(), copies);
    const std::int64_t slices = up(piece, stripes_.slice_bytes) * copies;
    const std::int64_t busiest = up(slices, stripes_.nics) * std::min(piece, stripes_.slice_bytes);
    return nic_->service_time(Bytes(std::min(payload.count(), busiest)), 1);
  }
  BytesPerSecond capacity() const override {
    return BytesPerSecond(nic_->capacity().value() * stripes_.nics);
  }

 private:
  std::unique_ptr<LinkModel> nic_;
  Stripes stripes_;
};

}  // namespace

std::unique_ptr<LinkModel> make_striped_link(Duration latency, std::int64_t bytes_per_second,
                                             const Stripes& stripes) {
  return std::make_unique<StripedLink>(make_affine_link(latency, bytes_per_second), stripes);
}

}  // namespace spillway

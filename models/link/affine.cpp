// A link by closed form: latency + bytes / bandwidth, rounded up to a nanosecond.
#include <memory>

#include "models/link/link_model.hpp"
#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

namespace {

class AffineLink final : public LinkModel {
 public:
  AffineLink(Duration latency, std::int64_t bytes_per_second)
      : latency_(latency), bytes_per_second_(bytes_per_second) {
    KV_ASSERT(bytes_per_second > 0, "a link of {} bytes/s", bytes_per_second);
  }
  Duration service_time(Bytes payload, std::uint32_t) const override {
    const WideInt rate = bytes_per_second_;
    const WideInt scaled = static_cast<WideInt>(payload.count()) * 1'000'000'000;
    return latency_ + at_most_longest((scaled + rate - 1) / rate);
  }
  BytesPerSecond capacity() const override {
    return BytesPerSecond(static_cast<double>(bytes_per_second_));
  }

 private:
  Duration latency_;
  std::int64_t bytes_per_second_;
};

}  // namespace

std::unique_ptr<LinkModel> make_constant_link(std::int64_t bytes_per_second) {
  return make_affine_link(Duration(0), bytes_per_second);
}

std::unique_ptr<LinkModel> make_affine_link(Duration latency, std::int64_t bytes_per_second) {
  return std::make_unique<AffineLink>(latency, bytes_per_second);
}

}  // namespace spillway

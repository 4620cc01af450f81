#include "models/tier/tail_latency.hpp"

#include "sim/error.hpp"

namespace spillway {

TailLatency::TailLatency(const LatencyQuantiles& quantiles) : quantiles_(quantiles) {
  KV_ASSERT(quantiles.p50 >= Duration(0) && quantiles.ascending(),
            "latency quantiles {} {} {} {} ns", quantiles.p50.count(), quantiles.p90.count(),
            quantiles.p99.count(), quantiles.p999.count());
}

Duration TailLatency::at(double u) const {
  const auto between = [u](double from, double to, Duration low, Duration high) {
    const double share = (u - from) / (to - from);
    const double ns = share * static_cast<double>((high - low).count());
    return low + Duration(static_cast<std::int64_t>(ns + 0.5));
  };
  const LatencyQuantiles& q = quantiles_;
  if (u <= 0.5) return q.p50;
  if (u < 0.9) return between(0.5, 0.9, q.p50, q.p90);
  if (u < 0.99) return between(0.9, 0.99, q.p90, q.p99);
  if (u < 0.999) return between(0.99, 0.999, q.p99, q.p999);
  return q.p999;
}

Duration TailLatency::draw(Stream& stream, std::uint32_t count) const {
  if (!quantiles_.varies()) return quantiles_.p50 * count;
  Duration sum{0};
  for (std::uint32_t i = 0; i < count; ++i) sum += at(stream.uniform());
  return sum;
}

double TailLatency::mean_ns() const {
  const auto ns = [](Duration d) { return static_cast<double>(d.count()); };
  const LatencyQuantiles& q = quantiles_;
  return 0.5 * ns(q.p50) + 0.4 * (ns(q.p50) + ns(q.p90)) / 2 + 0.09 * (ns(q.p90) + ns(q.p99)) / 2 +
         0.009 * (ns(q.p99) + ns(q.p999)) / 2 + 0.001 * ns(q.p999);
}

}  // namespace spillway

#include "models/tier/storage_spec.hpp"

#include <algorithm>
#include <cmath>

#include "models/tier/storage_kinds.hpp"
#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

StorageSpec default_storage(StorageKind kind) {
  switch (kind) {
    case StorageKind::kNvme:
      return nvme::spec();
    case StorageKind::kFs:
      return shared_fs::spec();
    case StorageKind::kObject:
      return object_store::spec();
    case StorageKind::kKv:
      return kv_server::spec();
  }
  return {};
}

std::vector<StorageSource> storage_sources(StorageKind kind) {
  switch (kind) {
    case StorageKind::kNvme:
      return nvme::sources();
    case StorageKind::kFs:
      return shared_fs::sources();
    case StorageKind::kObject:
      return object_store::sources();
    case StorageKind::kKv:
      return kv_server::sources();
  }
  return {};
}

StorageSpec direct_storage(StorageSpec spec, BytesPerSecond down, BytesPerSecond up) {
  const auto bound = [&](StorageLane& lane, BytesPerSecond link) {
    const auto most = static_cast<std::int64_t>(link.value());
    std::int64_t& rate = spec.kind == StorageKind::kNvme ? lane.total_rate : lane.client_rate;
    rate = lowest_rate({rate, most});
  };
  bound(spec.write, down);
  bound(spec.read, up);
  if (spec.write_cache) {
    spec.write_cache->sustained_rate =
        lowest_rate({spec.write_cache->sustained_rate, spec.write.total_rate});
  }
  return spec;
}

std::uint32_t default_chunk_tokens(StorageKind kind) {
  // llm-d's files and LMCache's chunks hold 256 tokens (llm-d-kv-cache v0.22 block_size, LMCache
  // chunk_size); engines read drives by their own blocks (KVBM, FlexKV).
  return kind == StorageKind::kNvme ? 0 : 256;
}

std::int64_t lowest_rate(std::initializer_list<std::int64_t> rates) {
  std::int64_t lowest = 0;
  for (const std::int64_t rate : rates) {
    if (rate > 0 && (lowest == 0 || rate < lowest)) lowest = rate;
  }
  return lowest;
}

Duration time_at_rate(Bytes bytes, std::int64_t rate) {
  if (rate == 0) return Duration(0);
  const WideInt scaled = static_cast<WideInt>(bytes.count()) * 1'000'000'000;
  return at_most_longest((scaled + rate - 1) / rate);
}

std::int64_t StorageLane::total_rate_of(std::uint32_t flows) const {
  if (rate_by_flows.empty()) return total_rate;
  return rate_by_flows[std::clamp<std::size_t>(flows, 1, rate_by_flows.size()) - 1];
}

Duration operation_time(const StorageLane& lane, Bytes bytes) {
  return lane.latency.p50 + time_at_rate(bytes, lowest_rate({lane.slot_rate, lane.client_rate,
                                                             lane.total_rate_of(1)}));
}

double rate_at_depth(const StorageLane& lane, Bytes bytes, std::uint32_t depth) {
  const Duration each = operation_time(lane, bytes);
  const std::int64_t limit = lowest_rate({lane.client_rate, lane.total_rate_of(depth)});
  const double most = limit == 0 ? 1e300 : static_cast<double>(limit);
  if (each == Duration(0)) return most;
  return std::min(most, depth * static_cast<double>(bytes.count()) / seconds_of(each));
}

std::uint32_t saturation_depth(const StorageLane& lane, Bytes bytes) {
  const std::int64_t limit = lowest_rate({lane.client_rate, lane.total_rate});
  if (limit == 0) return 0;
  const double in_flight = static_cast<double>(limit) * seconds_of(operation_time(lane, bytes));
  return static_cast<std::uint32_t>(
      std::max(1.0, std::ceil(in_flight / static_cast<double>(bytes.count()))));
}

}  // namespace spillway

#include "models/tier/write_cache.hpp"

#include <algorithm>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

WriteCache::WriteCache(const WriteCacheSpec& spec, std::int64_t rate) : spec_(spec), rate_(rate) {
  KV_ASSERT(spec.sustained_rate > 0 && spec.sustained_rate <= rate && spec.drain_rate >= 0,
            "a write cache at {} bytes/s before {} bytes/s", rate, spec.sustained_rate);
}

Bytes WriteCache::level_at(Time now) const {
  const Duration idle = std::max(Duration(0), now - idle_since_);
  const WideInt drained = static_cast<WideInt>(idle.count()) * spec_.drain_rate / 1'000'000'000;
  if (drained >= level_.count()) return Bytes(0);
  return level_ - Bytes(static_cast<std::int64_t>(drained));
}

Duration WriteCache::write(Time start, Bytes bytes) {
  level_ = level_at(start);
  const Bytes fast = std::min(bytes, std::max(Bytes(0), spec_.capacity - level_));
  level_ += fast;
  const Duration slow = time_at_rate(bytes - fast, spec_.sustained_rate);
  const Duration whole = time_at_rate(fast, rate_) + slow;
  slow_ += slow;
  idle_since_ = start + whole;
  return whole;
}

}  // namespace spillway

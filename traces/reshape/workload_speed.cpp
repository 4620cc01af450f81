#include "traces/reshape/workload_speed.hpp"

#include <utility>

namespace spillway {

namespace {

/// All other columns stay where they are, in the original.
class SpedStorage final : public WorkloadStorage {
 public:
  SpedStorage(Workload original, std::vector<std::int64_t> arrivals)
      : original_(std::move(original)), arrivals_(std::move(arrivals)) {}

  WorkloadColumns columns() const {
    WorkloadColumns out = original_.columns();
    out.arrival_ns = arrivals_;
    return out;
  }

 private:
  Workload original_;
  std::vector<std::int64_t> arrivals_;
};

}  // namespace

Workload at_speed(Workload workload, const Decimal& speed) {
  std::vector<std::int64_t> arrivals;
  arrivals.reserve(workload.size());
  for (const std::int64_t ns : workload.columns().arrival_ns) {
    arrivals.push_back(floor_divided(ns, speed));
  }
  WorkloadSource source = workload.source();
  auto storage = std::make_unique<SpedStorage>(std::move(workload), std::move(arrivals));
  const WorkloadColumns columns = storage->columns();
  return Workload(std::move(storage), columns, std::move(source));
}

}  // namespace spillway

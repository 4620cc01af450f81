#include "traces/reshape/sample_units.hpp"

#include <numeric>

namespace spillway {

namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

/// Requests joined into units, each known by its first request.
class UnitSets {
 public:
  explicit UnitSets(const Workload& workload) : parent_(workload.size()) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
    for (std::uint32_t r = 0; r < workload.size(); ++r) {
      references_.push_back(workload.chain(RequestId{r}).size());
    }
  }

  std::uint32_t find(std::uint32_t r) {
    for (; parent_[r] != r; r = parent_[r]) parent_[r] = parent_[parent_[r]];
    return r;
  }
  /// Does nothing where both together would have more than `most` references.
  void join(std::uint32_t a, std::uint32_t b, std::uint64_t most) {
    a = find(a);
    b = find(b);
    if (a == b || references_[a] + references_[b] > most) return;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    references_[a] += references_[b];
  }

 private:
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint64_t> references_;
};

void join_sessions(const Workload& workload, UnitSets& sets) {
  std::vector<std::uint32_t> first(workload.size(), kNoIndex);
  for (std::uint32_t r = 0; r < workload.columns().session.size(); ++r) {
    std::uint32_t& opening = first[workload.columns().session[r]];
    if (opening == kNoIndex) opening = r;
    sets.join(opening, r, kAny);
  }
}

void join_trees(const Workload& workload, std::uint64_t most, UnitSets& sets) {
  std::vector<std::uint64_t> within(workload.unique_blocks(), 0);  // references of the block's tree
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const auto chain = workload.chain(RequestId{r});
    for (const TraceBlockId id : chain) within[raw(id)] += chain.size();
  }
  std::vector<std::uint32_t> first(workload.unique_blocks(), kNoIndex);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    for (const TraceBlockId id : workload.chain(RequestId{r})) {
      if (within[raw(id)] > most) continue;
      if (first[raw(id)] == kNoIndex) first[raw(id)] = r;
      sets.join(first[raw(id)], r, most);
      break;  // what lies above the tree's root lies in the tree
    }
  }
}

}  // namespace

SampleUnits sample_units(const Workload& workload, std::uint64_t most_references) {
  UnitSets sets(workload);
  join_sessions(workload, sets);
  join_trees(workload, most_references, sets);
  SampleUnits out;
  std::vector<std::uint32_t> number(workload.size(), kNoIndex);
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    std::uint32_t& unit = number[sets.find(r)];
    if (unit == kNoIndex) unit = out.count++;
    out.of.push_back(unit);
  }
  return out;
}

}  // namespace spillway

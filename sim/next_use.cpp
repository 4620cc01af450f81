#include "sim/next_use.hpp"

#include "sim/error.hpp"

namespace spillway {

NextUse next_use(const Workload& workload, Atomicity atomicity) {
  const WorkloadColumns& columns = workload.columns();
  if (columns.chain.size() >= NextUse::kNever) {
    throw InputError(Fault::kIo, {workload.source().name, 0, ""},
                     "more than 2^32 - 2 references; the offline optimum looks no further");
  }
  NextUse out;
  out.chain_begin = columns.chain_begin;
  out.atomicity = atomicity;
  out.next.resize(columns.chain.size());
  std::vector<std::uint32_t> after(columns.unique_blocks, NextUse::kNever);
  for (std::uint32_t r = workload.size(); r-- > 0;) {
    const auto begin = static_cast<std::uint32_t>(columns.chain_begin[r]);
    const auto end = static_cast<std::uint32_t>(columns.chain_begin[r + 1]);
    if (atomicity == Atomicity::kReference) {
      for (std::uint32_t at = end; at-- > begin;) {
        std::uint32_t& following = after[raw(columns.chain[at])];
        out.next[at] = following;
        following = at;
      }
      continue;
    }
    for (std::uint32_t at = begin; at < end; ++at) out.next[at] = after[raw(columns.chain[at])];
    for (std::uint32_t at = end; at-- > begin;) after[raw(columns.chain[at])] = at;
  }
  return out;
}

}  // namespace spillway

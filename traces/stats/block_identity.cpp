#include "traces/stats/block_identity.hpp"

#include <algorithm>
#include <vector>

namespace spillway {

namespace {

/// Rows without ids get blocks of their own (reuse_model.hpp), of which only a note tells.
bool without_ids(const WorkloadSource& source) {
  return std::any_of(source.notes.begin(), source.notes.end(), [](const std::string& note) {
    return note.find(kNothingAboutPrefixes) != std::string::npos;
  });
}

}  // namespace

BlockIdentity block_identity(const Workload& workload) {
  const std::string& format = workload.source().format;
  if (format == "synthetic" || format == "benchmark") return BlockIdentity::kNamed;
  if (workload.references() == 0) return BlockIdentity::kNone;
  if (workload.size() < 2) return BlockIdentity::kNamed;
  constexpr std::uint32_t kUnseen = ~std::uint32_t{0};
  std::vector<std::uint32_t> first_use(workload.unique_blocks(), kUnseen);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    for (const TraceBlockId id : workload.chain(RequestId{i})) {
      std::uint32_t& first = first_use[raw(id)];
      if (first == kUnseen) first = i;
      if (first != i) return BlockIdentity::kNamed;
    }
  }
  return without_ids(workload.source()) ? BlockIdentity::kNone : BlockIdentity::kNeverRepeats;
}

std::string missing_identity(BlockIdentity identity) {
  switch (identity) {
    case BlockIdentity::kNamed:
      break;
    case BlockIdentity::kNone:
      return "The trace has no block identities, so prefix hits cannot be simulated.";
    case BlockIdentity::kNeverRepeats:
      return "No two requests of the trace share a block, so no cache can hit.";
  }
  return "";
}

std::string identity_to_record() {
  return "Record hash_ids: one id per 512 prompt tokens, equal for equal prefixes (format "
         "mooncake, "
         "traces/FORMATS.md). `spillway trace check FILE` then shows the reuse under \"prefix "
         "identity\". Without new records, workload.reuse assumes prefixes, e.g. "
         "shared-prefix:1000.";
}

}  // namespace spillway

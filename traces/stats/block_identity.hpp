// Whether a workload says which prompts share a prefix: without that no cache can be sized by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/workload.hpp"

namespace spillway {

/// In the note of a trace whose rows have no ids and were given blocks of their own
/// (reshape/reuse_model.cpp); a workload keeps nothing else of that.
inline constexpr std::string_view kNothingAboutPrefixes = "says nothing about prefixes";

enum class BlockIdentity : std::uint8_t {
  kNamed,         ///< some block is used by two requests
  kNone,          ///< no block is named at all (azure, burstgpt, rows without hash_ids)
  kNeverRepeats,  ///< every block is named once: ids are missing, or nothing is shared
};

/// Reads blocks until one comes back in a later request. Generated workloads and those of one
/// request count as kNamed: what they lack is not a matter of recording.
BlockIdentity block_identity(const Workload& workload);

/// Whether a cache can be sized by this workload.
inline bool names_blocks(const Workload& workload) {
  return block_identity(workload) == BlockIdentity::kNamed;
}

/// What is missing, one sentence; empty for kNamed.
std::string missing_identity(BlockIdentity identity);
/// What to record or to assume instead, in sentences.
std::string identity_to_record();

}  // namespace spillway

#include "policies/catalogue.hpp"

namespace spillway {

using Made = std::unique_ptr<EvictionPolicy>;
Made make_lru(const EvictionContext&, const Params&, const SourceRef&);
Made make_fifo(const EvictionContext&, const Params&, const SourceRef&);
Made make_belady(const EvictionContext&, const Params&, const SourceRef&);
Made make_arc(const EvictionContext&, const Params&, const SourceRef&);
Made make_vllm_arc(const EvictionContext&, const Params&, const SourceRef&);
Made make_wtinylfu(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kWtinylfuParams[3];

Made make_clock(const EvictionContext&, const Params&, const SourceRef&);
Made make_sieve(const EvictionContext&, const Params&, const SourceRef&);
Made make_slru(const EvictionContext&, const Params&, const SourceRef&);
Made make_lfu(const EvictionContext&, const Params&, const SourceRef&);
Made make_s3fifo(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kClockParams[1];
extern const ParamSpec kSlruParams[1];
extern const ParamSpec kS3FifoParams[4];
Made make_prefix_resident(const EvictionContext&, const Params&, const SourceRef&);
Made make_tail_pin(const EvictionContext&, const Params&, const SourceRef&);
Made make_session_budget(const EvictionContext&, const Params&, const SourceRef&);
Made make_composition(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kPrefixResidentParams[3];
extern const ParamSpec kTailPinParams[3];
extern const ParamSpec kSessionBudgetParams[1];
extern const ParamSpec kCompositionParams[5];

Made make_leaf_lru(const EvictionContext&, const Params&, const SourceRef&);
Made make_priority(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kPriorityParams[4];
Made make_lease(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kLeaseParams[3];
Made make_length_aware(const EvictionContext&, const Params&, const SourceRef&);
Made make_cost_aware(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kCostAwareParams[2];
Made make_workload_aware(const EvictionContext&, const Params&, const SourceRef&);
extern const ParamSpec kWorkloadAwareParams[1];

namespace {

constexpr PolicyNeeds kSessions = {.requests = true};

constexpr EvictionEntry kEviction[] = {
    {"lru", "Least recently released or used leaves first; a chain's tail dies before its head.",
     make_lru},
    {"fifo", "First stored leaves first, however often it is used.", make_fifo},
    {"belady",
     "Farthest next use leaves first: the offline optimum, for replays only.",
     make_belady,
     {},
     {.future = true}},
    {"arc", "Shares room between blocks used once and used again as returning victims teach it.",
     make_arc},
    {"vllm-arc",
     "ARC as vLLM's CPU tier has it, which is what arc means below an OffloadingConnector.",
     make_vllm_arc},

    {"clock", "First in, first out, with another round for what was used since the hand passed.",
     make_clock, kClockParams},
    {"sieve", "A hand over the order of arrival evicts what was not used since it last passed.",
     make_sieve},
    {"slru",
     "Several LRU segments: a use moves a block one up, the lowest one's oldest leaves first.",
     make_slru, kSlruParams},
    {"lfu", "Least often used since it was stored leaves first; among equals, least recently used.",
     make_lfu},
    {"s3fifo",
     "A small queue filters newcomers, a main queue spares what is used; ghosts come back.",
     make_s3fifo, kS3FifoParams},
    {"prefix-resident", "Chains' first tokens, and blocks that sessions share, leave last.",
     make_prefix_resident, kPrefixResidentParams, kSessions, true},
    {"tail-pin", "The last tokens of a session stay until it comes back or a time has passed.",
     make_tail_pin, kTailPinParams, kSessions, true},
    {"session-budget", "Sessions above their budget give first, the farthest above before others.",
     make_session_budget, kSessionBudgetParams, kSessions},
    {"composition", "Resident first tokens, pinned tails, LRU or session budgets between them.",
     make_composition, kCompositionParams, kSessions, true},

    {"leaf-lru", "Least recently used among blocks without a resident child, as SGLang.",
     make_leaf_lru},
    {"priority", "Lowest retention priority first, then LRU among leaves, as TensorRT-LLM.",
     make_priority, kPriorityParams},
    {"lease", "First lease to end first, soft-pinned blocks in a second pass, as Mooncake Store.",
     make_lease, kLeaseParams},
    {"length-aware", "Least used first, among equals what stands latest in requests (Mooncake).",
     make_length_aware},
    {"cost-aware", "GreedyDual-Size-Frequency: least uses times cost of recomputing, with ageing.",
     make_cost_aware, kCostAwareParams},
    {"workload-aware",
     "Least likely to be used again, learned by category and turn.",
     make_workload_aware,
     kWorkloadAwareParams,
     {.requests = true}},
    {"wtinylfu",
     "A small LRU window whose victims enter a segmented LRU only if used more often than its "
     "victim.",
     make_wtinylfu, kWtinylfuParams},
};

}  // namespace

std::span<const EvictionEntry> eviction_policies() {
  return kEviction;
}

template <>
EvictionChoice::PolicyChoice() : PolicyChoice(parse_eviction(kEviction[0].name, {})) {}

EvictionChoice parse_eviction(std::string_view text, const SourceRef& where) {
  return parse_policy(eviction_policies(), "eviction policy", text, where);
}

}  // namespace spillway

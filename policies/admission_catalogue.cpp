// The tables of admission policies: of requests to the server, of blocks to the tier below.
#include "policies/catalogue.hpp"

namespace spillway {

using MadeAdmission = std::unique_ptr<AdmissionPolicy>;
MadeAdmission make_gpu_only(const AdmissionContext&, const Params&, const SourceRef&);
MadeAdmission make_all_tiers(const AdmissionContext&, const Params&, const SourceRef&);
MadeAdmission make_queue_limit(const AdmissionContext&, const Params&, const SourceRef&);
MadeAdmission make_token_bucket(const AdmissionContext&, const Params&, const SourceRef&);
MadeAdmission make_slo(const AdmissionContext&, const Params&, const SourceRef&);

using MadeWrites = std::unique_ptr<WriteAdmissionPolicy>;
MadeWrites make_second_hit(const WriteAdmissionContext&, const Params&, const SourceRef&);
MadeWrites make_frequency(const WriteAdmissionContext&, const Params&, const SourceRef&);
MadeWrites make_min_depth(const WriteAdmissionContext&, const Params&, const SourceRef&);
MadeWrites make_back_pressure(const WriteAdmissionContext&, const Params&, const SourceRef&);

namespace {

using Kind = ParamSpec::Kind;

MadeAdmission admit_all(const AdmissionContext&, const Params&, const SourceRef&) {
  return nullptr;
}
MadeWrites write_all(const WriteAdmissionContext&, const Params&, const SourceRef&) {
  return nullptr;
}

constexpr double kMostTokens = 1e9;   // keeps a bucket within 63 bits of tokens x nanoseconds
constexpr double kMostSeconds = 1e6;  // eleven days
constexpr double kMostBlocks = 1e15;  // exact in a double

constexpr ParamSpec kGpuOnly[] = {
    {"share", "of the HBM pool that may be committed", 1, 1e-6, 1000},
};
constexpr ParamSpec kAllTiers[] = {
    {"share", "of the blocks of all tiers that may be committed", 1, 1e-6, 1000},
    {"cap_blocks", "blocks that may be committed, instead of a share", 0, 0, kMostBlocks,
     Kind::kWhole},
};
constexpr ParamSpec kQueueLimit[] = {
    {"max_queue", "requests that may wait", 0, 1, 1e9, Kind::kWhole, {}, {}, true},
    {"timeout_s", "longest wait to be taken up; 0: no limit", 0, 0, kMostSeconds},
};
constexpr ParamSpec kTokenBucket[] = {
    {"tokens_per_s", "rate", 0, 1, kMostTokens, Kind::kWhole, {}, {}, true},
    {"burst", "tokens in a full bucket; 0: those of one second", 0, 0, kMostTokens, Kind::kWhole},
    {"of", "tokens that count", 0, 0, 0, Kind::kText, "prompt", "prompt|all"},
};
constexpr ParamSpec kSlo[] = {
    {"ttft_ms", "longest predicted time to first token", 0, 1e-3, 1e9, Kind::kReal, {}, {}, true},
};

constexpr AdmissionEntry kAdmission[] = {
    {"always", "Every request enters and waits as long as it takes.", admit_all},
    {"gpu-only", "Admits while the sequences of all admitted requests fit HBM.", make_gpu_only,
     kGpuOnly},
    {"all-tiers", "Admits while the sequences of all admitted requests fit HBM and the tier below.",
     make_all_tiers, kAllTiers},
    {"queue-limit", "At most so many requests wait, and no longer than a time-out.",
     make_queue_limit, kQueueLimit},
    {"token-bucket", "Admits at a rate of tokens, with bursts.", make_token_bucket, kTokenBucket},
    {"slo", "Rejects early what cannot have its first token in time.", make_slo, kSlo},
};

constexpr ParamSpec kSecondHit[] = {
    {"threshold", "sightings it takes", 2, 1, 1e6, Kind::kWhole},
    {"tracker", "blocks whose sightings are remembered", 64'000, 1, 1e9, Kind::kWhole},
    {"count", "what is a sighting", 0, 0, 0, Kind::kText, "offers", "offers|lookups"},
};
constexpr ParamSpec kFrequency[] = {
    {"threshold", "count it takes", 2, 1, 1e6, Kind::kWhole},
    {"decay_s", "between decrements of every count", 600, 1e-3, kMostSeconds},
    {"entries", "blocks that may have a count", 1e6, 1, 1e9, Kind::kWhole},
};
constexpr ParamSpec kMinDepth[] = {
    {"tokens", "least depth", 0, 1, 1e9, Kind::kWhole, {}, {}, true},
    {"of", "whose depth", 0, 0, 0, Kind::kText, "block", "block|chain"},
};
constexpr ParamSpec kBackPressure[] = {
    {"max_jobs", "stores in flight", 0, 1, 1e6, Kind::kWhole, {}, {}, true},
    {"max_gib", "GiB in flight; 0: any", 0, 0, 1e6},
};

constexpr WriteAdmissionEntry kWriteAdmission[] = {
    {"always", "Every block that the tier does not hold is written.", write_all},
    {"second-hit", "Writes a block when it is offered, or looked up, for the second time.",
     make_second_hit, kSecondHit},
    {"frequency", "Writes blocks whose count, which doubles per offer and decays, is high enough.",
     make_frequency, kFrequency},
    {"min-depth", "Writes blocks that lie deep in their chain, or chains that are long.",
     make_min_depth, kMinDepth},
    {"back-pressure", "Writes nothing while too many stores are in flight.", make_back_pressure,
     kBackPressure},
};

}  // namespace

std::span<const AdmissionEntry> admission_policies() {
  return kAdmission;
}
std::span<const WriteAdmissionEntry> write_admission_policies() {
  return kWriteAdmission;
}

template <>
AdmissionChoice::PolicyChoice() : PolicyChoice(parse_admission(kAdmission[0].name, {})) {}
template <>
WriteAdmissionChoice::PolicyChoice()
    : PolicyChoice(parse_write_admission(kWriteAdmission[0].name, {})) {}

AdmissionChoice parse_admission(std::string_view text, const SourceRef& where) {
  return parse_policy(admission_policies(), "admission policy", text, where);
}
WriteAdmissionChoice parse_write_admission(std::string_view text, const SourceRef& where) {
  return parse_policy(write_admission_policies(), "write admission policy", text, where);
}

}  // namespace spillway

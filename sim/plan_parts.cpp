#include "sim/plan_parts.hpp"

namespace spillway {

std::string_view name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kFlag:
      return "flag";
    case ChangeKind::kTier:
      return "tier";
    case ChangeKind::kReplicas:
      return "replicas";
    case ChangeKind::kTensorParallel:
      return "tensor-parallel";
    case ChangeKind::kGpu:
      return "gpu";
    case ChangeKind::kShorter:
      return "shorter";
    case ChangeKind::kTrace:
      return "trace";
    case ChangeKind::kLonger:
      return "replication";
  }
  return "";
}

bool is_nothing(std::string_view size) {
  return size.starts_with('0') && size.find_first_of("123456789") == std::string_view::npos;
}

std::string_view name_of(AnswerCause cause) {
  switch (cause) {
    case AnswerCause::kFits:
      return "fits";
    case AnswerCause::kTierAddsNothing:
      return "tier-adds-nothing";
    case AnswerCause::kNotAdmitted:
      return "not-admitted";
    case AnswerCause::kStandstill:
      return "standstill";
    case AnswerCause::kNoIdentity:
      return "no-identity";
    case AnswerCause::kNotBinding:
      return "not-binding";
    case AnswerCause::kFloor:
      return "floor";
    case AnswerCause::kOverload:
      return "overload";
    case AnswerCause::kSetting:
      return "setting";
    case AnswerCause::kLink:
      return "link";
    case AnswerCause::kCapacity:
      return "capacity";
    case AnswerCause::kPolicy:
      return "policy";
    case AnswerCause::kCompute:
      return "compute";
    case AnswerCause::kAdmission:
      return "admission";
    case AnswerCause::kHbm:
      return "hbm";
    case AnswerCause::kShortTrace:
      return "short-trace";
    case AnswerCause::kClose:
      return "close";
    case AnswerCause::kBudget:
      return "budget";
  }
  return "";
}

std::string_view name_of(AnswerVerdict verdict) {
  switch (verdict) {
    case AnswerVerdict::kMet:
      return "met";
    case AnswerVerdict::kMissed:
      return "missed";
    case AnswerVerdict::kUndecided:
      return "undecided";
  }
  return "";
}

}  // namespace spillway

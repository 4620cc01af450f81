#include "scenarios/scenario/intake/manifest_kinds.hpp"

namespace spillway {

std::span<const ManifestKind> manifest_kinds() {
  static constexpr ManifestKind kKinds[] = {
      {"production-stack values", is_production_stack, surround_production_stack, nullptr},
      {"production-stack modelSpec", is_model_spec, nullptr, read_model_spec},
      {"KServe LLMInferenceService", is_llm_inference_service, nullptr, read_llm_inference_service},
      {"KServe InferenceService", is_predictor, nullptr, read_predictor},
      {"llm-d modelservice values", is_llmd_values, nullptr, read_llmd_values},
      {"DynamoGraphDeployment", is_dynamo_graph, surround_dynamo_graph, nullptr},
  };
  return kKinds;
}

}  // namespace spillway

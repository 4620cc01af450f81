// One row for each tool.
#pragma once

#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway {

/// GuideLLM (vllm-project/guidellm), synthetic data.
extern const BenchmarkTool kGuideLlm;
/// `vllm bench serve`, datasets random, prefix_repetition and sharegpt.
extern const BenchmarkTool kVllmBench;
/// inference-perf (kubernetes-sigs/inference-perf), shared prefixes.
extern const BenchmarkTool kInferencePerf;
/// SGLang's bench_multiturn (sgl-project/sglang), the benchmark of HiCache.
extern const BenchmarkTool kSglangMultiturn;
/// LMBenchmark (LMCache/LMBenchmark), synthetic multi-round QA.
extern const BenchmarkTool kLmBenchmark;
/// AIPerf (ai-dynamo/aiperf), synthetic prompts.
extern const BenchmarkTool kAiPerf;

}  // namespace spillway

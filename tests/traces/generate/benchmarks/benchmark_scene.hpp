// Requests of a benchmark tool, column by column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway::test {

inline std::vector<BenchmarkRequest> sent(const BenchmarkConfig& config) {
  return tool_of(config).requests(config);
}

template <class T>
std::vector<T> column(const std::vector<BenchmarkRequest>& requests, T BenchmarkRequest::*member,
                      std::size_t first) {
  std::vector<T> out;
  for (std::size_t i = 0; i < std::min(first, requests.size()); ++i) {
    out.push_back(requests[i].*member);
  }
  return out;
}

/// libm is not used: a gap may differ from Python's in its last bits.
inline bool within_ns(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                      std::int64_t most) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](std::int64_t x, std::int64_t y) { return std::abs(x - y) <= most; });
}

/// The key at fault; empty where nothing is.
inline std::string fault_key(const BenchmarkConfig& config) {
  const auto fault = fault_of(config);
  return fault ? std::string(fault->key) : "";
}

}  // namespace spillway::test

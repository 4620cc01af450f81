// Rows to a Workload: interns blocks and sessions, and checks what no single row can show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.hpp"
#include "traces/interner.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

class WorkloadBuilder {
 public:
  /// `name` is what errors call the source.
  WorkloadBuilder(std::string name, std::uint32_t block_tokens);

  /// Throws InputError (exit 3) when the row arrives before its predecessor.
  void add(const TraceRow& row);
  std::uint32_t size() const { return static_cast<std::uint32_t>(arrival_ns_.size()); }
  /// Throws InputError (exit 3) when there is no row. The builder is empty afterwards.
  Workload build(WorkloadSource source);

 private:
  std::string name_;
  std::uint32_t block_tokens_;
  Interner blocks_;
  Interner sessions_;
  bool any_session_ = false;
  std::vector<std::int64_t> arrival_ns_;
  std::vector<std::uint32_t> input_tokens_;
  std::vector<std::uint32_t> output_tokens_;
  std::vector<std::uint32_t> session_;
  std::vector<std::uint64_t> chain_begin_{0};
  std::vector<TraceBlockId> chain_;
};

}  // namespace spillway

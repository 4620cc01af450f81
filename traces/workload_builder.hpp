// Rows to a Workload: interns blocks, sessions and tenants, links each turn to the answers it
// waited for, and checks what no single row can show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/workload.hpp"
#include "traces/catalogue.hpp"
#include "traces/interner.hpp"
#include "traces/row_sequence.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

class WorkloadBuilder {
 public:
  /// `name` is what errors call the source.
  WorkloadBuilder(std::string name, std::uint32_t block_tokens, RowOrder order = RowOrder::kFile);

  /// Throws RowError as RowSequence::add() does; the builder is then as it was.
  void add(const TraceRow& row);
  std::uint32_t size() const { return static_cast<std::uint32_t>(arrival_ns_.size()); }
  /// Throws InputError (exit 3) when there is no row. Adds the count of reordered rows and the
  /// tenants' names to `source`. The builder is empty afterwards.
  ///
  /// A request waits for the rows that its own row names; in a trace without such names, for the
  /// turn before it in its session. `block_names`, where given, receives the hash of each block;
  /// nothing where some have none.
  Workload build(WorkloadSource source, std::vector<std::uint64_t>* block_names = nullptr);

 private:
  void add_session(const TraceRow& row);
  void sort_rows(WorkloadSource& source);
  std::vector<std::uint64_t> names_of_blocks();
  void link_turns(std::vector<std::uint32_t>& begin, std::vector<RequestId>& after) const;

  std::string name_;
  std::uint32_t block_tokens_;
  RowOrder order_;
  RowSequence sequence_;
  Interner session_names_;
  std::vector<std::uint32_t> session_of_name_;
  std::uint32_t sessions_ = 0;               ///< named ones, and rows that are one each
  std::vector<std::uint32_t> block_number_;  ///< after sorting, by number in `chain_`
  std::map<std::string, std::uint32_t> tenants_;
  std::map<KvRetention, std::uint32_t> retentions_;
  bool any_after_ = false;
  bool any_think_ = false;
  bool any_hints_ = false;
  std::vector<std::int64_t> arrival_ns_;
  std::vector<std::uint32_t> input_tokens_;
  std::vector<std::uint32_t> output_tokens_;
  std::vector<std::uint32_t> session_;
  std::vector<std::uint32_t> tenant_;
  std::vector<std::uint32_t> retention_;
  std::vector<StoreHints> hints_;
  std::vector<std::int64_t> think_ns_;
  std::vector<std::uint64_t> chain_begin_{0};
  ChainColumn chain_;
  std::vector<std::uint32_t> row_of_id_;  ///< where the rows that have an id stand
  std::vector<std::uint32_t> after_begin_{0};
  std::vector<std::uint32_t> after_;  ///< rows, as they were added
};

}  // namespace spillway

#include "traces/row_sequence.hpp"

namespace spillway {

void RowSequence::check(const TraceRow& row) const {
  if (order_ == RowOrder::kFile && row.arrival_ns < last_arrival_ns_) {
    throw RowError({name_, row.line, "timestamp"},
                   fmt::format("arrives {} ms before the row above; expected rows in order of time",
                               static_cast<double>(last_arrival_ns_ - row.arrival_ns) / 1e6));
  }
  if (size_ >= 0xffffffffU - 1) {
    throw InputError(Fault::kTrace, {name_, row.line, ""}, "more than 2^32 requests");
  }
  if (row.id && ids_.find(*row.id)) {
    throw RowError({name_, row.line, "id"}, "is the id of a row above; expected each id once");
  }
  for (const std::uint64_t id : row.after) {
    if (!ids_.find(id)) {
      throw RowError({name_, row.line, "after"},
                     "names a row that is not above this one; expected the id of an earlier row");
    }
  }
}

void RowSequence::add(const TraceRow& row) {
  check(row);
  last_arrival_ns_ = row.arrival_ns;
  if (row.id) ids_.intern(*row.id);
  ++size_;
}

}  // namespace spillway

// What the rows of a trace must be to each other: in order, and linked to rows above only.
#pragma once

#include <cstdint>
#include <string>

#include "traces/catalogue.hpp"
#include "traces/interner.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

class RowSequence {
 public:
  /// `name` is what errors call the source.
  RowSequence(std::string name, RowOrder order) : name_(std::move(name)), order_(order) {}

  /// Takes the next row. Throws RowError when it arrives before its predecessor (kFile), names an
  /// id twice or waits for a row that is not above it; nothing has changed then.
  void add(const TraceRow& row);
  std::uint32_t size() const { return size_; }
  /// The ids that rows gave themselves.
  const Interner& ids() const { return ids_; }

 private:
  void check(const TraceRow& row) const;

  std::string name_;
  RowOrder order_;
  std::uint32_t size_ = 0;
  std::int64_t last_arrival_ns_ = 0;
  Interner ids_;
};

}  // namespace spillway

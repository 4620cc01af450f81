// The last blocks of each session's chain, and the sessions in the order in which they were seen.
//
// Memory: four bytes for each session there is; a row for each that has a tail, and eight bytes for
// each block of it. Rows and blocks are reused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/containers/index_list.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

class SessionTails {
 public:
  explicit SessionTails(std::uint32_t sessions) : row_of_(sessions, kNone) {}
  /// Room for as many blocks before anything is allocated.
  void reserve(std::uint64_t blocks) {
    items_.reserve(blocks);
    rows_.reserve(std::min<std::uint64_t>(blocks, row_of_.size()));
    order_.grow(static_cast<std::uint32_t>(rows_.capacity()));
  }

  bool empty() const { return order_.empty(); }
  std::uint64_t blocks() const { return blocks_; }  ///< of all tails
  /// Preconditions of both: not empty.
  SessionId oldest() const { return rows_[order_.front()].session; }
  Time oldest_seen() const { return rows_[order_.front()].seen; }

  /// The session was seen, and this is its tail now; `left` is called with each block of the one it
  /// had, the last of the chain first.
  template <class Left>
  void replace(SessionId session, Time seen, BlockSpan tail, const Left& left) {
    std::uint32_t first = kNone;
    for (const BlockId block : tail) first = put(block, first);
    std::uint32_t old = kNone;
    if (row_of_[raw(session)] != kNone) old = take_out(session);
    if (first != kNone) put_in({first, session, seen});
    free_items(old, left);
  }
  template <class Left>
  void erase(SessionId session, const Left& left) {
    free_items(take_out(session), left);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Item {
    BlockId block;
    std::uint32_t next;  ///< in a tail, or among the free
  };
  struct Row {
    std::uint32_t first;
    SessionId session;
    Time seen;
  };

  std::uint32_t put(BlockId block, std::uint32_t next) {
    ++blocks_;
    const std::uint32_t item = free_item_;
    if (item == kNone) {
      items_.push_back({block, next});
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    free_item_ = items_[item].next;
    items_[item] = {block, next};
    return item;
  }
  template <class Left>
  void free_items(std::uint32_t item, const Left& left) {
    while (item != kNone) {
      left(items_[item].block);
      const std::uint32_t next = items_[item].next;
      items_[item].next = free_item_;
      free_item_ = item;
      item = next;
      --blocks_;
    }
  }
  void put_in(const Row& row) {
    std::uint32_t at = free_row_;
    if (at == kNone) {
      at = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back(row);
      order_.grow(static_cast<std::uint32_t>(rows_.capacity()));
    } else {
      free_row_ = rows_[at].first;
      rows_[at] = row;
    }
    row_of_[raw(row.session)] = at;
    order_.push_back(at);
  }
  /// The first item of what was the session's tail.
  std::uint32_t take_out(SessionId session) {
    const std::uint32_t at = row_of_[raw(session)];
    row_of_[raw(session)] = kNone;
    order_.erase(at);
    const std::uint32_t first = rows_[at].first;
    rows_[at].first = free_row_;
    free_row_ = at;
    return first;
  }

  std::vector<std::uint32_t> row_of_;  ///< by session
  std::vector<Row> rows_;
  std::vector<Item> items_;
  std::uint32_t free_row_ = kNone;
  std::uint32_t free_item_ = kNone;
  IndexList order_{0};  ///< rows, the session seen longest ago first
  std::uint64_t blocks_ = 0;
};

}  // namespace spillway

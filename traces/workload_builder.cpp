#include "traces/workload_builder.hpp"

#include <algorithm>
#include <numeric>

namespace spillway {

namespace {

struct OwnedColumns final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns;
  std::vector<std::uint32_t> input_tokens;
  std::vector<std::uint32_t> output_tokens;
  std::vector<std::uint32_t> session;
  std::vector<std::uint32_t> tenant;
  std::vector<std::uint32_t> retention;
  std::vector<StoreHints> hints;
  std::vector<std::uint32_t> after_begin;
  std::vector<RequestId> after;
  std::vector<std::int64_t> think_ns;
  std::vector<std::uint64_t> chain_begin;
  GrowingColumn<TraceBlockId> chain;
};

template <class T>
void permute(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  std::vector<T> out;
  out.reserve(column.size());
  for (const std::uint32_t row : order) out.push_back(column[row]);
  column = std::move(out);
}

/// Numbers ids by first appearance again, after their order has changed. Returns the new numbers.
template <class Ids>
std::vector<std::uint32_t> renumber(Ids& ids, std::uint32_t count) {
  std::vector<std::uint32_t> name(count, kNoIndex);
  std::uint32_t next = 0;
  for (auto& id : ids) {
    std::uint32_t& to = name[static_cast<std::uint32_t>(id)];
    if (to == kNoIndex) to = next++;
    id = static_cast<std::remove_reference_t<decltype(id)>>(to);
  }
  return name;
}

/// Its number by first appearance.
template <class Thing>
std::uint32_t number_of(const Thing& thing, std::map<Thing, std::uint32_t>& numbers) {
  return numbers.try_emplace(thing, static_cast<std::uint32_t>(numbers.size())).first->second;
}

/// What the numbers stand for; nothing where all rows say nothing.
template <class Thing>
std::vector<Thing> by_number(const std::map<Thing, std::uint32_t>& numbers) {
  if (numbers.size() == 1 && numbers.contains(Thing())) return {};
  std::vector<Thing> out(numbers.size());
  for (const auto& [thing, number] : numbers) out[number] = thing;
  return out;
}

}  // namespace

WorkloadBuilder::WorkloadBuilder(std::string name, std::uint32_t block_tokens, RowOrder order)
    : name_(std::move(name)), block_tokens_(block_tokens), order_(order), sequence_(name_, order) {
  KV_ASSERT(block_tokens > 0, "blocks of no tokens");
}

/// Once any row names a session, one without is a session of its own; so were those before it.
void WorkloadBuilder::add_session(const TraceRow& row) {
  if (!row.session && session_.empty()) return;
  if (session_.empty()) {
    session_.resize(size() - 1);
    std::iota(session_.begin(), session_.end(), std::uint32_t{0});
    sessions_ = size() - 1;
  }
  std::uint32_t session = sessions_;
  if (row.session) {
    const std::uint32_t name = session_names_.intern(*row.session);
    if (name == session_of_name_.size()) session_of_name_.push_back(sessions_);
    session = session_of_name_[name];
  }
  session_.push_back(session);
  sessions_ += session == sessions_ ? 1 : 0;
}

void WorkloadBuilder::add(const TraceRow& row) {
  sequence_.add(row);
  const auto index = static_cast<std::uint32_t>(arrival_ns_.size());
  arrival_ns_.push_back(row.arrival_ns);
  input_tokens_.push_back(static_cast<std::uint32_t>(row.input_tokens));
  output_tokens_.push_back(recorded_output_tokens(row));
  chain_.add(row.blocks, row.own_blocks);
  chain_begin_.push_back(chain_.size());
  add_session(row);
  tenant_.push_back(number_of(row.tenant, tenants_));
  retention_.push_back(number_of(row.retention, retentions_));
  any_hints_ = any_hints_ || row.hints != StoreHints();
  hints_.push_back(row.hints);
  any_think_ = any_think_ || row.think_ns >= 0;
  think_ns_.push_back(row.think_ns);
  any_after_ = any_after_ || row.id.has_value();
  for (const std::uint64_t id : row.after) after_.push_back(row_of_id_[*sequence_.ids().find(id)]);
  after_begin_.push_back(static_cast<std::uint32_t>(after_.size()));
  if (row.id) row_of_id_.push_back(index);
}

/// Puts the rows in order of time, those of one instant as they were added, and counts those that
/// stood behind a later one.
void WorkloadBuilder::sort_rows(WorkloadSource& source) {
  std::uint64_t moved = 0;
  std::uint64_t steps_back = 0;
  std::int64_t latest = 0;
  for (std::size_t i = 0; i < arrival_ns_.size(); ++i) {
    moved += arrival_ns_[i] < latest ? 1 : 0;
    steps_back += i > 0 && arrival_ns_[i] < arrival_ns_[i - 1] ? 1 : 0;
    latest = std::max(latest, arrival_ns_[i]);
  }
  source.rows.reordered = moved;
  if (moved == 0) return;
  if (order_ == RowOrder::kSort) {
    source.notes.push_back(fmt::format(
        "{} of {} rows of {} stood behind a later one (time steps back in {} place{}); they "
        "are put in order",
        moved, size(), name_, steps_back, steps_back == 1 ? "" : "s"));
  }
  std::vector<std::uint32_t> order(arrival_ns_.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return arrival_ns_[a] < arrival_ns_[b];
  });
  std::vector<std::uint64_t> chain_begin{0};
  GrowingColumn<TraceBlockId>& ids = chain_.ids();
  GrowingColumn<TraceBlockId> chain;
  std::vector<std::uint32_t> after_begin{0};
  std::vector<std::uint32_t> after;
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const std::uint32_t row : order) {
    const std::uint64_t length = chain_begin_[row + 1] - chain_begin_[row];
    std::copy_n(ids.begin() + chain_begin_[row], length, chain.append(length).begin());
    chain_begin.push_back(chain.size());
    for (std::uint32_t i = after_begin_[row]; i < after_begin_[row + 1]; ++i) {
      after.push_back(place[after_[i]]);
    }
    after_begin.push_back(static_cast<std::uint32_t>(after.size()));
  }
  ids = std::move(chain);
  chain_begin_ = std::move(chain_begin);
  after_ = std::move(after);
  after_begin_ = std::move(after_begin);
  permute(arrival_ns_, order);
  permute(input_tokens_, order);
  permute(output_tokens_, order);
  if (!session_.empty()) permute(session_, order);
  permute(tenant_, order);
  permute(retention_, order);
  permute(hints_, order);
  permute(think_ns_, order);
  block_number_ = renumber(ids, chain_.unique_blocks());
  renumber(session_, sessions_);
}

/// What the rows called each block of the workload.
std::vector<std::uint64_t> WorkloadBuilder::names_of_blocks() {
  chain_.ids();  // all of them have their numbers then
  if (!chain_.all_named()) return {};
  std::vector<std::uint64_t> out(chain_.unique_blocks());
  for (std::uint32_t id = 0; id < out.size(); ++id) {
    out[block_number_.empty() ? id : block_number_[id]] = chain_.names().hash_of(id);
  }
  return out;
}

/// Explicit links where the trace has them (one to a row that now stands behind is dropped: rows
/// of one session recorded out of order), else each turn waits for the one before it.
void WorkloadBuilder::link_turns(std::vector<std::uint32_t>& begin,
                                 std::vector<RequestId>& after) const {
  begin.assign(1, 0);
  std::vector<std::uint32_t> last(any_after_ ? 0 : sessions_, kNoIndex);
  for (std::uint32_t row = 0; row < size(); ++row) {
    if (any_after_) {
      for (std::uint32_t i = after_begin_[row]; i < after_begin_[row + 1]; ++i) {
        if (after_[i] < row) after.push_back(RequestId{after_[i]});
      }
    } else {
      std::uint32_t& before = last[session_[row]];
      if (before != kNoIndex) after.push_back(RequestId{before});
      before = row;
    }
    begin.push_back(static_cast<std::uint32_t>(after.size()));
  }
}

Workload WorkloadBuilder::build(WorkloadSource source, std::vector<std::uint64_t>* block_names) {
  if (arrival_ns_.empty()) {
    throw InputError(Fault::kTrace, {name_, 0, ""}, kNoRequests);
  }
  auto owned = std::make_unique<OwnedColumns>();
  source.rows.kept = size();
  if (order_ != RowOrder::kFile) sort_rows(source);
  if (block_names != nullptr) *block_names = names_of_blocks();
  if (any_after_ || !session_.empty()) link_turns(owned->after_begin, owned->after);
  source.tenants = by_number(tenants_);
  if (!source.tenants.empty()) owned->tenant = std::move(tenant_);
  source.retentions = by_number(retentions_);
  if (!source.retentions.empty()) owned->retention = std::move(retention_);
  owned->arrival_ns = std::move(arrival_ns_);
  owned->input_tokens = std::move(input_tokens_);
  owned->output_tokens = std::move(output_tokens_);
  owned->chain_begin = std::move(chain_begin_);
  owned->chain = std::move(chain_.ids());
  owned->session = std::move(session_);
  if (any_hints_) owned->hints = std::move(hints_);
  if (any_think_) owned->think_ns = std::move(think_ns_);

  WorkloadColumns columns;
  columns.arrival_ns = owned->arrival_ns;
  columns.input_tokens = owned->input_tokens;
  columns.output_tokens = owned->output_tokens;
  columns.session = owned->session;
  columns.tenant = owned->tenant;
  columns.retention = owned->retention;
  columns.hints = owned->hints;
  columns.after_begin = owned->after_begin;
  columns.after = owned->after;
  columns.think_ns = owned->think_ns;
  columns.chain_begin = owned->chain_begin;
  columns.chain = owned->chain;
  columns.block_tokens = block_tokens_;
  columns.unique_blocks = chain_.unique_blocks();
  *this = WorkloadBuilder(name_, block_tokens_, order_);
  return Workload(std::move(owned), columns, std::move(source));
}

}  // namespace spillway

// An immutable workload: what arrives, how long it is, and which blocks its prompt consists of.
//
// Prompts are chains of trace blocks (the trace's own granularity, e.g. 512 tokens), root first,
// with ids dense by first appearance. Columns are flat so that a loop reads only what it needs, and
// are spans so that they can live in a memory-mapped file as well as in vectors. Sweeps share one
// Workload between threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/digest.hpp"
#include "sim/ids.hpp"
#include "sim/retention.hpp"
#include "sim/store_hints.hpp"
#include "sim/units.hpp"

namespace spillway {

/// The columns of a workload; whoever owns the memory keeps it alive.
struct WorkloadColumns {
  std::span<const std::int64_t> arrival_ns;      ///< since the trace's origin, non-decreasing
  std::span<const std::uint32_t> input_tokens;   ///< >= 1
  std::span<const std::uint32_t> output_tokens;  ///< >= 1 (a recorded 0 counts as 1)
  std::span<const std::uint32_t> session;        ///< empty when the trace names no sessions
  std::span<const std::uint32_t> tenant;         ///< empty when the trace names no tenants
  /// Which answers a request waited for: requests + 1 offsets into `after`, whose requests come
  /// before it. Both empty when nothing is known. Most requests wait for one or none; a request
  /// behind parallel sub-agents waits for several.
  std::span<const std::uint32_t> after_begin;
  std::span<const RequestId> after;
  /// The client's pause between the last of these answers and the request; -1: not recorded. Empty
  /// when none is.
  std::span<const std::int64_t> think_ns;
  std::span<const std::uint64_t> chain_begin;  ///< requests + 1 offsets into `chain`
  /// The prompt's full blocks and, where the trace names it, the partial block behind them.
  std::span<const TraceBlockId> chain;
  std::uint32_t block_tokens = 0;              ///< tokens in a full trace block
  std::uint32_t unique_blocks = 0;             ///< ids in `chain` are below this
  std::span<const std::uint32_t> retention{};  ///< empty when no row says how long KV is kept
  std::span<const StoreHints> hints{};         ///< empty when no row asks anything of a store
};

/// Consecutive requests: what can be said of them without what came before.
struct RequestBatch {
  RequestId first{};
  std::span<const std::int64_t> arrival_ns;
  std::span<const std::uint32_t> input_tokens;
  std::span<const std::uint32_t> output_tokens;
  /// One more than requests: offsets into the whole trace's references, of which `chain` is the
  /// part that belongs to these requests.
  std::span<const std::uint64_t> chain_begin;
  std::span<const TraceBlockId> chain;
  std::uint32_t blocks = 0;  ///< ids up to here are below this

  std::size_t size() const { return arrival_ns.size(); }
  std::span<const TraceBlockId> chain_of(std::size_t i) const {
    return chain.subspan(chain_begin[i] - chain_begin[0], chain_begin[i + 1] - chain_begin[i]);
  }
  /// The requests [from, to) of these.
  RequestBatch part(std::size_t from, std::size_t to) const {
    return {RequestId{raw(first) + static_cast<std::uint32_t>(from)},
            arrival_ns.subspan(from, to - from),
            input_tokens.subspan(from, to - from),
            output_tokens.subspan(from, to - from),
            chain_begin.subspan(from, to - from + 1),
            chain.subspan(chain_begin[from] - chain_begin[0], chain_begin[to] - chain_begin[from]),
            blocks};
  }
};

/// A fingerprint of requests as they come, equal however they are cut into batches.
class RequestsHash {
 public:
  void add(const RequestBatch& batch);
  std::uint64_t value(std::uint32_t block_tokens) const;

 private:
  Digest arrival_, input_, output_, chain_begin_, chain_;
};

/// The first `count` requests of some; ids stay dense, for they are numbered by first appearance.
WorkloadColumns first_requests(const WorkloadColumns& all, std::uint64_t count);

/// Keeps the memory behind WorkloadColumns alive.
class WorkloadStorage {
 public:
  virtual ~WorkloadStorage() = default;
};

/// What became of a trace's rows.
struct RowCounts {
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;      ///< left out on purpose, e.g. recorded failures
  std::uint64_t quarantined = 0;  ///< faulty and left out, which the user has allowed
  std::uint64_t reordered = 0;    ///< stood behind a later one in the file
  std::uint64_t read() const { return kept + dropped + quarantined; }
};

/// Sessions that the trace does not name and that shared prefixes suggest.
struct InferredSessions {
  std::uint64_t sessions = 0;
  std::uint64_t placed = 0;  ///< requests in a session of two or more turns
  double share = 0;          ///< of the requests that are placed
};

struct WorkloadSource {
  std::string name;    ///< file name as given, or "synthetic"
  std::string format;  ///< row of the format catalogue, or "synthetic"
  std::vector<std::string> notes{};
  RowCounts rows{};
  std::vector<std::string> tenants{};  ///< names of the ids in the tenant column
  std::optional<InferredSessions> inferred_sessions{};
  std::vector<KvRetention> retentions{};  ///< what the numbers in the retention column stand for
};

class Workload {
 public:
  Workload(std::unique_ptr<WorkloadStorage> storage, const WorkloadColumns& columns,
           WorkloadSource source)
      : storage_(std::move(storage)), columns_(columns), source_(std::move(source)) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(columns_.arrival_ns.size()); }
  bool empty() const { return columns_.arrival_ns.empty(); }
  Time arrival(RequestId r) const { return time_at(columns_.arrival_ns[raw(r)]); }
  std::uint32_t input_tokens(RequestId r) const { return columns_.input_tokens[raw(r)]; }
  std::uint32_t output_tokens(RequestId r) const { return columns_.output_tokens[raw(r)]; }
  std::span<const TraceBlockId> chain(RequestId r) const {
    const std::uint64_t begin = columns_.chain_begin[raw(r)];
    return columns_.chain.subspan(begin, columns_.chain_begin[raw(r) + 1] - begin);
  }
  /// The chain without a partial block behind it.
  std::span<const TraceBlockId> full_chain(RequestId r) const {
    const std::span<const TraceBlockId> named = chain(r);
    return named.first(std::min<std::size_t>(named.size(), input_tokens(r) / block_tokens()));
  }
  bool has_sessions() const { return !columns_.session.empty(); }
  /// The requests whose answers `r` waited for.
  std::span<const RequestId> after(RequestId r) const {
    if (columns_.after_begin.empty()) return {};
    const std::uint32_t begin = columns_.after_begin[raw(r)];
    return columns_.after.subspan(begin, columns_.after_begin[raw(r) + 1] - begin);
  }
  /// The recorded pause before `r`, or -1.
  std::int64_t think_ns(RequestId r) const {
    return columns_.think_ns.empty() ? -1 : columns_.think_ns[raw(r)];
  }

  /// How long its KV is kept; null where no row says so.
  const KvRetention* retention(RequestId r) const {
    return columns_.retention.empty() ? nullptr : &source_.retentions[columns_.retention[raw(r)]];
  }

  /// What it asks of an object store.
  StoreHints hints(RequestId r) const {
    return columns_.hints.empty() ? StoreHints() : columns_.hints[raw(r)];
  }

  /// What its file calls a block, where that was kept; else its number.
  std::uint64_t block_name(TraceBlockId block) const {
    return raw(block) < block_names_.size() ? block_names_[raw(block)] : raw(block);
  }
  void keep_block_names(std::vector<std::uint64_t> names) { block_names_ = std::move(names); }

  std::uint32_t block_tokens() const { return columns_.block_tokens; }
  std::uint32_t unique_blocks() const { return columns_.unique_blocks; }
  std::uint64_t references() const { return columns_.chain.size(); }
  const WorkloadColumns& columns() const { return columns_; }
  const WorkloadSource& source() const { return source_; }

  RequestBatch all() const {
    return {RequestId{0},           columns_.arrival_ns,  columns_.input_tokens,
            columns_.output_tokens, columns_.chain_begin, columns_.chain,
            columns_.unique_blocks};
  }

  /// Arrivals, lengths and blocks: equal for equal requests, whatever file and format they came
  /// from, read whole or as a stream.
  std::uint64_t requests_hash() const;
  /// Sessions, tenants, links, pauses, retention, hints; nothing where a trace names none of them.
  std::optional<std::uint64_t> links_hash() const;
  /// Both together.
  std::uint64_t content_hash() const;

 private:
  std::unique_ptr<WorkloadStorage> storage_;
  WorkloadColumns columns_;
  WorkloadSource source_;
  std::vector<std::uint64_t> block_names_;
};

}  // namespace spillway

#include "traces/formats/binary_trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sim/at_end.hpp"
#include "sim/digest.hpp"
#include "sim/error.hpp"
#include "sim/memory.hpp"
#include "sim/output_file.hpp"
#include "traces/formats/retention_bytes.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

constexpr std::size_t kAlign = 64;

struct Header {
  char magic[8];
  std::uint64_t requests;
  std::uint64_t references;
  std::uint64_t links;         ///< entries of `after`
  std::uint64_t tenant_bytes;  ///< the tenants' names, each behind its length (u32)
  std::uint32_t unique_blocks;
  std::uint32_t block_tokens;
  std::uint32_t columns;          ///< which optional columns there are
  std::uint32_t retention_bytes;  ///< what the numbers of that column stand for, likewise
  std::uint64_t content_hash;
  std::uint64_t header_hash;  ///< of everything above
};
static_assert(sizeof(Header) == 72);
enum : std::uint32_t {
  kSessions = 1,
  kTenants = 2,
  kLinks = 4,
  kThink = 8,
  kRetention = 16,
  kHints = 32,
  kAllColumns = 63
};

std::uint64_t hash_of(const Header& header) {
  Digest digest;
  digest.bytes(&header, offsetof(Header, header_hash));
  return digest.value();
}

constexpr std::size_t aligned(std::size_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

/// Where each column lies and how long it is; the one place that knows the file's layout.
struct Layout {
  struct Column {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };

  explicit Layout(const Header& h) {
    const auto has = [&](std::uint32_t which) { return (h.columns & which) != 0 ? 1U : 0U; };
    arrival = put<std::int64_t>(h.requests);
    input = put<std::uint32_t>(h.requests);
    output = put<std::uint32_t>(h.requests);
    session = put<std::uint32_t>(has(kSessions) * h.requests);
    tenant = put<std::uint32_t>(has(kTenants) * h.requests);
    after_begin = put<std::uint32_t>(has(kLinks) * (h.requests + 1));
    after = put<std::uint32_t>(has(kLinks) * h.links);
    think = put<std::int64_t>(has(kThink) * h.requests);
    chain_begin = put<std::uint64_t>(h.requests + 1);
    chain = put<TraceBlockId>(h.references);
    names = put<char>(h.tenant_bytes);
    retention = put<std::uint32_t>(has(kRetention) * h.requests);
    rules = put<char>(h.retention_bytes);
    hints = put<StoreHints>(has(kHints) * h.requests);
  }
  Column arrival, input, output, session, tenant, after_begin, after, think, chain_begin, chain,
      names, retention, rules, hints;
  std::size_t end = aligned(sizeof(Header));

 private:
  template <class T>
  Column put(std::uint64_t count) {
    const Column column{end, count, count * sizeof(T)};
    end += aligned(column.bytes);
    return column;
  }
};

class MappedFile final : public WorkloadStorage {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    const bool known = fd >= 0 && fstat(fd, &info) == 0;
    if (known && info.st_size > 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    const int error = errno;
    if (fd >= 0) close(fd);
    if (data_ == MAP_FAILED && error == ENOMEM) refuse_memory(size_);
    if (!known || data_ == MAP_FAILED) {
      throw InputError(Fault::kIo, {path, 0, ""},
                       fmt::format("cannot open: {}", std::strerror(error)));
    }
    if (size_ == 0) return;
    range_.emplace(data_, size_, path);
    map_memory(size_);
  }
  ~MappedFile() override {
    if (data_ == nullptr || data_ == MAP_FAILED) return;
    munmap(data_, size_);
    unmap_memory(size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::size_t size() const { return size_; }
  template <class T>
  std::span<const T> column(std::size_t offset, std::size_t count) const {
    return {reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset), count};
  }
  template <class T>
  std::span<const T> column(const Layout::Column& place) const {
    return column<T>(place.begin, place.count);
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::optional<MappedRange> range_;  ///< whoever makes the file shorter meanwhile is told of
};

/// How many ids there are when they are dense by first appearance; nothing when they are not.
template <class Id>
std::optional<std::uint32_t> dense(std::span<const Id> ids) {
  std::uint32_t next = 0;
  for (const Id id : ids) {
    const auto value = static_cast<std::uint32_t>(id);
    if (value > next) return std::nullopt;
    next += value == next ? 1 : 0;
  }
  return next;
}

/// Links lead to requests further up; pauses are recorded or not.
bool linked(const WorkloadColumns& c) {
  if (!c.after_begin.empty()) {
    if (c.after_begin.front() != 0 || c.after_begin.back() != c.after.size()) return false;
    if (!std::is_sorted(c.after_begin.begin(), c.after_begin.end())) return false;
    for (std::uint32_t i = 0; i + 1 < c.after_begin.size(); ++i) {
      for (std::uint32_t k = c.after_begin[i]; k < c.after_begin[i + 1]; ++k) {
        if (raw(c.after[k]) >= i) return false;
      }
    }
  }
  const auto asks = [](const StoreHints& h) {
    return h.poll_interval >= Duration(0) && h.poll_interval.count() <= kMaxArrivalNs &&
           h.polls <= kMostPolls && (h.pins & ~(StoreHints::kSoft | StoreHints::kHard)) == 0;
  };
  if (!std::all_of(c.hints.begin(), c.hints.end(), asks)) return false;
  return std::all_of(c.think_ns.begin(), c.think_ns.end(),
                     [](std::int64_t ns) { return ns >= kThinkUnknown && ns <= kMaxArrivalNs; });
}

/// The content hash proves the columns are what was written; this proves that a writer's defect (or
/// a forged hash) cannot give a reader what no text trace may say.
bool consistent(const WorkloadColumns& c) {
  const auto tokens = [](std::uint32_t n) { return n >= 1 && n <= kMaxTokens; };
  if (!std::all_of(c.input_tokens.begin(), c.input_tokens.end(), tokens)) return false;
  if (!std::all_of(c.output_tokens.begin(), c.output_tokens.end(), tokens)) return false;
  if (!std::is_sorted(c.arrival_ns.begin(), c.arrival_ns.end())) return false;
  if (c.arrival_ns.front() < 0 || c.arrival_ns.back() > kMaxArrivalNs) return false;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < c.input_tokens.size(); ++i) {
    if (c.chain_begin[i] != begin) return false;
    // A partial last block may have an id or none.
    const std::uint64_t full = c.input_tokens[i] / c.block_tokens;
    const std::uint64_t named = c.chain_begin[i + 1] - begin;
    const bool partial = c.input_tokens[i] % c.block_tokens != 0;
    if (named != full && !(partial && named == full + 1)) return false;
    begin = c.chain_begin[i + 1];
  }
  if (c.chain_begin.back() != c.chain.size()) return false;
  if (!linked(c)) return false;
  return dense(c.chain) == c.unique_blocks && dense(c.session).has_value();
}

/// The tenants' names behind their lengths; nothing where the bytes are no such list.
std::optional<std::vector<std::string>> names_in(std::span<const char> bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::uint32_t size = 0;
    if (bytes.size() < sizeof size) return std::nullopt;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) return std::nullopt;
    out.emplace_back(bytes.data(), size);
    bytes = bytes.subspan(size);
  }
  return out;
}

std::string bytes_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const auto size = static_cast<std::uint32_t>(name.size());
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += name;
  }
  return out;
}

bool all_below(std::span<const std::uint32_t> column, std::size_t most) {
  return std::all_of(column.begin(), column.end(),
                     [&](std::uint32_t number) { return number < most; });
}

std::string bytes_of(const std::vector<KvRetention>& rules) {
  std::vector<std::string> all;
  for (const KvRetention& rule : rules) all.push_back(retention_bytes(rule));
  return bytes_of(all);
}

std::optional<std::vector<KvRetention>> rules_in(std::span<const char> bytes) {
  const auto all = names_in(bytes);
  if (!all) return std::nullopt;
  std::vector<KvRetention> out;
  for (const std::string& one : *all) {
    const auto rule = retention_in(one);
    if (!rule) return std::nullopt;
    out.push_back(*rule);
  }
  return out;
}

bool zeros(std::span<const char> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

}  // namespace

Workload open_binary_trace(const std::string& path, std::uint64_t limit) {
  const auto fail = [&](const char* what) {
    throw InputError(Fault::kTrace, {path, 0, ""},
                     fmt::format("{}; expected a complete binary trace", what));
  };
  auto file = std::make_unique<MappedFile>(path);
  if (file->size() < sizeof(Header)) fail("truncated header");
  Header header;
  std::memcpy(&header, file->column<char>(0, sizeof(Header)).data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kBinaryTraceMagic) {
    fail("not a binary trace");
  }
  if (header.header_hash != hash_of(header)) fail("corrupt header");
  const std::size_t most = file->size() / sizeof(std::uint32_t);
  if (header.requests == 0 || header.requests > most || header.references > most ||
      header.links > most || header.tenant_bytes > file->size() ||
      header.retention_bytes > file->size() || header.columns > kAllColumns ||
      header.block_tokens == 0) {
    fail("impossible counts in the header");
  }
  const Layout layout(header);
  if (file->size() != layout.end) fail("truncated, or longer than its header says");

  WorkloadColumns c;
  c.arrival_ns = file->column<std::int64_t>(layout.arrival);
  c.input_tokens = file->column<std::uint32_t>(layout.input);
  c.output_tokens = file->column<std::uint32_t>(layout.output);
  c.session = file->column<std::uint32_t>(layout.session);
  c.tenant = file->column<std::uint32_t>(layout.tenant);
  c.after_begin = file->column<std::uint32_t>(layout.after_begin);
  c.after = file->column<RequestId>(layout.after);
  c.think_ns = file->column<std::int64_t>(layout.think);
  c.retention = file->column<std::uint32_t>(layout.retention);
  c.hints = file->column<StoreHints>(layout.hints);
  c.chain_begin = file->column<std::uint64_t>(layout.chain_begin);
  c.chain = file->column<TraceBlockId>(layout.chain);
  c.block_tokens = header.block_tokens;
  c.unique_blocks = header.unique_blocks;
  std::size_t used = sizeof header;
  for (const Layout::Column* column :
       {&layout.arrival, &layout.input, &layout.output, &layout.session, &layout.tenant,
        &layout.after_begin, &layout.after, &layout.think, &layout.chain_begin, &layout.chain,
        &layout.names, &layout.retention, &layout.rules, &layout.hints}) {
    const auto gap = file->column<char>(used, column->begin - used);
    if (!zeros(gap)) fail("content between the columns");
    used = column->begin + column->bytes;
  }
  if (!zeros(file->column<char>(used, layout.end - used))) fail("content between the columns");
  const auto tenants = names_in(file->column<char>(layout.names));
  if (!tenants) fail("tenants' names that are not complete");
  const auto rules = rules_in(file->column<char>(layout.rules));
  if (!rules) fail("rules of retention that are none");
  WorkloadSource source{path, "binary", {}, {}, *tenants};
  source.retentions = *rules;
  const Workload whole(nullptr, c, source);
  if (whole.content_hash() != header.content_hash) fail("content does not match its hash");
  if (!consistent(c) || !all_below(c.tenant, tenants->size()) ||
      !all_below(c.retention, rules->size())) {
    fail("inconsistent columns");
  }
  if (limit > 0 && limit < header.requests) c = first_requests(c, limit);
  source.rows.kept = c.arrival_ns.size();
  return Workload(std::move(file), c, std::move(source));
}

void write_binary_trace(const Workload& workload, const std::string& path) {
  const WorkloadColumns& c = workload.columns();
  Header header{};
  std::copy(kBinaryTraceMagic.begin(), kBinaryTraceMagic.end(), header.magic);
  header.requests = workload.size();
  header.references = workload.references();
  header.unique_blocks = c.unique_blocks;
  header.block_tokens = c.block_tokens;
  const std::string names = bytes_of(workload.source().tenants);
  header.links = c.after.size();
  header.tenant_bytes = names.size();
  const std::string rules = bytes_of(workload.source().retentions);
  header.retention_bytes = static_cast<std::uint32_t>(rules.size());
  header.columns = (c.session.empty() ? 0U : kSessions) | (c.tenant.empty() ? 0U : kTenants) |
                   (c.after_begin.empty() ? 0U : kLinks) | (c.think_ns.empty() ? 0U : kThink) |
                   (c.retention.empty() ? 0U : kRetention) | (c.hints.empty() ? 0U : kHints);
  header.content_hash = workload.content_hash();
  header.header_hash = hash_of(header);

  OutputFile out(path);
  const auto put = [&](const void* data, std::size_t size) {
    static constexpr char kZeros[kAlign] = {};
    out.write({static_cast<const char*>(data), size});
    out.write({kZeros, aligned(size) - size});
  };
  put(&header, sizeof header);
  put(c.arrival_ns.data(), c.arrival_ns.size_bytes());
  put(c.input_tokens.data(), c.input_tokens.size_bytes());
  put(c.output_tokens.data(), c.output_tokens.size_bytes());
  put(c.session.data(), c.session.size_bytes());
  put(c.tenant.data(), c.tenant.size_bytes());
  put(c.after_begin.data(), c.after_begin.size_bytes());
  put(c.after.data(), c.after.size_bytes());
  put(c.think_ns.data(), c.think_ns.size_bytes());
  put(c.chain_begin.data(), c.chain_begin.size_bytes());
  put(c.chain.data(), c.chain.size_bytes());
  put(names.data(), names.size());
  put(c.retention.data(), c.retention.size_bytes());
  put(rules.data(), rules.size());
  put(c.hints.data(), c.hints.size_bytes());
  out.commit();
}

}  // namespace spillway

#include "traces/binary_trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "sim/digest.hpp"
#include "sim/error.hpp"
#include "sim/output_file.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

constexpr std::size_t kAlign = 64;

struct Header {
  char magic[8];
  std::uint64_t requests;
  std::uint64_t references;
  std::uint32_t unique_blocks;
  std::uint32_t block_tokens;
  std::uint32_t has_sessions;
  std::uint32_t reserved;
  std::uint64_t content_hash;
  std::uint64_t header_hash;  ///< of everything above
};
static_assert(sizeof(Header) == 56);

std::uint64_t hash_of(const Header& header) {
  Digest digest;
  digest.bytes(&header, offsetof(Header, header_hash));
  return digest.value();
}

constexpr std::size_t aligned(std::size_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

/// Where each column lies; the one place that knows the file's layout.
struct Layout {
  explicit Layout(const Header& h)
      : arrival(aligned(sizeof(Header))),
        input(arrival + aligned(h.requests * sizeof(std::int64_t))),
        output(input + aligned(h.requests * sizeof(std::uint32_t))),
        session(output + aligned(h.requests * sizeof(std::uint32_t))),
        chain_begin(session + aligned(h.has_sessions * h.requests * sizeof(std::uint32_t))),
        chain(chain_begin + aligned((h.requests + 1) * sizeof(std::uint64_t))),
        end(chain + aligned(h.references * sizeof(TraceBlockId))) {}
  std::size_t arrival, input, output, session, chain_begin, chain, end;
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
    if (!known || data_ == MAP_FAILED) {
      throw InputError(Fault::kIo, {path, 0, ""},
                       fmt::format("cannot open: {}", std::strerror(error)));
    }
  }
  ~MappedFile() override {
    if (data_ != nullptr && data_ != MAP_FAILED) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::size_t size() const { return size_; }
  template <class T>
  std::span<const T> column(std::size_t offset, std::size_t count) const {
    return {reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset), count};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
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
    begin += static_cast<std::uint64_t>(ceil_div(c.input_tokens[i], c.block_tokens));
  }
  if (c.chain_begin.back() != begin || begin != c.chain.size()) return false;
  return dense(c.chain) == c.unique_blocks && dense(c.session).has_value();
}

/// The first `limit` requests; ids stay dense, for they are numbered by first appearance.
WorkloadColumns first(const WorkloadColumns& all, std::uint64_t limit) {
  WorkloadColumns c = all;
  c.arrival_ns = all.arrival_ns.first(limit);
  c.input_tokens = all.input_tokens.first(limit);
  c.output_tokens = all.output_tokens.first(limit);
  if (!all.session.empty()) c.session = all.session.first(limit);
  c.chain_begin = all.chain_begin.first(limit + 1);
  c.chain = all.chain.first(c.chain_begin.back());
  c.unique_blocks = *dense(c.chain);
  return c;
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
      header.has_sessions > 1 || header.block_tokens == 0) {
    fail("impossible counts in the header");
  }
  const Layout layout(header);
  if (file->size() != layout.end) fail("truncated, or longer than its header says");

  WorkloadColumns c;
  c.arrival_ns = file->column<std::int64_t>(layout.arrival, header.requests);
  c.input_tokens = file->column<std::uint32_t>(layout.input, header.requests);
  c.output_tokens = file->column<std::uint32_t>(layout.output, header.requests);
  c.session = file->column<std::uint32_t>(layout.session, header.has_sessions * header.requests);
  c.chain_begin = file->column<std::uint64_t>(layout.chain_begin, header.requests + 1);
  c.chain = file->column<TraceBlockId>(layout.chain, header.references);
  c.block_tokens = header.block_tokens;
  c.unique_blocks = header.unique_blocks;
  const std::span<const char> bytes = file->column<char>(0, file->size());
  const auto padded = [&](std::size_t used, std::size_t next) {
    const auto rest = bytes.subspan(used, next - used);
    return std::all_of(rest.begin(), rest.end(), [](char byte) { return byte == 0; });
  };
  const bool zeros = padded(sizeof header, layout.arrival) &&
                     padded(layout.arrival + c.arrival_ns.size_bytes(), layout.input) &&
                     padded(layout.input + c.input_tokens.size_bytes(), layout.output) &&
                     padded(layout.output + c.output_tokens.size_bytes(), layout.session) &&
                     padded(layout.session + c.session.size_bytes(), layout.chain_begin) &&
                     padded(layout.chain_begin + c.chain_begin.size_bytes(), layout.chain) &&
                     padded(layout.chain + c.chain.size_bytes(), layout.end);
  if (!zeros) fail("content between the columns");
  const Workload whole(nullptr, c, {});
  if (whole.content_hash() != header.content_hash) fail("content does not match its hash");
  if (!consistent(c)) fail("inconsistent columns");
  if (limit > 0 && limit < header.requests) c = first(c, limit);
  return Workload(std::move(file), c, {path, "binary", {}});
}

void write_binary_trace(const Workload& workload, const std::string& path) {
  const WorkloadColumns& c = workload.columns();
  Header header{};
  std::copy(kBinaryTraceMagic.begin(), kBinaryTraceMagic.end(), header.magic);
  header.requests = workload.size();
  header.references = workload.references();
  header.unique_blocks = c.unique_blocks;
  header.block_tokens = c.block_tokens;
  header.has_sessions = workload.has_sessions() ? 1 : 0;
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
  put(c.chain_begin.data(), c.chain_begin.size_bytes());
  put(c.chain.data(), c.chain.size_bytes());
  out.commit();
}

}  // namespace spillway

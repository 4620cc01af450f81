#include "traces/trace_writer.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <vector>

#include "sim/error.hpp"
#include "sim/output_file.hpp"
#include "traces/binary_trace.hpp"

namespace spillway {

namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 18;
constexpr int kGzipLevel = 9;
constexpr int kZstdLevel = 9;

/// Text on its way into a file, compressed or not.
class Sink {
 public:
  explicit Sink(const std::string& path) : file_(path) {}
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual void write(std::string_view text) { file_.write(text); }
  virtual void finish() { file_.commit(); }

 protected:
  OutputFile file_;
};

class GzipSink final : public Sink {
 public:
  explicit GzipSink(const std::string& path) : Sink(path), out_(kFlushAt) {
    // zlib's own header has no name and no time, so equal traces give equal files.
    KV_ASSERT(
        deflateInit2(&stream_, kGzipLevel, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib refuses to start");
  }
  ~GzipSink() override { deflateEnd(&stream_); }
  void write(std::string_view text) override { pump(text, Z_NO_FLUSH); }
  void finish() override {
    pump({}, Z_FINISH);
    file_.commit();
  }

 private:
  void pump(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      file_.write({out_.data(), out_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }
  z_stream stream_{};
  std::vector<char> out_;
};

class ZstdSink final : public Sink {
 public:
  explicit ZstdSink(const std::string& path)
      : Sink(path), context_(ZSTD_createCCtx()), out_(kFlushAt) {
    KV_ASSERT(context_ != nullptr, "zstd refuses to start");
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(context_); }
  void write(std::string_view text) override { pump(text, ZSTD_e_continue); }
  void finish() override {
    pump({}, ZSTD_e_end);
    file_.commit();
  }

 private:
  void pump(std::string_view text, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
      KV_ASSERT(ZSTD_isError(left) == 0, "zstd: {}", ZSTD_getErrorName(left));
      file_.write({out_.data(), output.pos});
      const bool taken = input.pos == input.size;
      if (directive == ZSTD_e_end ? left == 0 : taken) return;
    }
  }
  ZSTD_CCtx* context_;
  std::vector<char> out_;
};

std::unique_ptr<Sink> open_sink(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipSink>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdSink>(path);
  return std::make_unique<Sink>(path);
}

/// Milliseconds without loss: a whole number where it is one, else up to six decimals.
void append_ms(fmt::memory_buffer& out, std::int64_t ns) {
  fmt::format_to(std::back_inserter(out), "{}", ns / 1'000'000);
  std::int64_t rest = ns % 1'000'000;
  if (rest == 0) return;
  int digits = 6;
  for (; rest % 10 == 0; rest /= 10) --digits;
  fmt::format_to(std::back_inserter(out), ".{:0{}}", rest, digits);
}

template <class Line>
void write_lines(const Workload& workload, Sink& sink, std::string_view header, Line line) {
  fmt::memory_buffer text;
  text.append(header);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    line(text, RequestId{i});
    if (text.size() > kFlushAt) {
      sink.write({text.data(), text.size()});
      text.clear();
    }
  }
  sink.write({text.data(), text.size()});
  sink.finish();
}

void append_ids(fmt::memory_buffer& out, const Workload& workload, RequestId r,
                std::string_view separator) {
  bool first = true;
  for (const TraceBlockId id : workload.chain(r)) {
    if (!first) out.append(separator);
    fmt::format_to(std::back_inserter(out), "{}", raw(id));
    first = false;
  }
}

void jsonl_line(const Workload& workload, fmt::memory_buffer& out, RequestId r) {
  out.append(std::string_view("{\"timestamp\": "));
  append_ms(out, nanoseconds_of(workload.arrival(r)));
  fmt::format_to(std::back_inserter(out), ", \"input_length\": {}, \"output_length\": {}, ",
                 workload.input_tokens(r), workload.output_tokens(r));
  if (workload.has_sessions()) {
    fmt::format_to(std::back_inserter(out), "\"session_id\": {}, ",
                   workload.columns().session[raw(r)]);
  }
  out.append(std::string_view("\"hash_ids\": ["));
  append_ids(out, workload, r, ", ");
  out.append(std::string_view("]}\n"));
}

void csv_line(const Workload& workload, fmt::memory_buffer& out, RequestId r) {
  append_ms(out, nanoseconds_of(workload.arrival(r)));
  fmt::format_to(std::back_inserter(out), ",{},{},", workload.input_tokens(r),
                 workload.output_tokens(r));
  if (workload.has_sessions()) {
    fmt::format_to(std::back_inserter(out), "{},", workload.columns().session[raw(r)]);
  }
  append_ids(out, workload, r, " ");
  out.push_back('\n');
}

}  // namespace

void write_trace(const Workload& workload, const std::string& path) {
  std::string_view name = path;
  if (name.ends_with(".bin")) return write_binary_trace(workload, path);
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  const bool jsonl = name.ends_with(".jsonl");
  if (!jsonl && !name.ends_with(".csv")) {
    throw InputError(Fault::kUsage, {path, 0, ""},
                     "cannot tell the format from the name; expected .bin, or .jsonl or .csv, the "
                     "latter two optionally with .gz or .zst behind");
  }
  const auto sink = open_sink(path);
  if (jsonl) {
    write_lines(workload, *sink, "",
                [&](fmt::memory_buffer& out, RequestId r) { jsonl_line(workload, out, r); });
  } else {
    const std::string_view header =
        workload.has_sessions() ? "timestamp_ms,input_length,output_length,session_id,hash_ids\n"
                                : "timestamp_ms,input_length,output_length,hash_ids\n";
    write_lines(workload, *sink, header,
                [&](fmt::memory_buffer& out, RequestId r) { csv_line(workload, out, r); });
  }
}

}  // namespace spillway

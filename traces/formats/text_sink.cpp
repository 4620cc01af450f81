#include "traces/formats/text_sink.hpp"

#include <zlib.h>
#include <zstd.h>

#include <vector>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr int kGzipLevel = 9;
constexpr int kZstdLevel = 9;

class GzipSink final : public TextSink {
 public:
  explicit GzipSink(const std::string& path) : TextSink(path), out_(kChunk) {
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

class ZstdSink final : public TextSink {
 public:
  explicit ZstdSink(const std::string& path)
      : TextSink(path), context_(ZSTD_createCCtx()), out_(kChunk) {
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

}  // namespace

std::unique_ptr<TextSink> open_text_sink(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipSink>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdSink>(path);
  return std::make_unique<TextSink>(path);
}

}  // namespace spillway

// Traces as text for tests: rows, compression, and opening what a test just wrote.
#pragma once

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"

namespace spillway::test {

/// One gzip member, as gzip(1) would write it.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// One zstd frame, with or without a checksum behind it.
inline std::string zstd(std::string_view text, bool checksum = true) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  REQUIRE(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

/// A Mooncake row from the JSON text of its four values.
inline std::string row(std::string_view timestamp, std::string_view input, std::string_view output,
                       std::string_view hash_ids) {
  return fmt::format(
      "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, \"hash_ids\": {}}}\n",
      timestamp, input, output, hash_ids);
}

/// Two blocks of 512 tokens, the second partial.
inline std::string good_row(std::string_view timestamp = "0") {
  return row(timestamp, "600", "5", "[1, 2]");
}

inline OpenOptions blocks_of(std::uint32_t block_tokens) {
  OpenOptions options;
  options.reader.block_tokens = block_tokens;
  return options;
}

/// Opens `bytes` as if they were a file of the user's.
inline Workload open_bytes_as_trace(std::string_view bytes, const OpenOptions& options = {}) {
  const Scratch scratch;
  return open_trace(scratch.file("trace", bytes), options);
}

/// A view of `workload` without the think times, which plain rows have no place for.
inline Workload without_think(const Workload& workload) {
  WorkloadColumns columns = workload.columns();
  columns.think_ns = {};
  return {nullptr, columns, workload.source()};
}

/// The ids of one request's chain.
inline std::vector<std::uint32_t> chain_of(const Workload& workload, std::uint32_t request) {
  std::vector<std::uint32_t> out;
  for (const TraceBlockId id : workload.chain(RequestId{request})) out.push_back(raw(id));
  return out;
}

template <class T>
std::vector<T> values(std::span<const T> column) {
  return {column.begin(), column.end()};
}

}  // namespace spillway::test

// How long one transfer job occupies one direction of a link; queueing lives in fabric.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

class LinkModel {
 public:
  virtual ~LinkModel() = default;
  /// Time for `copies` pieces of `payload / copies` bytes each, submitted together and alone on the
  /// link. Preconditions: payload > 0, copies > 0.
  virtual Duration service_time(Bytes payload, std::uint32_t copies) const = 0;
  /// How far the figures behind that time carry.
  virtual Reach reach(Bytes, std::uint32_t) const { return Reach::kInside; }
  /// The rate that no transfer exceeds.
  virtual BytesPerSecond capacity() const = 0;
};

/// latency + bytes / bandwidth, rounded up to a nanosecond.
std::unique_ptr<LinkModel> make_affine_link(Duration latency, std::int64_t bytes_per_second);

/// Several NICs that share each job in slices, as Mooncake's transfer engine does
/// (kvcache-ai/Mooncake: mooncake-transfer-engine/src/transport/rdma_transport/rdma_transport.cpp).
/// `bytes_per_second`: of one of them.
struct Stripes {
  std::uint32_t nics = 1;
  std::int64_t slice_bytes = 64 * 1024;
};
/// Each copy is cut into slices, which the NICs take in turn; the one with most of them ends the
/// job. Model: upstream chooses a NIC for each slice at random. With one NIC this is the affine
/// link.
std::unique_ptr<LinkModel> make_striped_link(Duration latency, std::int64_t bytes_per_second,
                                             const Stripes& stripes);

/// A rate and nothing else.
std::unique_ptr<LinkModel> make_constant_link(std::int64_t bytes_per_second);

/// A measured rate over copy size and copy count, interpolated in logarithms of both, with a fixed
/// time per job and per copy besides. Outside the grid the nearest edge's rate holds, and reach()
/// says so; so it does of a rate between neighbours that differ by more than 2x.
struct RateTable {
  Duration job_latency{0};         ///< submission of the job
  Duration per_copy{0};            ///< added for each piece, where the rates exclude it
  std::vector<double> copy_bytes;  ///< ascending
  std::vector<double> copies;      ///< ascending
  std::vector<double> gbs;         ///< row per copy count, column per copy size; GB = 1e9 bytes
  /// Copy sizes whose rate holds for any number of copies, from this column on; those below were
  /// measured at `copies` only.
  std::size_t any_count_from = kNoColumn;
  std::vector<bool> measured;  ///< as `gbs`; false: reach() says so. Empty: all were
  std::string source;

  static constexpr std::size_t kNoColumn = ~std::size_t{0};
};
std::unique_ptr<LinkModel> make_table_link(RateTable table);

}  // namespace spillway

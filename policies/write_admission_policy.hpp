// The contract of a write admission policy: which blocks may enter the tier below?
//
// Asked once per offer: the blocks that a request has filled and that the tier does not hold. A
// refused block is skipped for good: this request does not offer it again, and what it offers
// behind it lies behind a hole, where a look-up stops. A policy sees plain figures, never the tier.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class WriteVerdict : std::uint8_t {
  kWrite,
  kFirstSighting,  ///< not seen often enough yet
  kInfrequent,     ///< not seen often enough lately
  kTooShallow,
  kBackPressure,  ///< too much is being stored already
};
inline constexpr std::size_t kWriteVerdicts = 5;

constexpr std::string_view name_of(WriteVerdict verdict) {
  constexpr std::array<std::string_view, kWriteVerdicts> kNames = {
      "written", "first_sighting", "infrequent", "too_shallow", "back_pressure"};
  return kNames[static_cast<std::size_t>(verdict)];
}

/// Blocks of one request, root first, none of them below.
struct WriteOffer {
  Time now{};
  BlockSpan blocks;
  /// Where each stands in the request's chain, the first block at 0.
  std::span<const std::uint32_t> positions;
  /// So many leading blocks this request has offered before, in a batch that found no room.
  std::size_t repeated = 0;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t jobs_in_flight = 0;  ///< stores planned and not ended
  Bytes bytes_in_flight{0};          ///< of these
};

struct WriteAdmissionContext {
  std::uint32_t blocks = 0;  ///< block ids are below this, until grow()
  std::uint32_t block_tokens = 1;
};

class WriteAdmissionPolicy {
 public:
  virtual ~WriteAdmissionPolicy() = default;

  /// Fills verdicts[i] for blocks[i]; the spans are equally long and not empty.
  virtual void decide(const WriteOffer& offer, std::span<WriteVerdict> verdicts) = 0;

  /// From now on block ids are below `blocks`, which is at least what it was.
  virtual void grow(std::uint32_t /*blocks*/) {}

  /// True where on_lookup() has to be called; asked once.
  virtual bool wants_lookups() const { return false; }
  /// A request that is to be admitted looked for `blocks` below: what it found, and the block that
  /// ended the walk, if any. Once an admission.
  virtual void on_lookup(BlockSpan /*blocks*/) {}
};

}  // namespace spillway

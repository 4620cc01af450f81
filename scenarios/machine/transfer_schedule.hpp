// The transfers of a simulated run, as `run --output kind=transfers` wrote them, and the part of
// them that a replay plays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

struct ScheduledTransfer {
  std::string link;
  bool to_device = true;
  std::int64_t submitted_ns = 0;
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
  std::int64_t bytes = 0;
  std::int64_t copies = 1;
};

struct TransferSchedule {
  std::string path;                          ///< of the CSV file
  std::vector<ScheduledTransfer> transfers;  ///< by submission
  std::uint64_t host_hops = 0;               ///< between tiers below HBM: no GPU can play them
};

/// `path` is the CSV file, or the result of a run that names it (`inputs.transfers`; looked up as
/// given, then beside the result). Throws InputError: exit 7 where a file cannot be read, 2 with
/// line and column where its content is wrong, or where the run recorded no transfers.
TransferSchedule read_transfer_schedule(const std::string& path);

/// Which part to play: `30s` (of the run's clock) where most bytes move, `120s+30s` from 120 s on.
struct WindowChoice {
  std::optional<double> from_s;
  double length_s = 30;
};
WindowChoice parse_window(std::string_view text, const SourceRef& where);

/// Transfers submitted within the window. Without a start, the window begins where nothing is in
/// flight, and of those places where the most bytes are submitted. Throws InputError (exit 2) where
/// it holds none, or more than a replay takes.
std::span<const ScheduledTransfer> choose_window(const TransferSchedule& schedule,
                                                 const WindowChoice& choice,
                                                 std::size_t most = 100'000);

}  // namespace spillway

// A hardware profile in a scenario: found by name or path, checked, and asked for figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/calibration/profile.hpp"
#include "models/compute/collective.hpp"
#include "models/link/link_model.hpp"
#include "models/tier/storage_spec.hpp"
#include "sim/error.hpp"
#include "sim/note.hpp"

namespace spillway {

/// What a scenario keeps of its profile: the fits and where they come from.
struct HardwareChoice {
  std::string path;
  std::string name;
  std::string created;
  std::string digest;  ///< of the document's results
  MachineFacts machine;
  std::string machine_hash;
  std::vector<FitRecord> fits;
  SourceRef where;  ///< the scenario's key
};

/// `named` is a path (with a "/" or ".json"), as seen from `folder`, the scenario's, or a name: in
/// scenarios/hardware/, then in `folder`. Throws InputError (exit 2) with the nearest known name,
/// calling it `what`, and with `advice`.
std::string find_hardware(
    const std::string& named, const std::string& folder, const SourceRef& where,
    std::string_view what = "hardware profile",
    std::string_view advice = "Measure one with: spillway calibrate --out my-machine.json");

/// Reads and checks. Throws InputError: exit 7 where the file cannot be read, 2 where it is no
/// profile, or holds cells that no machine can have measured. What deserves a word goes to `notes`.
HardwareChoice load_hardware(const std::string& path, const SourceRef& where, Notes& notes);

/// Which way to copy, as links[] with kind "profile" say.
struct ProfileCopy {
  std::string method;  ///< batch, dma, kernel; empty: batch where it was measured, else dma
  std::string mem = "host_alloc";
  std::string pattern = "contiguous";
};

struct ProfileLink {
  RateTable table;     ///< of the device; submission of a batch is its latency
  Duration submit{0};  ///< of the host thread, for each piece
  double duplex_factor = 1;
  std::string method;
};

/// `dir` is h2d or d2h. Throws InputError (exit 2) at `where`, with the command that would measure
/// what is missing.
ProfileLink profile_link(const HardwareChoice& hardware, std::string_view dir,
                         const ProfileCopy& copy, const SourceRef& where);
/// Whether the profile holds copies at all; one of a machine without a GPU does not.
bool has_copies(const HardwareChoice& hardware);

/// What the profile says of all-reduces, by ascending number of ranks; empty: nothing.
std::vector<MeasuredReduce> measured_reduces(const HardwareChoice& hardware);

/// Puts what was measured of the drive in place of published figures: rates, latencies and their
/// tails, the write cache. Returns the keys of tiers[].device that now have their figure from it.
std::vector<std::string_view> use_storage(const HardwareChoice& hardware, StorageSpec& spec);

/// The same of a key-value server: the latency of a command, the rate of one connection and of the
/// server, whether it works on one command at a time. `lookup` becomes the time of an EXISTS.
std::vector<std::string_view> use_kv_server(const HardwareChoice& hardware, StorageSpec& spec,
                                            Duration& lookup);
/// Then, of each direction, the rates that were measured for values of `spec.operation_bytes` by
/// number of clients, in place of one rate for all. Returns the range of sizes that was measured,
/// where `spec.operation_bytes` is outside it.
std::optional<std::pair<Bytes, Bytes>> use_kv_rates(const HardwareChoice& hardware,
                                                    StorageSpec& spec);

/// Which facts differ, as "fact: profile X, here Y"; empty where it is the same machine. What is
/// not known on either side does not count.
std::vector<std::string> machine_differences(const MachineFacts& profile, const MachineFacts& here);

}  // namespace spillway

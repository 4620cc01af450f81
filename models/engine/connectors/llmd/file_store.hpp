// The file system of llm-d's FS backend: files with their access times, and what the PVC evictor
// makes of them (kv_connectors/llmd_fs_backend, kv_connectors/pvc_evictor). One of each engine, or
// one that engines share.
//
// A file is there once it is written, whole. Nobody keeps a file from being deleted.
//
// The evictor looks at the disk at multiples of its interval, behind what ends at that instant and
// before what engines do then. Its ticks wake nobody: they are made up for when somebody looks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/chains/chain_map.hpp"
#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/engine/connectors/llmd/evictor.hpp"
#include "sim/shared_things.hpp"

namespace spillway {

/// By which the evictor walks: what upstream hashes, spread as evenly.
std::uint64_t file_name(const ChainMap& chains, ChunkId id);

class FileStore final : public SharedThing {
 public:
  /// `file`: bytes of a chunk's files, those of all `ranks`.
  FileStore(const ChunkTierConfig& config, const ChainMap& chains, Bytes file, std::uint32_t ranks);

  bool has(ChunkId id) const { return table_.has(id); }
  /// A read of it begins. Precondition: it is there, as for touch().
  void read(ChunkId id, Time now);
  /// A write finds that it is there.
  void touch(ChunkId id, Time now);
  /// It is written; false: it does not fit. If another write was faster, it is replaced.
  bool write(ChunkId id, Time now);

  /// All ticks up to `end` have happened. Who looks in a phase before the ticks' says an instant
  /// before now.
  void tick_until(Time end);
  /// Nothing is left that the evictor would run for.
  void stop_ticks() { next_tick_ = Time::max(); }

  Bytes file_bytes() const { return file_; }  ///< all ranks' files of a chunk
  ChunkTable& table() { return table_; }
  const ChunkTable& table() const { return table_; }
  std::uint64_t failed() const { return failed_; }  ///< writes that did not fit
  const Evictor* evictor() const { return evictor_ ? &*evictor_ : nullptr; }

 private:
  struct Times {
    Time accessed{};
    Time modified{};
  };
  Times& times_of(ChunkSlot slot) {
    const auto i = static_cast<std::uint32_t>(slot);
    if (times_.size() <= i) times_.resize(std::size_t{i} + 1);
    return times_[i];
  }

  const ChainMap& chains_;
  Bytes file_;
  AtimeRule atime_;
  ChunkTable table_;
  std::vector<Times> times_;  ///< by slot
  std::optional<Evictor> evictor_;
  Duration interval_{};
  Time next_tick_ = Time::max();  ///< none comes
  std::uint64_t failed_ = 0;
};

}  // namespace spillway

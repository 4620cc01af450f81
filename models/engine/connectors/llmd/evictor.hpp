// Which files the PVC evictor deletes next (kv_connectors/pvc_evictor: crawler, activator and
// deleter): by its own queue, which it fills in the order of names with files that nobody has read
// for a while, and empties without another look at them.
//
// A file is young (read lately), ripe (a walk would take it) or in line. Young files stand in the
// order of their access times, ripe ones in a heap of names, so that a tick costs what changed
// since the one before, not what is there.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "models/engine/connectors/chunks/chunk_table.hpp"
#include "sim/ring_queue.hpp"
#include "sim/units.hpp"

namespace spillway {

class Evictor {
 public:
  /// `files` outlives it. Each entry there is a file of every rank; these are neighbours in a walk
  /// and go together.
  Evictor(const EvictorConfig& config, std::uint32_t ranks, ChunkTable& files)
      : config_(config), ranks_(ranks), files_(files) {}

  /// A file has appeared, or is there anew with the same name.
  void add(ChunkSlot slot, std::uint64_t name, Time accessed);
  void access(ChunkSlot slot, Time now);
  /// It looks at the disk, and deletes.
  void tick(Time now);

  /// Ticks that were to delete.
  std::uint64_t ticks() const { return ticks_; }
  /// Of these, those that found every file too young.
  std::uint64_t idle_ticks() const { return idle_ticks_; }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  enum class State : std::uint8_t { kGone, kYoung, kRipe, kInLine };
  struct File {
    std::uint64_t name = 0;
    Time accessed{};
    std::uint32_t next = kNobody;  ///< among young ones
    std::uint32_t previous = kNobody;
    State state = State::kGone;
    bool in_heap = false;  ///< perhaps as one that is young again
  };

  void append(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void ripen(Time now);
  bool take_ripe(std::uint32_t& slot);
  bool over(std::int64_t ppm, bool at_least) const;

  EvictorConfig config_;
  std::uint32_t ranks_;
  ChunkTable& files_;
  std::vector<File> known_;  ///< by slot
  std::uint32_t oldest_ = kNobody;
  std::uint32_t newest_ = kNobody;
  struct Named {
    std::uint64_t name;
    std::uint32_t slot;
    bool operator<(const Named& other) const { return name > other.name; }  // a heap of the first
  };
  std::vector<Named> ripe_;
  RingQueue<std::uint32_t> in_line_;
  bool deletes_ = false;
  std::uint64_t ticks_ = 0;
  std::uint64_t idle_ticks_ = 0;
};

}  // namespace spillway

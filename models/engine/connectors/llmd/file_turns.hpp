// What the file systems and thread pools of all engines have in common: the order of one instant,
// and how long evictors run.
//
// At one instant, tasks that end are settled first, in the order of their start; then idle threads
// go on, those of one engine after another; then evictors; then engines (chunks/settlement.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/connectors/chunks/settlement.hpp"

namespace spillway {

class FileStore;
class FileThreads;

class FileTurns final : public SharedThing, private AfterSettlement {
 public:
  /// `requests` of the whole workload.
  FileTurns(const EventQueue& queue, Settlement& settlement, std::uint32_t requests)
      : queue_(queue), settlement_(settlement), requests_(requests) {}

  /// The engine's number; the threads outlive the last event.
  void join(std::uint32_t engine, FileThreads& threads);
  void join(FileStore& store) { stores_.push_back(&store); }

  /// A task of the engine has ended, and its thread is idle; others may end at this instant, too.
  void freed(std::uint32_t engine);
  /// Behind the last request, evictors are of no interest.
  void request_ended();

 private:
  void settled() override;

  const EventQueue& queue_;
  Settlement& settlement_;
  std::uint32_t requests_;             ///< that have not ended
  std::vector<FileThreads*> threads_;  ///< by engine
  std::vector<std::uint32_t> freed_;   ///< engines, at this instant
  std::vector<FileStore*> stores_;
};

}  // namespace spillway

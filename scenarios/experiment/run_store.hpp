// A folder of segments as a cache of runs: what any earlier process stored there is found by its
// key, and what is new is appended to a segment of this process's own.
#pragma once

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "scenarios/experiment/segments.hpp"

namespace spillway {

class RunStore {
 public:
  /// Reads `folder`, which is made where there is none; new entries go to `stem`-N.jsonl. Throws
  /// InputError (exit 7), also where the folder cannot be written.
  RunStore(const std::string& folder, const std::string& stem);

  /// The payload that was stored first. Safe from several threads, and so is put().
  std::optional<nlohmann::json> find(const std::string& key) const;
  /// Throws InternalError where the key has another payload: equal runs gave different results.
  void put(const std::string& key, const nlohmann::json& payload, const nlohmann::json& aside);
  void put(const std::string& key, const nlohmann::json& payload);
  /// Throws InputError (exit 7). Call it at the end.
  void sync();

  std::size_t size() const;
  /// What was found when it was opened, with notes of damaged lines.
  const SegmentReport& report() const { return report_; }

 private:
  void keep(const SegmentEntry& entry, const std::string& place);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> payloads_;
  SegmentReport report_;
  SegmentWriter writer_;
};

}  // namespace spillway

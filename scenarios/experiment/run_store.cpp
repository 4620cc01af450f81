#include "scenarios/experiment/run_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace spillway {

namespace {

std::string ready(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw InputError(Fault::kIo, {folder, 0, ""},
                     fmt::format("cannot create the directory: {}", error.message()));
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw InputError(Fault::kIo, {folder, 0, ""},
                     fmt::format("cannot write: {}", std::strerror(errno)));
  }
  return folder;
}

}  // namespace

RunStore::RunStore(const std::string& folder, const std::string& stem)
    : writer_(ready(folder), stem) {
  report_ = read_segments(
      folder, [&](SegmentEntry&& entry, const SegmentPlace& place) { keep(entry, place.file); });
}

std::optional<nlohmann::json> RunStore::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = payloads_.find(key);
  if (at == payloads_.end()) return std::nullopt;
  return nlohmann::json::parse(at->second);
}

void RunStore::keep(const SegmentEntry& entry, const std::string& place) {
  const auto [at, fresh] = payloads_.emplace(entry.key, entry.payload);
  KV_ASSERT(fresh || at->second == entry.payload,
            "{}: equal runs have different results (key {}): not deterministic", place, entry.key);
}

void RunStore::put(const std::string& key, const nlohmann::json& payload) {
  put(key, payload, nlohmann::json::object());
}

void RunStore::put(const std::string& key, const nlohmann::json& payload,
                   const nlohmann::json& aside) {
  const SegmentEntry entry{key, payload.dump(), aside.dump()};
  const std::lock_guard lock(mutex_);
  const bool known = payloads_.contains(key);
  keep(entry, "now");
  if (!known) writer_.append(entry);
}

void RunStore::sync() {
  const std::lock_guard lock(mutex_);
  writer_.sync();
}

std::size_t RunStore::size() const {
  const std::lock_guard lock(mutex_);
  return payloads_.size();
}

}  // namespace spillway

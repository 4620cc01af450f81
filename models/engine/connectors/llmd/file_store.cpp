#include "models/engine/connectors/llmd/file_store.hpp"

#include <algorithm>

#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr Duration kDay = std::chrono::hours(24);

std::uint64_t splitmix64_of(std::uint64_t x) {
  return mix64(x + 0x9e3779b97f4a7c15ULL);
}

/// The last of the ids below `end` whose base is at most `block`: it has that block, as those
/// without blocks stand before who has some.
template <class Id>
Id owner_of(const ChainMap& chains, std::uint32_t end, std::uint32_t block) {
  std::uint32_t first = 0;
  while (end - first > 1) {
    const std::uint32_t middle = first + (end - first) / 2;
    (chains.base(Id{middle}) <= block ? first : end) = middle;
  }
  return Id{first};
}

}  // namespace

std::uint64_t file_name(const ChainMap& chains, ChunkId id) {
  const auto block = static_cast<std::uint32_t>(id);
  if (block < chains.base(RequestId{0})) {
    const auto in = owner_of<TraceBlockId>(chains, chains.workload().unique_blocks(), block);
    return splitmix64_of((chains.workload().block_name(in) << 12) + block - chains.base(in));
  }
  const auto whose = owner_of<RequestId>(chains, chains.workload().size(), block);
  const std::uint32_t before = chains.blocks_of(whose) - chains.count(whose);
  return splitmix64_of((std::uint64_t{1} << 60) + (std::uint64_t{raw(whose)} << 24) + before +
                       block - chains.base(whose));
}

FileStore::FileStore(const ChunkTierConfig& config, const ChainMap& chains, Bytes file,
                     std::uint32_t ranks)
    : chains_(chains),
      file_(file),
      atime_(config.atime),
      table_(config.capacity, ChunkOrder::kNone) {
  if (!config.evicts) return;
  evictor_.emplace(config.evictor, ranks, table_);
  interval_ = config.evictor.interval;
  next_tick_ = Time() + interval_;
}

/// relatime: the access time moves only where it tells something new (mount(8)).
void FileStore::read(ChunkId id, Time now) {
  if (atime_ == AtimeRule::kNone) return;
  const Times& file = times_of(table_.find(id));
  const bool told = file.accessed > file.modified && now - file.accessed < kDay;
  if (atime_ == AtimeRule::kRelatime && told) return;
  touch(id, now);
}

/// The backend sets the time itself, however the file system is mounted
/// (kv_connectors/llmd_fs_backend: a block that is stored again).
void FileStore::touch(ChunkId id, Time now) {
  const ChunkSlot slot = table_.find(id);
  times_of(slot).accessed = now;
  if (evictor_) evictor_->access(slot, now);
}

bool FileStore::write(ChunkId id, Time now) {
  ChunkSlot slot = table_.find(id);
  if (slot == kNoChunkSlot) {
    if (!table_.fits(file_)) {
      ++failed_;
      return false;
    }
    slot = table_.take(file_);
    table_.name(slot, id);
    table_.done(slot);
  }
  times_of(slot) = {now, now};
  if (evictor_) evictor_->add(slot, file_name(chains_, id), now);
  return true;
}

void FileStore::tick_until(Time end) {
  for (; next_tick_ <= end; next_tick_ += interval_) evictor_->tick(next_tick_);
}

}  // namespace spillway

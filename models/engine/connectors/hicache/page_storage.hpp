// What HiCache's storage threads read from and write to: pages by their names, in batches, of which
// one is read and one written at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/requests/engine_stats.hpp"
#include "sim/ids.hpp"

namespace spillway {

/// Told, once for all that ends at an instant, that batches have ended.
class PageListener {
 public:
  virtual void on_batches_ended(bool read, bool write) = 0;

 protected:
  ~PageListener() = default;
};

class PageStorage {
 public:
  static constexpr std::size_t kMostTiers = 2;
  using ByTier = std::array<std::uint32_t, kMostTiers>;

  virtual ~PageStorage() = default;
  /// Outlives it.
  void attach(PageListener& listener) { listener_ = &listener; }

  /// What it calls a page of the engine. All else goes by these names.
  virtual BlockId name_of(BlockId page) const = 0;
  /// How many leading ones are there.
  virtual std::uint32_t ask(std::span<const BlockId> pages) = 0;
  /// Reads the leading ones that are there. False: there are none, and no batch.
  virtual bool begin_read(std::span<const BlockId> pages) = 0;
  /// How many leading ones have come; appends for each the tier that it came from, 0 or 1.
  virtual std::uint32_t end_read(std::vector<std::uint8_t>& from) = 0;
  /// Writes those that are not there, as far as there is room. False: no batch.
  virtual bool begin_write(std::span<const BlockId> pages) = 0;
  virtual void end_write() = 0;

  /// A request is admitted: nearer tiers do not have `asked` pages, of which `hits` came from here.
  virtual void count(std::uint64_t asked, const ByTier& hits) = 0;
  /// A request of the engine has ended, one way or another.
  virtual void on_request_end() {}
  /// Tiers whose level the engine tells of; others tell of it themselves.
  virtual std::uint32_t told_tiers() const = 0;
  virtual TierLevel level() = 0;
  virtual void report(EngineStats& stats) const = 0;
  virtual void grow_blocks(std::uint32_t blocks) = 0;
  virtual void check_drained() const = 0;

 protected:
  PageListener& listener() { return *listener_; }

 private:
  PageListener* listener_ = nullptr;
};

}  // namespace spillway

// The tables of policies by kind. Adding one: a file under the kind's folder, then its declaration
// and its row in catalogue.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "policies/eviction_policy.hpp"
#include "policies/params.hpp"
#include "sim/catalogue.hpp"
#include "sim/next_use.hpp"
#include "sim/request_facts.hpp"

namespace spillway {

/// What a new eviction policy may know.
struct EvictionContext {
  std::uint32_t slots = 0;     ///< slot ids are below this, until grow()
  std::uint32_t blocks = 0;    ///< block ids are below this, until grow()
  std::uint64_t capacity = 0;  ///< blocks that the tier may ever hold
  std::uint32_t block_tokens = 1;
  const SlotContents* contents = nullptr;  ///< of the tier
  const RequestFacts* requests = nullptr;  ///< where the policy needs them
  const NextUse* future = nullptr;         ///< where the policy needs it: replay only
  std::uint64_t seed = 1;
};

/// What a policy needs beside its tier; whoever makes one asks first.
struct PolicyNeeds {
  bool requests = false;  ///< sessions, turns and categories
  bool future = false;    ///< next uses: there is none in a run with a clock
};

struct EvictionEntry {
  std::string_view name;
  std::string_view summary;  ///< one sentence, for help and listings
  /// Throws InputError (exit 2) at `where` when the parameters do not fit the tier.
  std::unique_ptr<EvictionPolicy> (*make)(const EvictionContext& context, const Params& params,
                                          const SourceRef& where);
  std::span<const ParamSpec> params{};
  PolicyNeeds needs{};
  bool holds_back = false;  ///< keeps blocks from another policy; no such policy stands on it
};

std::span<const EvictionEntry> eviction_policies();

/// A policy of the catalogue with its parameters, as a user wrote it.
class EvictionChoice {
 public:
  EvictionChoice();  ///< lru
  EvictionChoice(const EvictionEntry& entry, Params params, SourceRef where)
      : entry_(&entry), params_(std::move(params)), where_(std::move(where)) {}

  /// "lru", or with parameters: "s3fifo:small=0.2".
  std::string text() const;
  std::string_view name() const { return entry_->name; }
  const PolicyNeeds& needs() const { return entry_->needs; }
  bool holds_back() const { return entry_->holds_back; }
  std::unique_ptr<EvictionPolicy> make(const EvictionContext& context) const {
    return entry_->make(context, params_, where_);
  }

 private:
  const EvictionEntry* entry_;
  Params params_;
  SourceRef where_;
};

/// Reads `name` or `name:key=value:...`. Throws InputError (exit 2) at `where`: an unknown name
/// lists the known ones and the nearest.
EvictionChoice parse_eviction(std::string_view text, const SourceRef& where);

}  // namespace spillway

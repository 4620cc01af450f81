// The tables of policies by kind. Adding one: a file under the kind's folder, then its declaration
// and its row in catalogue.cpp (eviction) or admission_catalogue.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "policies/admission_policy.hpp"
#include "policies/eviction_policy.hpp"
#include "policies/params.hpp"
#include "policies/write_admission_policy.hpp"
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

/// A row of a kind's table.
template <class Policy, class Context>
struct PolicyEntry {
  std::string_view name;
  std::string_view summary;  ///< one sentence, for help and listings
  /// Throws InputError (exit 2) at `where` when the parameters do not fit the context.
  std::unique_ptr<Policy> (*make)(const Context& context, const Params& params,
                                  const SourceRef& where);
  std::span<const ParamSpec> params{};
  PolicyNeeds needs{};
  bool holds_back = false;  ///< keeps blocks from another policy; no such policy stands on it
};
using EvictionEntry = PolicyEntry<EvictionPolicy, EvictionContext>;
/// Made as null where everything is admitted: nobody asks then.
using AdmissionEntry = PolicyEntry<AdmissionPolicy, AdmissionContext>;
using WriteAdmissionEntry = PolicyEntry<WriteAdmissionPolicy, WriteAdmissionContext>;

std::span<const EvictionEntry> eviction_policies();

std::span<const AdmissionEntry> admission_policies();
std::span<const WriteAdmissionEntry> write_admission_policies();

/// A policy of a table with its parameters, as a user wrote it.
template <class Entry>
class PolicyChoice {
 public:
  PolicyChoice();  ///< the default: lru; always
  PolicyChoice(const Entry& entry, Params params, SourceRef where)
      : entry_(&entry), params_(std::move(params)), where_(std::move(where)) {}

  /// "lru", or with parameters: "s3fifo:small=0.2".
  std::string text() const {
    const std::string given = params_.given();
    return given.empty() ? std::string(name()) : fmt::format("{}:{}", name(), given);
  }
  std::string_view name() const { return entry_->name; }
  const PolicyNeeds& needs() const { return entry_->needs; }
  bool holds_back() const { return entry_->holds_back; }
  template <class Context>
  auto make(const Context& context) const {
    return entry_->make(context, params_, where_);
  }

 private:
  const Entry* entry_;
  Params params_;
  SourceRef where_;
};
using EvictionChoice = PolicyChoice<EvictionEntry>;
using AdmissionChoice = PolicyChoice<AdmissionEntry>;
using WriteAdmissionChoice = PolicyChoice<WriteAdmissionEntry>;
template <>
EvictionChoice::PolicyChoice();
template <>
AdmissionChoice::PolicyChoice();
template <>
WriteAdmissionChoice::PolicyChoice();

/// Reads `name` or `name:key=value:...`. Throws InputError (exit 2) at `where`: an unknown name
/// lists the known ones and the nearest.
template <class Entry>
PolicyChoice<Entry> parse_policy(std::span<const Entry> rows, std::string_view kind,
                                 std::string_view text, const SourceRef& where) {
  const std::string_view name = text.substr(0, text.find(':'));
  const Entry& entry = find_row(rows, kind, name, where);
  text.remove_prefix(name.size());
  if (text == ":") {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{}: expected key=value behind the colon", name));
  }
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  return {entry, Params(entry.params, entry.name, text, where), where};
}
EvictionChoice parse_eviction(std::string_view text, const SourceRef& where);
AdmissionChoice parse_admission(std::string_view text, const SourceRef& where);
WriteAdmissionChoice parse_write_admission(std::string_view text, const SourceRef& where);

}  // namespace spillway

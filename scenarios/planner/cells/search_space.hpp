// What a plan tries: each combination of plan.search's values, at each size of plan.tier.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/experiment/variants.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

inline constexpr std::size_t kMostCells = 500;

/// One combination at one size.
struct PlanCell {
  std::uint32_t variant = 0;  ///< the combination
  std::string name;           ///< "64GiB, replicas=2, eviction=lru"
  std::string capacity;       ///< as written
  bool unbounded = false;
  std::int64_t capacity_bytes = 0;  ///< of one instance; 0 where unbounded
  Scenario scenario;                ///< with that capacity
  std::string engine_lacks;         ///< the policy that the engine cannot run; empty: none
  bool candidate = true;            ///< may be recommended
};

/// Where a grid that was filled in ends although no value in it is bracketed, or may not be.
struct GridEnd {
  std::string code;  ///< no-longer-helps, never-acts, largest, smallest, useful, host
  std::string axis;  ///< "fleet.replicas", "workload.speed", "plan.sizes", ...
  std::string last;  ///< the last value tried, as written
  Note note;         ///< what was tried, and why not further
  bool met = false;  ///< it meets the SLO there: the answer may lie beyond; else nothing does
};

struct SearchSpace {
  std::vector<Variant> variants;                  ///< the first key of plan.search changes slowest
  std::vector<PlanCell> cells;                    ///< by variant, sizes ascending
  std::vector<std::vector<std::uint32_t>> lines;  ///< cells of each variant
  Notes notes;                                    ///< how sizes came about, where not given
  std::vector<GridEnd> ends;                      ///< where the grid stops without an answer inside
};

/// Throws InputError (exit 2) where the scenario has no plan or no SLO, or an objective that lacks
/// what it needs. `objective` says where that was asked for, where that is known.
void check_plan(const Scenario& scenario, std::optional<SourceRef> objective = {});

/// The combinations, each a scenario of its own; one where nothing is searched. Throws what
/// check_plan() throws, and InputError (exit 2) for a key that cannot be searched, for combinations
/// that are the same and for more than kMostCells of them.
std::vector<Variant> plan_variants(const JsonSource& source);

/// `workload_of` gives a variant's workload, which sizes are chosen from where none are listed.
/// Throws InputError (exit 2) for sizes that do not fit a variant.
SearchSpace make_search_space(std::vector<Variant> variants,
                              const std::function<const Workload&(const Scenario&)>& workload_of);

/// Marks cells whose policies the engine does not have: they are no candidates, unless all are
/// such.
void mark_engine_lacks(SearchSpace& space);

/// Engines with a tier of their own: data-parallel ones of all replicas.
std::int64_t instances_of(const Scenario& scenario);
/// Bytes of the planned tier over all engines and replicas; the largest number where unbounded.
std::int64_t total_bytes(const PlanCell& cell);
/// GPUs of all of them.
std::uint32_t total_gpus(const Scenario& scenario);

/// The cells, the most preferred first. `score` is by cell, larger is better: what the objective
/// wants beyond sizes (empty for least-dram). Then fewer bytes, fewer GPUs, the order written.
std::vector<std::uint32_t> preference_of(const SearchSpace& space,
                                         const std::vector<double>& score);
/// The searched values of a variant as people name them, `keys[k]` naming its `k`th.
std::string values_label(const Variant& variant, std::span<const std::string> keys);

/// By cell: the load that it carries, of the axes that change load.
std::vector<double> loads_of(const SearchSpace& space);
/// By cell: how few GPUs it takes, more is fewer.
std::vector<double> gpu_scores(const SearchSpace& space);

}  // namespace spillway

// Notes of plans, and what else a plan says in sentences.
#pragma once

#include "reports/notes/notes.hpp"

namespace spillway {

inline constexpr NoteRow kPlanNotes[] = {
    // ---- verdicts: what a reader must not miss
    {"standstill-in-replicates", "fleet", NoteGrade::kDanger,
     "The server stops serving for ever in {where}. {why}"},
    {"offload-hurts", "tier", NoteGrade::kDanger,
     "Offload hurts at {sizes}. {metric} is {after} with {size} and {before} without the tier "
     "({over})[: {change}].[ {how}][ The tier serves {served_share} of prompt tokens there; from "
     "{pays_share} on ({pays_size}) it does not hurt.][ On an idle link loads win from "
     "{break_even_tokens} tokens on.][ Link {link} is busy {busy}.]"},
    {"loads-never-win", "tier", NoteGrade::kWarning,
     "No prefix loads sooner over an idle link than it is recomputed."},
    {"link-bound", "link", NoteGrade::kDanger,
     "More {tier} is slower at {sizes}: the link is the bottleneck. {metric} is {before} at "
     "{smaller} and {after} at {larger} ({over}). Link {link} is busy {busy}. Every size was run; "
     "none was inferred from its neighbours."},
    {"link-decides", "link", NoteGrade::kWarning,
     "Link {link} decides at {size}: it is busy {busy}. More {tier} adds to its load."},
    {"cold-limited", "tier", NoteGrade::kWarning,
     "The trace is too short for {sizes}: it never fills {count|this size|these sizes}. A longer "
     "trace would judge {count|it|them}; {count|it is|they are} left out."},
    {"tier-adds-nothing", "tier", NoteGrade::kWarning,
     "The {tier} tier adds nothing at {sizes}: caches serve {with_share} of prompt tokens with it "
     "and {without_share} without. {why}"},
    {"tier-within-hbm", "tier", NoteGrade::kDetail,
     "It is no larger than HBM ({blocks} blocks) and holds copies of what HBM holds."},
    {"little-reuse", "reuse", NoteGrade::kDetail,
     "Prompts repeat only {reuse_share} of their blocks."},
    {"hbm-suffices", "tier", NoteGrade::kDetail, "HBM ({blocks} blocks) serves what is repeated."},
    {"larger-untried", "tier", NoteGrade::kDetail,
     "Blocks leave these sizes before they are reused. Caches without bound would hit about "
     "{reuse_share} of prompt blocks: try larger sizes."},
    {"returns-too-late", "tier", NoteGrade::kDetail,
     "Blocks leave these sizes before they are reused."},
    {"nvme-undecided", "tier", NoteGrade::kWarning,
     "NVMe cannot be judged: no size tried meets the SLO, with or without it."},
    {"nvme-harms", "tier", NoteGrade::kWarning,
     "NVMe is not worth it: {without} meets the SLO without NVMe, and no size with it."},
    {"nvme-needed", "tier", NoteGrade::kWarning,
     "NVMe is worth it: {with} meets the SLO above NVMe, and no size without it."},
    {"nvme-may-be-needed", "tier", NoteGrade::kWarning,
     "NVMe may be worth it: {with} may meet the SLO above NVMe, and no size does without it."},
    {"nvme-worth-it", "tier", NoteGrade::kWarning,
     "NVMe is worth it: {with} meets the SLO above NVMe. Without NVMe it takes {without}."},
    {"nvme-may-be-worth-it", "tier", NoteGrade::kWarning,
     "NVMe may be worth it: {with} may meet the SLO above NVMe. Without NVMe it takes {without}."},
    {"nvme-not-worth-it", "tier", NoteGrade::kWarning,
     "NVMe is not worth it: {without} meets the SLO without NVMe, and no smaller size with it."},
    {"overload", "workload", NoteGrade::kDanger,
     "Overload: half of the requests wait longer than {median_wait_ms} at {size}. They arrive at "
     "{arrive_per_s} for {span_s} and leave at {leave_per_s}. Sizes are compared under a queue "
     "that never ends."},

    // ---- the limiting resource
    {"too-long", "workload", NoteGrade::kDanger,
     "{late_share} of requests are longer than engine.max_model_len ({max_model_len} tokens) and "
     "fail at every size. {metric} allows {allowed_share} to miss. Raise engine.max_model_len."},
    {"queue-grows", "workload", NoteGrade::kDanger,
     "Requests arrive at {arrive_per_s} and leave at {leave_per_s}, so the queue grows. No size "
     "tried keeps up.[ Resource {resource}: {why}]"},
    {"turned-away", "workload", NoteGrade::kDanger,
     "{rejected_share} of requests are rejected ({reasons})."},
    {"link-busy", "link", NoteGrade::kWarning, "Link {link} is busy {busy_share} of the time."},
    {"better-policy", "tier", NoteGrade::kWarning,
     "At this capacity {policy} hits {policy_share} of prompt blocks. The offline optimum hits "
     "{optimum_share}, a cache without bound {reuse_share}."},
    {"no-larger-size", "tier", NoteGrade::kDetail, "No larger size was tried."},
    {"larger-sizes-miss", "tier", NoteGrade::kDetail, "Larger sizes miss the SLO."},
    {"larger-sizes-gain", "tier", NoteGrade::kDetail,
     "Larger sizes, up to {size}, serve {gain_share} more of prompt tokens."},
    {"capacity-pays", "tier", NoteGrade::kWarning,
     "Caches serve {here_share} of prompt tokens here and {larger_share} with more.[ The offline "
     "optimum would hit {optimum_gain_share} more at this capacity.]"},
    {"all-sizes-small", "tier", NoteGrade::kWarning,
     "Up to {size}, the largest size tried, caches serve {larger_share} of prompt tokens. About "
     "{reuse_share} of prompt blocks repeat."},
    {"caches-serve-all", "tier", NoteGrade::kDetail,
     "Caches serve {here_share} of prompt tokens, nearly everything that repeats."},
    {"change-meets", "other", NoteGrade::kWarning,
     "With {change}, {metric} of {size} would be {figure}, not {base}, in one run of the "
     "workload. That meets the SLO."},
    {"change-helps", "other", NoteGrade::kWarning,
     "With {change}, {metric} of {size} would be {figure}, not {base}, in one run of the "
     "workload. That still misses the SLO."},
    {"change-meets-too", "other", NoteGrade::kDetail,
     "With {change} it would be {figure}, which meets the SLO."},
    {"change-helps-too", "other", NoteGrade::kDetail, "With {change} it would be {figure}."},
    {"changes-barely-help", "other", NoteGrade::kDetail, "These would barely help: {changes}."},

    // ---- range, runner-up, sweet spot
    {"larger-misses", "tier", NoteGrade::kDanger,
     "More is not always faster: {size} meets the SLO. {sizes} {how}."},
    {"runner-up-short", "tier", NoteGrade::kDetail,
     "It {how}: {what}.[ Limiting resource: {resource}.]"},
    {"runner-up-not-needed", "tier", NoteGrade::kDetail,
     "It met every target in {replicates} replicate{replicates||s}. It was not verified, because "
     "the recommended configuration suffices."},
    {"runner-up-uncertain", "tier", NoteGrade::kDetail, "It may meet the SLO: {what}."},
    {"runner-up-unbounded", "tier", NoteGrade::kDetail, "It has no bound. {figures}."},
    {"runner-up-larger", "tier", NoteGrade::kDetail,
     "It takes {more_bytes} more {tier} for the same SLO. {figures}."},
    {"runner-up-more-gpus", "tier", NoteGrade::kDetail,
     "It takes {more_gpus} more GPU{more_gpus||s} for the same SLO. {figures}."},
    {"runner-up-equal", "tier", NoteGrade::kDetail,
     "It takes as much {tier} and as many GPUs, and is listed later. {figures}."},
    {"runner-up-less", "tier", NoteGrade::kDetail,
     "The objective {objective} prefers the recommended configuration. {figures}."},
    {"little-gain-decides", "tier", NoteGrade::kDetail,
     "Over the sizes tried caches serve {least_share} to {most_share} of prompt tokens. That is "
     "little, but it decides the SLO."},
    {"little-gain", "tier", NoteGrade::kDetail,
     "More {tier}, up to {size}, gains little: caches serve {least_share} to {most_share} of "
     "prompt tokens."},
    {"unbounded-finds-more", "tier", NoteGrade::kWarning,
     "Caches without bound would hit about {reuse_share} of prompt blocks: try larger sizes."},
    {"no-more-reuse", "tier", NoteGrade::kDetail,
     "Larger sizes would not serve more: about {reuse_share} of prompt blocks repeat."},
    {"no-knee", "tier", NoteGrade::kDetail,
     "No sweet spot within the sizes tried: hits grow up to {size}."},

    // ---- headroom
    {"headroom-target", "other", NoteGrade::kDetail, "The tightest target: {target}."},
    {"headroom-confidence", "other", NoteGrade::kDetail,
     "{metric}: the bound over {replicates} replicates is {bound}, and {allowed} is allowed."},
    {"headroom-rounding", "tier", NoteGrade::kDetail,
     "{size} is rounded up to {rounded}, which can be bought or set."},
    {"headroom-size", "tier", NoteGrade::kDetail,
     "{smaller} {how}: the least size that suffices lies between the two."},
    {"headroom-host", "host", NoteGrade::kDetail,
     "{left_bytes} of host memory are left for page cache, tokenizers and staged weights."},
    {"headroom-growth", "workload", NoteGrade::kDetail,
     "Beyond that change of {factor} the answer differs ({replicates} replicate{replicates||s})."},
    {"headroom-growth-at-least", "workload", NoteGrade::kDetail,
     "At least: the most that was tried meets the SLO ({factor}, {replicates} "
     "replicate{replicates||s})."},

    // ---- figures beside the field's rules (reports/plan/advice.hpp has the rules)
    {"pool-of-host", "host", NoteGrade::kDetail,
     "{pools_bytes} of pools in {host_bytes} of host memory is {pools_share}."},
    {"low-hit-rate", "tier", NoteGrade::kDetail,
     "{hits} hits in {lookups} look-ups of {tier} is {hit_share}. The largest size tried serves "
     "{gain_share} more of prompt tokens."},
    {"low-hit-rate-untried", "tier", NoteGrade::kDetail,
     "{hits} hits in {lookups} look-ups of {tier} is {hit_share}. No larger size was tried."},
    {"high-hit-rate", "tier", NoteGrade::kDetail,
     "{hits} hits in {lookups} look-ups of {tier} is {hit_share}. {metric} is {with} with the tier "
     "and {without} without ({over})."},
    {"offload-hurts-here", "tier", NoteGrade::kDetail,
     "At {size} the tier makes the service slower: it takes {lost_share} of the time of steps and "
     "serves {served_share} of prompt tokens."},
    {"offload-costs-little", "tier", NoteGrade::kDetail,
     "At {size} the tier takes {lost_share} of the time of steps and serves {served_share} of "
     "prompt tokens."},
    {"dram-beats-gpu", "tier", NoteGrade::kDetail,
     "DRAM costs ${dram_gb_dollars} a GB, GPU memory ${gpu_gb_dollars}: {times} times as much. "
     "{size} of {tier} meets the SLO, and less does not."},
    {"dram-not-limiting", "tier", NoteGrade::kDetail,
     "DRAM costs ${dram_gb_dollars} a GB, GPU memory ${gpu_gb_dollars}: {times} times as much. The "
     "limiting resource here: {kind}."},
    {"typical-host", "host", NoteGrade::kDetail,
     "{gpu_gb} GB of {tier} per GPU is {typical_share} of 250 GB. Pools take 70% at most."},
    {"short-contexts", "workload", NoteGrade::kDetail,
     "95% of contexts end within {context_p95_tokens} tokens. Requests hold at most {held_share} "
     "of HBM and none is preempted. {tier} serves {tier_share} of prompt tokens."},
    {"long-contexts", "workload", NoteGrade::kDetail,
     "95% of contexts end within {context_p95_tokens} tokens. {size} of {tier} serves {tier_share} "
     "of prompt tokens."},
    {"short-chat", "workload", NoteGrade::kDetail,
     "95% of contexts end within {context_p95_tokens} tokens. The SLO asks {target}. Decodes read "
     "{cold_blocks_per_token} cold blocks a token."},
    {"common-prefixes", "workload", NoteGrade::kDetail,
     "{common_tokens} tokens of a prompt ({common_share} of all) stand in blocks that at least 1% "
     "of requests share."},
    {"link-bound-decode", "link", NoteGrade::kDetail,
     "Link {link} is busy {busy_share} of the time. p99 TPOT is {p99_tpot_ms}, the median "
     "{median_tpot_ms}. Steps waited {load_wait_s} for loads. Decodes read "
     "{cold_blocks_per_token} cold blocks a token."},
    {"several-gpus", "fleet", NoteGrade::kDetail,
     "{ranks} ranks each hold a part of every block.[ {size} of {tier} is {rank_bytes} a rank.][ "
     "The host has {numa_nodes} NUMA nodes.]"},

    // ---- the grid, budgets, policies that the engine lacks
    {"sizes-from-reuse", "tier", NoteGrade::kDetail,
     "Sizes follow from the trace's reuse: LRU gains nothing beyond {useful_bytes}."},
    {"sizes-end-at-host", "tier", NoteGrade::kDetail,
     "Sizes follow from the trace's reuse: LRU gains nothing beyond {useful_bytes}. The host's "
     "memory ends them at {largest}."},
    {"sizes-end-at-usual-host", "tier", NoteGrade::kDetail,
     "Sizes follow from the trace's reuse: LRU gains nothing beyond {useful_bytes}. They end at "
     "{largest}, as few hosts have more. Set host.memory or plan.sizes to try more."},
    {"load-searched", "workload", NoteGrade::kWarning,
     "plan.search varies the load, and the objective least-dram takes the lowest load. For the "
     "most load set plan.objective=most-load."},
    {"size-rounded", "tier", NoteGrade::kDetail,
     "{size} is rounded up to {rounded}, in steps of {step}."},
    {"budget-ended", "other", NoteGrade::kWarning,
     "The budget ended first: {so_far}. A larger --budget or plan.max_runs may find a better "
     "configuration."},
    {"left-out-by-time", "other", NoteGrade::kWarning,
     "{what} is left out or cut short: the time budget ended. Raise --budget."},
    {"left-out-by-runs", "other", NoteGrade::kWarning,
     "{what} is left out: {left} of {max_runs} runs are left, and it takes {needed}. Raise "
     "plan.max_runs."},
    {"sensitivity-cut-short", "other", NoteGrade::kWarning,
     "Sensitivity is cut short: the time budget ended. Raise --budget."},
    {"sensitivity-with-fewer-runs", "other", NoteGrade::kWarning,
     "Sensitivity had {runs} runs, not {usual_runs}. Raise plan.max_runs."},
    {"other-policy-misses", "tier", NoteGrade::kDetail,
     "{what} would miss the SLO at every size too. {engine} cannot run {policy}."},
    {"other-policy-meets", "tier", NoteGrade::kDetail,
     "{what} would need {size} (one run). {engine} cannot run {policy}."},
    {"other-policy-saves-nothing", "tier", NoteGrade::kDetail,
     "{what} would need {size} (one run), no less than the recommended size. {engine} cannot run "
     "{policy}."},
    {"plan-is-bound", "tier", NoteGrade::kDanger,
     "{engine} cannot run {policy}. Read this plan as a bound on what a policy could reach."},

    {"grid-at-most", "tier", NoteGrade::kWarning, "Tried up to {last}, the most that is tried."},
    {"grid-at-host", "host", NoteGrade::kWarning,
     "Tried up to {last}: the host has no more memory (host.memory)."},
    {"grid-at-usual-host", "host", NoteGrade::kWarning,
     "Tried up to {last}: few hosts have more. Set plan.sizes or host.memory to try more."},
    {"grid-reuse-ends", "tier", NoteGrade::kDetail,
     "Tried up to {last}: the trace reuses nothing beyond that."},
    {"grid-not-admitted", "workload", NoteGrade::kWarning,
     "Tried up to {last}: more do not help requests that no server takes."},
    {"grid-no-longer-helps", "tier", NoteGrade::kWarning,
     "Tried up to {last}: more no longer help ({target})."},
    {"grid-lowest-misses", "workload", NoteGrade::kWarning,
     "Tried down to {last} {unit}, which misses the SLO as well."},
    {"grid-highest-meets", "workload", NoteGrade::kWarning,
     "Tried up to {last} {unit}, which meets the SLO as well: the limit is higher."},
    {"grid-never-acts", "workload", NoteGrade::kWarning,
     "Tried up to {last} {unit}: more no longer change the run."},

    // ---- what would help, stress, sensitivity
    {"changes-by-runs", "other", NoteGrade::kWarning,
     "Only {changes} changes were tried. Raise plan.max_runs for more."},
    {"change-refused", "other", NoteGrade::kDetail, "{change} could not be tried: {why}."},
    {"growth-assumed", "workload", NoteGrade::kWarning,
     "Forecasts assume {growth_share} more sessions a month. Set plan.growth_per_month to yours."},
    {"growth-given", "workload", NoteGrade::kDetail,
     "Forecasts take {growth_share} more sessions a month, as plan.growth_per_month says."},
    {"stress-one-run", "other", NoteGrade::kDetail,
     "Each event is one run of the workload itself, without an interval."},
    {"one-instance-a-host", "host", NoteGrade::kWarning,
     "A host is taken to hold one instance. Set host.instances to how many it holds."},
    {"loss-from-the-start", "fleet", NoteGrade::kDetail,
     "The loss of a host is fewer instances from the start. What its caches held is not lost in "
     "that run."},
    {"restart-empties-storage", "tier", NoteGrade::kDetail,
     "A cold restart empties storage too. A drive that keeps its blocks does better."},
    {"reuse-only-falls", "reuse", NoteGrade::kDetail,
     "Reuse is only taken away. A trace does not show what could be added."},
    {"calibration-moves", "compute", NoteGrade::kDetail,
     "Calibration moves times by {error_share} ({source})."},
    {"blocks-estimated", "hardware", NoteGrade::kWarning,
     "The answer turns within what is estimated: HBM's {blocks} KV blocks may be {error_share} "
     "more or fewer. The server's start-up log has the number: give it as measured, or as "
     "engine.num_gpu_blocks."},
    {"no-limits-searched", "other", NoteGrade::kWarning,
     "No limits are searched: on these replicates the recommended configuration misses the SLO."},
    {"factor-not-moved", "other", NoteGrade::kDetail, "Not moved: {what}."},
    {"sensitivity-is-a-guide", "other", NoteGrade::kDetail,
     "Sensitivity rests on {replicates} replicate{replicates||s}, the same for every factor. It "
     "has no interval: it shows where to look."},
    {"sensitivity-runs-ended", "other", NoteGrade::kWarning,
     "Sensitivity ended after {runs} runs. Raise plan.max_runs to see every factor."},

    // ---- regret and cost
    {"regret-of-some", "other", NoteGrade::kWarning,
     "{tried} of {configurations} configurations were tried under every demand. The best for a "
     "demand may be another one. Raise plan.max_runs."},
    {"regret-rule", "other", NoteGrade::kDetail,
     "\"{as_is}\" takes the plan's own verdicts. Under another demand {rule} meets every target, "
     "without a confidence bound."},
    {"demand-met-by-none", "other", NoteGrade::kWarning,
     "No configuration meets the SLO under the demand \"{demand}\", so it does not count."},
    {"regret-measure", "other", NoteGrade::kDetail,
     "Regret is how far a configuration falls behind the best one for a demand, in {measure}."},
    {"regret-prices-missing", "cost", NoteGrade::kWarning,
     "Prices missing: {prices}. Configurations that need them count as failing."},
    {"not-run", "other", NoteGrade::kDetail, "Not run: {why}."},
    {"written-off", "cost", NoteGrade::kDetail,
     "{key}: {purchase} {currency} written off over {months} months[, and {monthly} a month]."},
    {"priced-at-end", "cost", NoteGrade::kDetail,
     "{tier} has no capacity. It is priced at {held_bytes}, which the workload left there."},
    {"priced-at-most-held", "cost", NoteGrade::kDetail,
     "{tier} is unbounded. It is priced at {held_bytes}, the most that the workload held."},
    {"network-without-price", "cost", NoteGrade::kWarning,
     "{month_gb} GB a month to and from remote storage have no price. Set network.per_gb."},
    {"front-within-noise", "cost", NoteGrade::kDetail,
     "{configurations} configurations serve more than a cheaper one by no more than noise. They "
     "are left off the front."},
    {"prices-missing", "cost", NoteGrade::kWarning,
     "Prices missing: {prices}. Configurations that need them have no cost."},
    {"price-not-taken", "cost", NoteGrade::kWarning, "Price not taken: {why}."},
    {"drive-rating-unknown", "cost", NoteGrade::kWarning,
     "The rated endurance of the drive of {tier} is not known, so its life is not. Set "
     "device.endurance_tbw."},
    {"month-of-hours", "cost", NoteGrade::kDetail,
     "A month has {hours} hours, with the recorded load in all of them. Tokens are read and "
     "written ones."},
    {"prices-without-source", "cost", NoteGrade::kDetail, "The price list gives no source."},

    // ---- what the flags leave out
    {"no-flag", "engine", NoteGrade::kWarning, "No engine flag sets {what}."},
};

using PlanNote = NoteCode<kPlanNotes>;
inline Note plan_note(PlanNote which, NoteFigures figures = {}) {
  return make_note(*which.row, std::move(figures));
}

}  // namespace spillway

// Notes of comparisons, replays, campaigns and validations.
#pragma once

#include "reports/notes/notes.hpp"

namespace spillway {

inline constexpr NoteRow kStudyNotes[] = {
    // ---- comparisons
    {"missed-in-worst-hour", "workload", NoteGrade::kWarning,
     "{metric} misses the SLO in hour {hour}: {worst_share} of {requests} requests exceed the "
     "limit. Over all {hours} hours {missed_share} do ({allowed_share} allowed). Size for that "
     "hour."},
    {"replicates-made", "comparison", NoteGrade::kDetail, "Replicates: {method}."},
    {"serves-nobody", "comparison", NoteGrade::kDanger,
     "{variant} completes no request in some replicate. It ranks last."},
    {"engine-cannot-run", "comparison", NoteGrade::kWarning,
     "{variant} ranks behind the others, as a bound: {engine} cannot run {lacks}."},
    {"engines-alike", "comparison", NoteGrade::kDetail,
     "Each engine has {tokens} tokens on the device. What the scenario does not say is its own "
     "default."},
    {"engines-alike-below", "comparison", NoteGrade::kDetail,
     "Each engine has {tokens} tokens on the device and {below_bytes} in {tier}. What the scenario "
     "does not say is its own default."},
    {"engines-alike-unbounded", "comparison", NoteGrade::kDetail,
     "Each engine has {tokens} tokens on the device, and {tier} without a bound. What the scenario "
     "does not say is its own default."},
    {"scheduling-differs", "comparison", NoteGrade::kWarning,
     "{without} runs without asynchronous scheduling, {with} with it. That moves latencies, too. "
     "To "
     "compare stores alone use --set engine.async_scheduling=false."},
    {"levels-differ", "comparison", NoteGrade::kWarning,
     "{metric} of the baseline is {recorded} on the recording and {mean} on its resamples. Compare "
     "differences, not levels."},
    {"workloads-differ", "comparison", NoteGrade::kDetail,
     "Variants have different workloads. Replicates are paired by their random draws, not request "
     "by request."},
    {"few-beyond-percentile", "comparison", NoteGrade::kWarning,
     "{metric} of {requests} completed requests rests on fewer than {least} of them. Use {needed} "
     "requests or more, or another --metric."},
    {"completions-differ", "comparison", NoteGrade::kWarning,
     "{variant} completes {requests} requests of replicate {replicate}, the baseline "
     "{base_requests}. Latencies are of completed requests only."},

    // ---- replays without a clock
    {"sessions-unknown", "reuse", NoteGrade::kWarning,
     "Each request counts as a session: the trace names none. --infer-sessions finds chats by "
     "their prefixes."},
    {"bounds-of-one-cache", "reuse", NoteGrade::kDetail,
     "Bounds are of one cache of all tiers' capacity. What copies in inclusive tiers cost counts "
     "as lost to the policy."},
    {"bounds-by-request", "reuse", NoteGrade::kDetail,
     "The prefix optimum may leave blocks of a request out. The block optimum takes every block "
     "in, so it may be smaller."},
    {"bounds-left-out", "reuse", NoteGrade::kDetail,
     "Bounds are left out: the trace has more than {most_references} references and requests. "
     "--bounds always keeps it in memory for them."},
    {"no-block-ids", "reuse", NoteGrade::kDanger,
     "The trace names no blocks, so it says nothing about hits. --reuse gives blocks by a model."},
    {"sample-too-small", "reuse", NoteGrade::kWarning,
     "The sample has {blocks} block{blocks||s}, too few for its error to be known. Use a larger "
     "--sample."},

    // ---- campaigns
    {"segment-cut-off", "campaign", NoteGrade::kWarning,
     "The last line of {file} was cut off and is left out. Its run is made again unless another "
     "file has it."},
    {"segment-damaged", "campaign", NoteGrade::kWarning,
     "{lines} damaged line{lines| is|s are} left out of {file}. Their runs are made again unless "
     "another file has them."},
    {"foreign-runs", "campaign", NoteGrade::kWarning,
     "{runs} run{runs| is|s are} left out: no configuration of this campaign has "
     "{runs|it|them}."},
    {"failed-runs", "campaign", NoteGrade::kDanger,
     "{runs} run{runs||s} ended in an error, which is {runs|its|their} result. `spillway sweep "
     "merge` says why (status, failure)."},
    {"worker-given-up", "campaign", NoteGrade::kDanger,
     "A worker ended by {end} {deaths} times without a run in between. It is not started again."},
    {"worker-restarted", "campaign", NoteGrade::kWarning,
     "A worker ended by {end} and was started again."},
    {"run-broken", "campaign", NoteGrade::kDanger,
     "Internal error in {configuration}, {replicate}: {error}. Please report this."},
    {"shard-taken", "campaign", NoteGrade::kWarning,
     "Another worker has shard {shard}: nothing was done here."},
    {"options-of-plan", "campaign", NoteGrade::kWarning,
     "--set and --seed have no effect here. Give them to `spillway sweep plan`."},
    {"campaign-known", "campaign", NoteGrade::kDetail, "The folder had this campaign already."},
    {"campaign-rest", "campaign", NoteGrade::kWarning,
     "The other runs take about {core_time} ({run_s} a run)."},

    // ---- traces
    {"loop-not-in-trace", "workload", NoteGrade::kWarning,
     "A trace holds requests, not clients. To send them as the tool does, set "
     "workload.arrival=closed-loop[ and workload.concurrency={clients}][ and "
     "workload.horizon_s={end_seconds}][ and workload.sessions={turns}]."},
    {"turns-not-in-trace", "workload", NoteGrade::kWarning,
     "A turn of this tool is sent when the answers before it have come. To send the trace so, set "
     "workload.sessions=wait."},

    // ---- validations
    {"measured-incomplete", "validation", NoteGrade::kWarning,
     "{requests} measured request{requests| is|s are} left out: {requests|it|they} did not "
     "complete."},
    {"simulated-incomplete", "validation", NoteGrade::kWarning,
     "{requests} request{requests| is|s are} left out of every figure: {requests|it|they} did not "
     "complete in the simulation."},
    {"case-skipped", "validation", NoteGrade::kWarning,
     "{case} is skipped: {file} is neither beside the case nor under --data."},
    {"no-case-checked", "validation", NoteGrade::kDanger, "No case was checked."},
    {"parameters-unexplained", "validation", NoteGrade::kWarning,
     "{case}: no entry of parameters says where a user would get {parameters}[ and {more} more "
     "(see the report)]."},
    {"tolerance-idle", "validation", NoteGrade::kWarning,
     "{case}: tolerance.{key} bounds nothing. The run has no such figure, or metrics leaves it "
     "out."},
    {"beyond-tolerance", "validation", NoteGrade::kDanger,
     "{case}: {figure} is off by {error_share:+} (tolerance {tolerance_share})."},

    // ---- traces
    {"fewer-generated", "trace", NoteGrade::kDetail,
     "Compared with the first {requests} of the original's {original_requests} requests."},
    {"more-generated", "trace", NoteGrade::kDetail,
     "The generated trace is longer: it repeats the original's course."},
    {"prefixes-not-generated", "trace", NoteGrade::kWarning,
     "The original says nothing about shared prefixes. Nor does the generated trace."},
    {"unlike", "trace", NoteGrade::kWarning,
     "{statistic} is off by {error_share:+}, more than {limit_share}."},
    {"sample-uneven", "trace", NoteGrade::kWarning,
     "The sample is uneven over time: eighths of the span keep {kept_share} of their references. "
     "Use a larger --share."},
    {"sample-declined", "trace", NoteGrade::kDanger,
     "Nothing is written: hit ratios differ by up to {difference_share} ({limit_share} allowed). "
     "Use a larger --share, or --max-difference."},
    {"sample-below-request", "trace", NoteGrade::kWarning,
     "The smallest scaled cache has {blocks} blocks, a request {mean_blocks} on average. Whole "
     "requests cannot be scaled down so far."},
    {"hash-of-source", "trace", NoteGrade::kDetail,
     "{file}: the content hash is that of what was read."},
    {"log-without-blocks", "trace", NoteGrade::kWarning,
     "A request log names no blocks, so shared prefixes are lost. Each request has blocks of its "
     "own, and a simulated cache has no hits."},

    // ---- commands
    {"setting-assumed", "other", NoteGrade::kWarning, "{what}: {why}."},
    {"size-of-scenario", "tier", NoteGrade::kWarning,
     "{tier} has the scenario's size, {size}. Set what a plan recommends with --tier-size."},
    {"digest-differs", "other", NoteGrade::kDanger,
     "The results do not match their digest: they may have been edited. Run the command again."},
    {"recipe-sets", "other", NoteGrade::kDetail, "Recipe {recipe} sets plan.{key} to {value}."},
    {"recipe-idle", "other", NoteGrade::kDetail,
     "Recipe {recipe} changes nothing: the scenario's plan says all of it."},
    {"plan-by-default", "other", NoteGrade::kDetail,
     "The scenario has no plan. The objective is {objective}, and sizes of {tier} follow from the "
     "workload."},
};

using StudyNote = NoteCode<kStudyNotes>;
inline Note study_note(StudyNote which, NoteFigures figures = {}) {
  return make_note(*which.row, std::move(figures));
}

}  // namespace spillway

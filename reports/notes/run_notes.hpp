// Notes of one run: what it could not do, what its figures leave out, what was assumed.
#pragma once

#include "reports/notes/notes.hpp"

namespace spillway {

inline constexpr NoteRow kRunNotes[] = {
    // ---- requests that did not end as they should
    {"engine-died", "swap", NoteGrade::kDanger,
     "The engine died: {cause}. {requests} request{requests||s} failed with it. Raise "
     "engine.swap_space, or set engine.preemption_mode=recompute."},
    {"outgrew-pool", "swap", NoteGrade::kDanger,
     "{requests} request{requests||s} outgrew the pool in the middle of the answer. vLLM v0 ends "
     "them there. Raise engine.num_gpu_blocks, or set a lower engine.max_model_len."},
    {"standstill", "fleet", NoteGrade::kDanger,
     "The server stops serving for ever ({kind}): {requests} request{requests||s} stuck. {why}"},
    {"tier-livelock", "tier", NoteGrade::kDanger,
     "Livelock: {requests} request{requests| waits|s wait} for ever for a prefix that {tier} "
     "cannot hold "
     "at once. To promote its end evicts its beginning (vLLM issues 49176, 49829). Give {tier} "
     "more room. Here they end as stuck; vLLM would read on."},
    {"not-admitted", "workload", NoteGrade::kDanger,
     "{requests} of {requests_in_all} requests did not enter. Latencies are of the others. "
     "[{too_long} longer than max_model_len ({max_model_len} tokens; engine.max_model_len sets "
     "it). ][{too_large} larger than the whole pool.]"},
    {"rejected", "workload", NoteGrade::kDanger,
     "Admission {policy} rejected {requests} of {requests_in_all} requests. Latencies are of the "
     "others."},
    {"nothing-measured", "workload", NoteGrade::kDanger,
     "No request was measured. All arrived before workload.warmup_s or after horizon_s, or ended "
     "after the benchmark's seconds."},
    {"benchmark-short", "workload", NoteGrade::kDanger,
     "All {requests} requests of the benchmark ended before its {seconds} s. The figures are those "
     "of a shorter run. Set workload.benchmark.requests higher."},
    {"clients-waited", "workload", NoteGrade::kWarning,
     "workload.concurrency held requests back for {mean_wait_ms} on average. Latencies leave that "
     "out: they count from arrival at the server."},
    {"deferred-free", "workload", NoteGrade::kWarning,
     "{preemptions} preemption{preemptions||s}. With asynchronous scheduling this release frees "
     "blocks one step late, so one shortage preempts several requests (vLLM 45357, 49674). "
     "engine.defer_block_free=false shows the run without."},

    // ---- LMCache and llm-d
    {"leases-ended", "tier", NoteGrade::kDanger,
     "{objects} object{objects||s} that {tier} had came too late: {objects|its lease|their leases} "
     "of {lease_ms} had ended. Raise store.lease_ms."},
    {"loads-failed", "tier", NoteGrade::kDanger,
     "{loads} load{loads||s} did not come whole, and {requests} request{requests||s} failed with "
     "it, as vLLM's default has it. A load fails where its answer takes longer than "
     "engine.lmcache.blocking_timeout_secs, in an outage, or where chunks have left meanwhile. "
     "engine.kv_load_failure_policy=recompute computes again."},
    {"load-never-pays", "tier", NoteGrade::kDanger,
     "Loading from {tier} takes longer than computing, at every length and with nothing else on "
     "its way ({load_ms} against {compute_ms} for {tokens} tokens). {prompt_share} of the prompt "
     "tokens came from it all the same: the connector loads whatever it finds. A faster way to "
     "{tier}, or none, serves sooner."},
    {"store-unreachable", "tier", NoteGrade::kWarning,
     "{tier} could not be reached for a time: {chunks} chunk{chunks| was|s were} not written to "
     "it. Look-ups found nothing there, so that requests computed."},
    {"loads-recomputed", "tier", NoteGrade::kWarning,
     "{loads} load{loads||s} did not come whole. What was missing was computed again."},
    {"burst-lost", "tier", NoteGrade::kWarning,
     "{tier} was full when {chunks} chunk{chunks||s} came ({lost_share} of what was offered). "
     "LMCache evicts once a second only, and what comes between two ticks is lost (LMCache 4817, "
     "5290). More room or a lower engine.lmcache_mp.eviction_trigger_watermark helps."},
    {"lookup-deferred", "engine", NoteGrade::kDetail,
     "Look-ups below HBM are answered one scheduling pass later, even where nothing is found: "
     "{deferrals} in all (vLLM 45765)."},
    {"evictor-idle", "tier", NoteGrade::kDanger,
     "The evictor of {tier} found the disk too full at {ticks} tick{ticks||s} and no file to "
     "delete: all were read in the last {minutes} minutes. The disk fills up. Set "
     "evictor.access_minutes lower, or give it more room."},
    {"files-not-written", "tier", NoteGrade::kWarning,
     "{files} file{files| was|s were} not written to {tier}: the queue of writes was too long, or "
     "there was no room. The engine is told that they were."},
    {"reads-swallowed", "tier", NoteGrade::kDanger,
     "{files} file{files||s} of {tier} {files|was|were} deleted between look-up and read. llm-d's "
     "backend reports such reads as successful: the model then computes on wrong KV. Here the "
     "requests go on, and only their number is told."},
    {"store-for-each", "fleet", NoteGrade::kWarning,
     "Each of the {instances} instances has a {tier} of its own, so none finds what another "
     "stored. \"scope\": \"cluster\" makes it one for all."},

    // ---- a server that ceases to serve
    {"swapped-too-large", "swap", NoteGrade::kDanger,
     "The request that v0 would resume next does not fit even an empty pool and its watermark. "
     "Nothing starts before it."},
    {"mutual-loads", "fleet", NoteGrade::kDanger,
     "{demand}. The other {blocks} blocks in use belong to {holders}, whose prefixes were loaded "
     "too. Each waits for the others (vLLM issues 45387, 45388). "
     "engine.async_load_reservation=true avoids it (PR 44560)."},
    {"stranded-loads", "fleet", NoteGrade::kDanger,
     "{demand}. {holders} behind it hold{holding|s|} {blocks} blocks of loaded prefixes. They "
     "could run, but the scheduler stops at the head of the queue (vLLM PRs 45406, 57841)."},
    {"unanswered-lookup", "tier", NoteGrade::kDanger,
     "The look-up of request {request} below HBM is put off at every step. What it waits for is no "
     "longer under way (vLLM issues 49176, 49829). {free_blocks} of {blocks} blocks are free."},
    {"never-fits", "fleet", NoteGrade::kDanger,
     "{demand}, and no other request holds the rest. Raise engine.num_gpu_blocks."},
    {"over-budget", "fleet", NoteGrade::kDanger,
     "Request {request} at the head of the queue has {tokens} tokens, and a step takes {budget}. "
     "Set engine.enable_chunked_prefill=true."},
    {"preemption-loop", "fleet", NoteGrade::kDanger,
     "{steps} steps in a row only recomputed what preemptions had taken, request {request} first "
     "(vLLM issue 49674). engine.reserve_full_isl=true or defer_block_free=false avoids it."},
    {"no-buffer", "tier", NoteGrade::kDanger,
     "A load of request {request} waits for host memory, and nothing that is under way will free "
     "any: LMCache tries again for ever. Give the first tier more than one chunk beside what "
     "look-ups pin."},
    {"standstill-unknown", "fleet", NoteGrade::kDanger,
     "Nothing runs, nothing is in flight, and no queued request can be admitted."},

    // ---- what most limits a run
    {"link-limits", "link", NoteGrade::kDetail, "Link {link} is busy {busy_share} of the time."},
    {"transfers-limit", "link", NoteGrade::kDetail,
     "Steps wait for transfers {stalled_share} of their time."},
    {"hbm-limits", "tier", NoteGrade::kDetail,
     "Requests queue {queued_share} of the time. HBM lacks free blocks for {starved_share} of "
     "that."},
    {"batch-limits", "engine", NoteGrade::kDetail,
     "Requests queue {queued_share} of the time. The batch is full for {full_share} of that "
     "(max_num_seqs)."},
    {"loads-limit", "link", NoteGrade::kDetail,
     "Requests queue {queued_share} of the time, {loading_share} of that for look-ups and loads. "
     "Link {link} is the busiest ({busy_share})."},
    {"compute-limits", "compute", NoteGrade::kDetail,
     "Requests queue {queued_share} of the time. The GPU is busy {busy_share}. HBM has "
     "blocks for who waits."},
    {"pins-limit", "tier", NoteGrade::kDetail,
     "Tier {tier} refused {stores} batch{stores||es} of stores: its blocks were pinned."},
    {"no-room-limits", "tier", NoteGrade::kDetail,
     "Tier {tier} had no room for {chunks} chunk{chunks||s} that {chunks|was|were} to be stored."},
    {"nothing-limits", "other", NoteGrade::kDetail,
     "Requests queue {queued_share} of the time. The GPU is busy {busy_share}."},
    {"death-limits", "swap", NoteGrade::kDanger, "The engine died: {cause}."},

    // ---- sizes
    {"blocks-steep", "hardware", NoteGrade::kDanger,
     "KV blocks decide here, and their number ({blocks}) is estimated. With {band_share} fewer, as "
     "many, and {band_share} more of them[ the mean TTFT is {fewer_ms}, {here_ms} and {more_ms}][ "
     "the "
     "throughput is {fewer_tokens}, {here_tokens} and {more_tokens} tokens/s]. The server's "
     "start-up "
     "log has the number: give it as measured, or as engine.num_gpu_blocks."},

    // ---- step times
    {"beyond-fit", "compute", NoteGrade::kWarning,
     "Step times exceed the calibration range of profile {profile} in {outside_share} of the step "
     "time. Their error is not known there.[ The fit saw {fitted_decodes} decodes a step, the run "
     "{decodes}.][ Of tokens per decode, the fit saw {fitted_context}, the run {context}.][ Of "
     "prompt tokens a step, the fit saw {fitted_prefill}, the run {prefill}.] Fit a log of such a "
     "load."},

    // ---- links and tiers
    {"beyond-calibration", "link", NoteGrade::kWarning,
     "Link {link} exceeds its calibration range in {transfers} of {transfers_in_all} transfers "
     "({copies} copies of {piece_bytes} each). The nearest measured rate was taken; its error is "
     "not known. Run spillway calibrate with these sizes. Rates: {source}."},
    {"between-rates", "link", NoteGrade::kWarning,
     "Link {link}: {transfers} of {transfers_in_all} transfers ({copies} copies of {piece_bytes} "
     "each) lie between measured rates that differ by more than 2x. Their times may be off by as "
     "much. Run spillway calibrate with these sizes. Rates: {source}."},
    {"pins-refused", "tier", NoteGrade::kWarning,
     "{tier} refused {stores} batches of stores and {promotions} promotions. Its blocks waited to "
     "be written to {secondary}, which pinned up to {pinned_share} of {tier} at "
     "{write_bytes_per_s}.[ Prompts computed here make {fresh_bytes_per_s} of new KV.]"},
    {"promotion-slower", "tier", NoteGrade::kWarning,
     "{tier} delays first tokens: its mean promotion ({tokens} tokens, {promotion_bytes}) takes "
     "{read_ms} to read and {climb_ms} to reach HBM. To compute these tokens takes {compute_ms}.[ "
     "It breaks even from {even_bytes_per_s}, and reads at {read_bytes_per_s}.]"},
    {"never-deleted", "tier", NoteGrade::kWarning,
     "{tier}: nothing is ever deleted there (vLLM PRs 52784, 54327). {day_bytes} a day are "
     "written at this rate: plan its capacity and its cleaning."},

    // ---- fleets
    {"fleet-by-session", "fleet", NoteGrade::kDetail,
     "{instances} instances serve {least_requests} to {most_requests} requests each. A session "
     "goes to one of them by a hash. Routing by prefix is not modelled."},
    {"fleet-by-inferred-session", "fleet", NoteGrade::kWarning,
     "{instances} instances serve {least_requests} to {most_requests} requests each. The trace "
     "names no sessions, so these are inferred from shared prefixes. Routing by prefix is not "
     "modelled."},
    {"fleet-by-routing", "fleet", NoteGrade::kDetail,
     "{instances} instances serve {least_requests} to {most_requests} requests each, by routing "
     "{routing}. Turns of a session may go to different instances."},
    {"fleet-own-storage", "fleet", NoteGrade::kWarning,
     "Each instance has its own {tiers}. Set scope of such a tier to share it."},
    {"fleet-own-media", "fleet", NoteGrade::kWarning,
     "Each instance has media of its own. Set media[].scope to share them."},

    // ---- facts of a measured run
    {"pool-differs", "hardware", NoteGrade::kWarning,
     "num_gpu_blocks {used_blocks} ({used_how}) is {off_share:+} from {other_blocks}. "
     "That count is {other_how}. The pool holds {tokens} {fewer} tokens[, about {requests} "
     "requests of mean "
     "length ({mean_tokens} tokens)]. {used_blocks} is used."},
    {"host-overhead-differs", "compute", NoteGrade::kWarning,
     "host_overhead_us {used_us} ({used_how}) is {off_share:+} from {other_us} ({other_how}). That "
     "is {tpot_share:+} of TPOT at batch 1 ({step_ms}). {used_us} is used."},
    {"copy-rate-differs", "link", NoteGrade::kWarning,
     "Copies {from} to {to}: {measured_bytes_per_s} measured, {model_bytes_per_s} by the link's "
     "model ({off_share:+}). To {verb} 10,000 tokens ({prefix_bytes}) takes {measured_ms}, not "
     "{model_ms}. The {used} rate is used."},
    {"setting-differs", "hardware", NoteGrade::kWarning,
     "{key} is {used} here and was {measured} in the measured run ({source}). {consequence}"},
    {"measured-model-unknown", "hardware", NoteGrade::kWarning,
     "The measured run ({source}) was of {measured}, which the catalogue does not have. If that is "
     "not {model}, its facts are those of another model."},
    {"measured-model-differs", "hardware", NoteGrade::kWarning,
     "The measured run ({source}) was of {measured}, not of {model}. Its facts are those of "
     "another model."},

    // ---- assumptions
    {"reuse-lower-bound", "reuse", NoteGrade::kDetail,
     "Cache hits are a lower bound: a trace of block ids does not show reuse inside its blocks."},
    {"answers-in-prompts", "reuse", NoteGrade::kDetail,
     "A session's next prompt is taken to contain the answer before it, where it begins with that "
     "prompt and has room ({requests} of {requests_in_all} requests)."},

    // ---- doubts about the input
    {"clock-unit", "workload", NoteGrade::kDanger,
     "{what}. If they are seconds, set "
     "workload.speed=0.001."},
    {"slo-unit", "workload", NoteGrade::kDanger,
     "{where}max {limit} of {metric} is {limit} ms, and an idle server takes {idle_ms}. If {limit} "
     "s are meant, write {meant}."},
    {"few-for-percentile", "workload", NoteGrade::kWarning,
     "{metric} rests on {requests} requests: not one lies above it. {longer}, or ask for the "
     "median."},
    {"concurrency-caps", "workload", NoteGrade::kWarning,
     "workload.concurrency caps requests in flight and adds no load. For clients that wait for "
     "answers set workload.arrival=closed-loop."},
    {"gate-incomplete", "workload", NoteGrade::kDanger,
     "Gate: {requests} of {requests_in_all} requests did not complete."},
};

using RunNote = NoteCode<kRunNotes>;
inline Note run_note(RunNote which, NoteFigures figures = {}) {
  return make_note(*which.row, std::move(figures));
}

}  // namespace spillway

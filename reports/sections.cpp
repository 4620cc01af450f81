#include "reports/sections.hpp"

#include <fmt/format.h>

#include "reports/compared.hpp"
#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/metric_words.hpp"
#include "reports/notes/notes.hpp"
#include "reports/provenance.hpp"

namespace spillway {

Table latency_table(const RunResult& run) {
  Table table;
  table.title = "Latency";
  table.header = {"metric", "mean", "p50", "p90", "p95", "p99", "max"};
  const auto row = [&](const char* name, const LatencyStats& s) {
    table.rows.push_back({name, format_ms(s.mean_ms), format_ms(s.median_ms), format_ms(s.p90_ms),
                          format_ms(s.p95_ms), format_ms(s.p99_ms), format_ms(s.max_ms)});
  };
  row("Time to first token", run.ttft);
  row("Time per output token", run.tpot);
  row("Inter-token latency", run.itl);
  row("End to end", run.e2el);
  return table;
}

Table slo_table(const std::vector<SloResult>& slo) {
  Table table;
  table.title = "Service level objectives";
  table.header = {"objective", "target", "value", "verdict"};
  for (const SloResult& s : slo) {
    const auto [target, value] = told_apart(s.name, s.target, s.value);
    table.rows.push_back({metric_words(s.name, s.tenant),
                          fmt::format("{} {}", s.at_least ? "at least" : "at most", target), value,
                          s.passed ? "met" : "missed"});
  }
  return table;
}

namespace {

/// Which requests the counts, latencies and throughputs are about.
std::string measured(const nlohmann::json& workload) {
  const bool warmup = workload.value("warmup_s", 0.0) > 0;
  const bool horizon = workload.contains("horizon_s");
  if (!warmup && !horizon) return "all requests";
  // GuideLLM does not count what is under way at its end; other tools wait for it.
  const bool stops = text_at(object_at(workload, "benchmark"), "tool") == "guidellm";
  std::string out = "requests";
  if (warmup) {
    out +=
        fmt::format(" that arrive from {} s on", format_real(workload["warmup_s"].get<double>()));
  }
  if (horizon) {
    const std::string until = format_real(workload["horizon_s"].get<double>());
    const char* link = warmup ? " and" : "";
    out += stops ? fmt::format("{} ended by {} s", link, until)
                 : fmt::format("{}{} due by {} s, to their end", link, warmup ? " are" : "", until);
  }
  return out + "; counters of steps, tiers and links cover the whole run";
}

}  // namespace

Section setup_section(const Provenance& p) {
  Section section;
  section.heading = "Setup";
  Table table;
  table.header = {"what", "value"};
  const auto inputs = p.inputs.is_object() ? p.inputs : nlohmann::json::object();
  const auto configuration = object_at(inputs, "configuration");
  const auto part = [&](const char* key) {
    return configuration.value(key, nlohmann::json::object());
  };
  const auto add = [&](const nlohmann::json& from, const char* key, const char* label) {
    if (!from.contains(key)) return;
    const auto& value = from[key];
    table.rows.push_back({label, value.is_string() ? value.get<std::string>() : value.dump()});
  };
  const auto model = part("model");
  const auto engine = part("engine");
  const auto workload = part("workload");
  const auto trace = inputs.value("trace", nlohmann::json::object());
  add(model, "name", "model");
  add(model, "kv_bits", "KV bits per element");
  add(configuration, "gpu", "GPU");
  add(engine, "preset", "engine");
  if (engine.contains("num_gpu_blocks") && engine.contains("block_bytes")) {
    const auto blocks = whole<std::uint64_t>(engine["num_gpu_blocks"]) - 1;
    const auto bytes = static_cast<double>(blocks) * engine["block_bytes"].get<double>();
    table.rows.push_back(
        {"KV pool in HBM", fmt::format("{} blocks of {} tokens, {}", format_count(blocks),
                                       engine.value("block_tokens", 0), format_bytes(bytes))});
  }
  const auto add_many = [&](const nlohmann::json& from, const char* key, const char* label) {
    if (from.value(key, 1) > 1) add(from, key, label);
  };
  add_many(engine, "tensor_parallel_size", "tensor_parallel_size (the pool is that of one rank)");
  add_many(engine, "pipeline_parallel_size",
           "pipeline_parallel_size (the pool is that of one rank)");
  add_many(engine, "data_parallel_size", "data_parallel_size (engines like this one)");
  add_many(part("fleet"), "replicas", "replicas (instances of all this, sessions split over them)");
  add(engine, "max_num_seqs", "max_num_seqs");
  add(engine, "max_num_batched_tokens", "max_num_batched_tokens");
  add(engine, "max_model_len", "max_model_len");
  if (part("policies").value("admission", "always") != "always") {
    add(part("policies"), "admission", "admission");
  }
  add(trace, "name", "trace");
  add(trace, "requests", "requests");
  add(workload, "arrival", "arrivals");
  add(workload, "speed", "speed");
  const bool waits = workload.value("sessions", "") == "wait";
  add(workload, "rate_per_s", waits ? "session starts per second" : "rate per second");
  add(workload, "concurrency", "concurrency");
  add(workload, "sessions", "sessions");
  table.rows.push_back({"measured", measured(workload)});
  section.tables.push_back(std::move(table));
  return section;
}

Section provenance_section(const Provenance& p) {
  Section section;
  section.heading = "Assumptions and provenance";
  for (const Note& note : by_grade(p.warnings)) section.paragraphs.push_back(note.text);
  Table table;
  table.header = {"what", "value"};
  table.rows = {{"tool", p.tool}, {"result digest", p.digest}};
  if (!p.scenario.empty()) table.rows.push_back({"scenario", p.scenario});
  if (p.inputs.contains("trace")) {
    const auto& trace = p.inputs["trace"];
    table.rows.push_back({"trace", trace.value("name", "")});
    table.rows.push_back({"trace content hash", trace.value("content_hash", "")});
  }
  if (p.inputs.contains("seed")) table.rows.push_back({"seed", p.inputs["seed"].dump()});
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace spillway

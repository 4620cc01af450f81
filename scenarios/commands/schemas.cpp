#include "scenarios/commands/schemas.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/compare/compare_fields.hpp"
#include "reports/document.hpp"
#include "reports/fields/reference.hpp"
#include "reports/fields/schema.hpp"
#include "reports/plan/flags_fields.hpp"
#include "reports/plan/plan_fields.hpp"
#include "reports/run/run_fields.hpp"
#include "scenarios/commands/engines_page.hpp"
#include "scenarios/commands/init_fields.hpp"
#include "scenarios/commands/kvsize_fields.hpp"
#include "scenarios/commands/mrc_fields.hpp"
#include "scenarios/commands/sweep/sweep_results.hpp"
#include "scenarios/commands/text_fields.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/fidelity/fit/fit_fields.hpp"
#include "scenarios/fidelity/validate/validation_case.hpp"
#include "scenarios/fidelity/validate/validation_fields.hpp"
#include "scenarios/machine/calibration_fields.hpp"
#include "scenarios/planner/consequences/prices.hpp"
#include "scenarios/replay/row_fields.hpp"
#include "scenarios/scenario/config/key_schema.hpp"
#include "scenarios/scenario/measured/measured_fields.hpp"
#include "scenarios/scenario/profiles/compute_profile_fields.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/trace_stats_fields.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& schema) {
  return schema.dump(1) + "\n";
}

std::string scenario_schema() {
  return text_of(key_schema(ScenarioKeys::kTop, "scenario-1.json", "Spillway scenario",
                            "What a run depends on. Sizes and rates are strings with a unit."));
}

std::string prices_schema() {
  return text_of(key_schema(PriceKeys::kTop, "prices-1.json", "Spillway prices",
                            "What resources cost, for plan.prices. A price is a number, or a "
                            "purchase written off over its months."));
}

std::string case_schema() {
  return text_of(key_schema(ValidationCase::kKeys, "case-1.json", "Spillway validation case",
                            "A measured run and the scenario that simulates it."));
}

/// A kind of document: what its `results` are. None: whatever it likes.
struct ResultKind {
  std::string_view kind;
  Json (*results)(SchemaDefinitions&);
};

template <class Row>
Json one(SchemaDefinitions& rows) {
  return schema_of<Row>({}, rows);
}
template <class Row>
Json many(SchemaDefinitions& rows) {
  return {{"type", "array"}, {"items", schema_of<Row>({}, rows)}};
}

constexpr ResultKind kResults[] = {
    {"run", one<RunResult>},
    {"plan", one<PlanResult>},
    {"compare", one<CompareResult>},
    {"sweep-plan", one<SweepPlanResults>},
    {"sweep-run", one<SweepRunResults>},
    {"sweep-worker", one<SweepWorkerResults>},
    {"sweep-status", one<SweepStatusResults>},
    {"sweep-merge", one<SweepMergeResults>},
    {"sweep-emit", one<SweepEmitResults>},
    {"replay", many<ReplayRow>},
    {"mrc", one<MrcResults>},
    {"kvsize", one<KvSize>},
    {"list", many<ListRow>},
    {"trace-stats", one<TraceStats>},
    {"rate-table-stats", one<RateStats>},
    {"trace-convert", one<WrittenTrace>},
    {"trace-generate", one<WrittenTrace>},
    {"trace-check", one<TraceCheck>},
    {"trace-sample", one<SampledTrace>},
    {"trace-merge", one<WrittenTrace>},
    {"measured-run", one<MeasuredResults>},
    {"calibration-plan", one<CalibrationPlan>},
    {"calibration-verify", one<VerifyResult>},
    {"hardware-profile", nullptr},  // a schema of its own
    {"calibration-replay", one<ReplayComparison>},
    {"validation", one<ValidationOutcome>},
    {"fit", one<FitSummary>},
    {"pair-fit", one<PairFit>},
    {"flags", one<FlagsResult>},
    {"init", one<InitResults>},
    {"completion", one<CompletionScript>},
    {"man", many<ManPage>},
};

/// What every document has around its results; its kind is one of `kinds`.
Json envelope(std::string_view id, std::string_view title, std::string_view help,
              const Json& kinds) {
  const Json text = {{"type", "string"}};
  return {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", fmt::format("https://spillway.dev/schema/{}", id)},
      {"title", title},
      {"description", help},
      {"type", "object"},
      {"additionalProperties", false},
      {"required", {"schema_version", "kind", "tool", "inputs", "results", "warnings", "digest"}},
      {"properties",
       {{"$schema", {{"type", "string"}, {"description", "For editors. No command reads it."}}},
        {"schema_version", {{"const", kSchemaVersion}}},
        {"profile_version", {{"const", 1}, {"description", "Only of profiles."}}},
        {"kind", kinds},
        {"tool",
         {{"type", "object"},
          {"additionalProperties", false},
          {"required", {"name", "version", "build"}},
          {"properties", {{"name", {{"const", "spillway"}}}, {"version", text}, {"build", text}}}}},
        {"inputs", {{"type", "object"}}},
        {"results", true},
        {"warnings",
         {{"type", "array"}, {"items", text}, {"description", "The sentences of notes."}}},
        {"notes", {{"type", "array"}, {"items", note_schema()}}},
        {"digest", {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}}}}}};
}

std::string result_schema() {
  SchemaDefinitions rows = SchemaDefinitions::object();
  Json names = Json::array();
  Json cases = Json::array();
  for (const ResultKind& kind : kResults) {
    names.push_back(kind.kind);
    if (kind.results == nullptr) continue;
    cases.push_back({{"if", {{"properties", {{"kind", {{"const", kind.kind}}}}}}},
                     {"then", {{"properties", {{"results", kind.results(rows)}}}}}});
  }
  Json out = envelope("result-1.json", "Spillway result document",
                      "What every verb writes with --json. The digest covers results without any "
                      "member called sim.",
                      {{"enum", std::move(names)}});
  out["allOf"] = std::move(cases);
  out["$defs"] = std::move(rows);
  return text_of(out);
}

template <class Profile>
std::string profile_schema(std::string_view id, std::string_view title, std::string_view help,
                           std::string_view kind) {
  SchemaDefinitions rows = SchemaDefinitions::object();
  Json results = schema_of<Profile>({}, rows);
  Json out = envelope(id, title, help, {{"const", kind}});
  out["required"].insert(out["required"].begin() + 1, "profile_version");
  out["properties"]["results"] = std::move(results);
  out["$defs"] = std::move(rows);
  allow_unlisted(out);  // a newer build may have written more
  return text_of(out);
}

std::string hardware_profile_schema() {
  return profile_schema<HardwareProfile>(
      "profile-1.json", "Spillway hardware profile",
      "What spillway calibrate measured on one machine. Times have the unit that ends the key; "
      "rates are GB/s of 1e9 bytes.",
      "hardware-profile");
}

std::string compute_profile_schema() {
  return profile_schema<ComputeProfile>("compute-profile-1.json", "Spillway compute profile",
                                        "Step times of one GPU, as spillway fit fitted them.",
                                        "compute-profile");
}

std::string keys_page() {
  return key_reference(ScenarioKeys::kTop, "Keys of a scenario",
                       "Made by `spillway schema keys` from the tables that read a scenario.\n"
                       "What they mean together is in the [guide](guide/).");
}

std::string metrics_page() {
  SchemaDefinitions rows = SchemaDefinitions::object();
  schema_of<RunResult>({}, rows);
  return member_reference(rows, std::string(Fields<RunResult>::kName), "Results of a run",
                          "Made by `spillway schema metrics` from the tables that write a result. "
                          "They stand in `results`\nof `spillway run --json`, and in `run` of each "
                          "size of a plan.");
}

constexpr SchemaEntry kSchemas[] = {
    {"scenario", "scenarios/schema/scenario.schema.json", scenario_schema},
    {"result", "result.schema.json", result_schema},
    {"profile", "scenarios/schema/profile.schema.json", hardware_profile_schema},
    {"compute-profile", "scenarios/schema/compute-profile.schema.json", compute_profile_schema},
    {"prices", "scenarios/schema/prices.schema.json", prices_schema},
    {"case", "scenarios/schema/case.schema.json", case_schema},
    {"keys", "scenarios/KEYS.md", keys_page},
    {"metrics", "reports/METRICS.md", metrics_page},
    {"engines", "scenarios/ENGINES.md", engines_page},
};

}  // namespace

std::span<const SchemaEntry> schemas() {
  return kSchemas;
}

}  // namespace spillway

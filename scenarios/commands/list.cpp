// `spillway list`: what the catalogues hold.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"
#include "models/compute/step_cost.hpp"
#include "models/kv_geometry.hpp"
#include "models/link/defaults.hpp"
#include "models/releases/presets.hpp"
#include "policies/catalogue.hpp"
#include "reports/format.hpp"
#include "reports/ops/engine_metrics.hpp"
#include "reports/renderers/renderer.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/engines_page.hpp"
#include "scenarios/scenario/bundled_files.hpp"
#include "scenarios/scenario/sections/known_models.hpp"
#include "traces/catalogue.hpp"

namespace spillway {

namespace {

Table policies() {
  Table t;
  t.header = {"policy", "kind", "what it does"};
  for (const auto& p : eviction_policies()) {
    t.rows.push_back({std::string(p.name), "eviction", std::string(p.summary)});
  }
  for (const auto& p : admission_policies()) {
    t.rows.push_back({std::string(p.name), "admission", std::string(p.summary)});
  }
  for (const auto& p : write_admission_policies()) {
    t.rows.push_back({std::string(p.name), "write admission", std::string(p.summary)});
  }
  return t;
}

/// What a policy's parameter may be: "0.01 to 1", "offers or lookups".
std::string range_of(const ParamSpec& spec) {
  if (spec.kind != ParamSpec::Kind::kText) {
    return fmt::format("{}{} to {}", spec.kind == ParamSpec::Kind::kWhole ? "whole, " : "",
                       spec.least, spec.most);
  }
  std::string words(spec.words);
  std::replace(words.begin(), words.end(), '|', ' ');
  return words.empty() ? "a name" : words;
}

std::string default_of(const ParamSpec& spec) {
  if (spec.required) return "must be given";
  return spec.kind == ParamSpec::Kind::kText ? std::string(spec.text)
                                             : fmt::format("{}", spec.fallback);
}

/// Written behind the policy's name: s3fifo:small=0.2:cap=7.
Table parameters() {
  Table t;
  t.header = {"policy", "kind", "parameter", "default", "range", "meaning"};
  const auto add = [&](const auto& rows, std::string_view kind) {
    for (const auto& row : rows) {
      for (const ParamSpec& spec : row.params) {
        t.rows.push_back({std::string(row.name), std::string(kind), std::string(spec.name),
                          default_of(spec), range_of(spec), std::string(spec.help)});
      }
    }
  };
  add(eviction_policies(), "eviction");
  add(admission_policies(), "admission");
  add(write_admission_policies(), "write admission");
  return t;
}

Table engines() {
  Table t;
  t.header = {"preset", "what it is"};
  for (const auto& p : engine_presets())
    t.rows.push_back({std::string(p.name), std::string(p.summary)});
  return t;
}

Table models() {
  Table t;
  t.header = {"model", "layers", "KV heads", "KV bytes per token (BF16)", "weights", "listed in"};
  const auto add = [&](const ModelSpec& m, std::int64_t weight_bytes, std::string from) {
    t.rows.push_back(
        {std::string(m.name), std::to_string(m.layers), std::to_string(m.kv_heads),
         format_count(static_cast<std::uint64_t>(kv_bytes_per_token(m, KvDtype::kBf16).count())),
         format_bytes(static_cast<double>(weight_bytes)), std::move(from)});
  };
  for (const ModelSpec& m : model_specs()) add(m, m.weight_bytes, "spillway");
  for (const ListedModel& own : own_models()) {
    const KnownModel& m = own.model;
    add(*m.spec, m.weights ? m.weights->total.count() : m.spec->weight_bytes, own.path);
  }
  return t;
}

Table gpus() {
  Table t;
  t.header = {"GPU", "memory (driver)", "GB/s", "BF16 TFLOP/s", "kernel efficiencies"};
  for (const auto& g : gpu_specs()) {
    t.rows.push_back({std::string(g.name), format_bytes(static_cast<double>(g.memory_bytes)),
                      format_real(g.memory_gbs), format_real(g.bf16_tflops),
                      kernel_coefficients(g).measured ? "measured" : "generic"});
  }
  return t;
}

Table all_formats() {
  Table t;
  t.header = {"format", "what it is"};
  for (const auto& f : trace_formats())
    t.rows.push_back({std::string(f.name), std::string(f.summary)});
  return t;
}

Table links() {
  Table t;
  t.header = {"host link", "2 MiB down", "2 MiB up", "both directions", "source"};
  for (const std::string_view gpu : {"A100", "H100", "GH200"}) {
    const HostLinkDefault d = default_host_link(find_gpu(gpu, {}));
    const auto rate = [](const RateTable& table) { return table.gbs[table.copy_bytes.size() - 2]; };
    t.rows.push_back({fmt::format("of {}", gpu), fmt::format("{} GB/s", rate(d.down)),
                      fmt::format("{} GB/s", rate(d.up)),
                      fmt::format("each keeps {}", format_percent(d.up_duplex)), d.up.source});
  }
  return t;
}

Table scenarios() {
  Table t;
  t.header = {"scenario", "description"};
  constexpr std::string_view kLibrary = "scenarios/library";
  const std::filesystem::path library = bundled_files(kLibrary);
  if (!std::filesystem::is_directory(library)) return t;
  // Short names hold where the folder is the one below the current folder.
  std::error_code elsewhere;
  const bool here = std::filesystem::equivalent(library, kLibrary, elsewhere);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(library)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const JsonSource source = JsonSource::from_file(file.string());
    t.rows.push_back(
        {here ? fmt::format("{}/{}", kLibrary, file.filename().string()) : file.string(),
         source.root().value("description", "")});
  }
  return t;
}

Table reports() {
  Table t;
  t.header = {"format", "of results of kind", "file in --out", "what it is"};
  for (const Format& f : formats()) {
    t.rows.push_back({std::string(f.name), f.kinds.empty() ? "every" : std::string(f.kinds),
                      std::string(f.file), std::string(f.summary)});
  }
  return t;
}

std::string releases_of(const EngineMetric& m) {
  const auto text = [](const EngineVersion& v) { return fmt::format("{}.{}", v.major, v.minor); };
  const bool begins = m.from != EngineVersion{};
  const bool ends = m.to != EngineVersion{};
  if (begins && ends) return fmt::format("{} to {}", text(m.from), text(m.to));
  return begins ? text(m.from) + " on" : "as read";
}

Table metrics() {
  Table t;
  t.header = {"engine", "releases", "what", "metric", "type", "unit", "where", "source"};
  for (const EngineMetric& m : engine_metrics()) {
    const std::string matchers = m.matchers.empty() ? "" : fmt::format("{{{}}}", m.matchers);
    t.rows.push_back(
        {std::string(m.engine), releases_of(m), std::string(name_of(m.signal)),
         fmt::format("{}{}", m.name, matchers), std::string(name_of(m.kind)), std::string(m.unit),
         m.part.empty() ? "always" : fmt::format("with {}", m.part), std::string(m.source)});
  }
  return t;
}

/// Those of one engine and release, whatever parts of it are in use.
Table metrics_of(const std::string& engine) {
  EngineRelease release = engine_release(engine, "--engine");
  Table t = metrics();
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    const EngineMetric& m = engine_metrics()[i];
    release.parts = {std::string(m.part)};
    if (exports(release, m)) rows.push_back(std::move(t.rows[i]));
  }
  t.rows = std::move(rows);
  return t;
}

struct Catalogue {
  std::string_view name;
  Table (*table)();
};
constexpr Catalogue kCatalogues[] = {{"policies", policies}, {"parameters", parameters},
                                     {"engines", engines},   {"models", models},
                                     {"gpus", gpus},         {"formats", all_formats},
                                     {"links", links},       {"scenarios", scenarios},
                                     {"metrics", metrics},   {"reports", reports}};

struct ListOptions {
  std::string what;
  std::string engine;
  std::string add;
  std::string name;
  CommonOptions common;
};

/// `list models --add`: the model joins the user's list, which is then shown.
void add_model(const ListOptions& options) {
  if (options.add.empty()) return;
  if (options.what != "models") {
    throw InputError(Fault::kUsage, {"--add", 0, ""}, "is for the catalogue models");
  }
  const ListedModel added = add_own_model(options.add, options.name);
  if (options.common.quiet || options.common.json_only()) return;
  fmt::print("Added {}: {}\n\n", added.model.spec->name, added.path);
}

/// The presets, and what each engine does with its KV. In the document rows of knobs have no
/// preset.
void print_engines(nlohmann::json inputs, const CommonOptions& common) {
  std::vector<Table> shown = {engines()};
  for (Table& table : knob_tables()) shown.push_back(std::move(table));
  const std::vector<Table> rows = {engines(), knob_rows()};
  print_listing("engines", std::move(shown), rows, std::move(inputs), common);
}

int run(const ListOptions& options) {
  check_writable(options.common);
  const Catalogue& catalogue =
      find_row(std::span<const Catalogue>(kCatalogues), "catalogue", options.what, {"list", 0, ""});
  if (!options.engine.empty() && catalogue.name != "metrics") {
    throw InputError(Fault::kUsage, {"--engine", 0, ""}, "is for the catalogue metrics");
  }
  add_model(options);
  nlohmann::json inputs = {{"catalogue", catalogue.name}};
  if (catalogue.table == engines) {
    print_engines(std::move(inputs), options.common);
    return 0;
  }
  if (!options.engine.empty()) inputs["engine"] = options.engine;
  print_listing(std::string(catalogue.name),
                options.engine.empty() ? catalogue.table() : metrics_of(options.engine),
                std::move(inputs), options.common);
  return 0;
}

std::vector<std::string> catalogue_names() {
  std::vector<std::string> out;
  for (const Catalogue& catalogue : kCatalogues) out.emplace_back(catalogue.name);
  return out;
}
constexpr ValueKind kCatalogue{"CATALOGUE", "", Offer::kWords, catalogue_names};

}  // namespace

void add_list(Verb& program) {
  auto [command, options] =
      add_command<ListOptions>(program, "list", "Show what the catalogues hold",
                               "  spillway list models\n  spillway list parameters\n"
                               "  spillway list policies --json -\n"
                               "  spillway list metrics --engine vllm@0.25\n"
                               "  spillway list models --add config.json --name org/mine\n",
                               run);
  command
      .add("CATALOGUE", options.what, kCatalogue,
           "policies, parameters (of policies), engines (presets and knobs), models, gpus, formats "
           "(of traces), "
           "links, scenarios, metrics (of engines) or reports (formats of results)")
      .require();
  command.add("--engine", options.engine, kinds::kEngine,
              "NAME[@VERSION]: metrics that this release exports (default: all known)");
  Option& add =
      command.add("--add", options.add, kinds::kFile,
                  "With models: config.json of a model to add to your own list, for scenarios");
  command
      .add("--name", options.name, kinds::kName,
           "With --add: the model's name (default: _name_or_path of config.json)")
      .needs(add);
}

}  // namespace spillway

#include "scenarios/scenario/profiles/profile_json.hpp"

#include <fmt/format.h>

#include <concepts>
#include <set>

#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/profiles/profile_document.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// Calls f(name, rows) for each section.
template <class Profile, class F>
void visit_sections(Profile& p, F&& f) {
  f("copy", p.copy);
  f("contention", p.contention);
  f("interference", p.interference);
  f("hbm", p.hbm);
  f("gemm", p.gemm);
  f("attention", p.attention);
  f("dram", p.dram);
  f("registration", p.registration);
  f("storage", p.storage);
}

bool is_compute(std::string_view section) {
  return section == "hbm" || section == "gemm" || section == "attention";
}

template <class Rows>
void read_rows(const ObjectReader& in, std::string_view key, Rows& rows, const std::string& place,
               UnknownMembers& unknown) {
  for (const ObjectReader& item : in.open_objects(key)) {
    rows.push_back(
        read_row<typename Rows::value_type>(item, fmt::format("{}{}[]", place, key), unknown));
  }
}

constexpr ProfileKind kProfileForm = {kProfileKind, kProfileVersion, "measure"};

}  // namespace

// ---- the interface

/// A table is a full grid over ascending arguments.
void Fields<FitTable>::check(const ObjectReader& in, const FitTable& table) {
  if (!ascending(table.x)) in.fail("x", "expected ascending numbers");
  if (!ascending(table.y)) in.fail("y", "expected ascending numbers");
  const std::size_t cells = table.x.size() * table.y.size();
  if (table.values.size() != cells) {
    in.fail("values", fmt::format("expected {} x {} numbers, found {}", table.y.size(),
                                  table.x.size(), table.values.size()));
  }
  if (!table.measured.empty() && table.measured.size() != cells) {
    in.fail("measured", fmt::format("expected {} x {} flags, found {}", table.y.size(),
                                    table.x.size(), table.measured.size()));
  }
}

template <class Row>
json to_row(const Row& row) {
  return written(row);
}
template json to_row(const CopyCell&);
template json to_row(const ContentionCell&);
template json to_row(const InterferenceCell&);
template json to_row(const HbmCell&);
template json to_row(const GemmCell&);
template json to_row(const AttentionCell&);
template json to_row(const DramCell&);
template json to_row(const RegistrationCell&);
template json to_row(const StorageCell&);
template json to_row(const FitRecord&);
template json to_row(const MachineFacts&);

std::string machine_hash(const MachineFacts& m) {
  // Whole GiB: the system's own share of the memory changes with every kernel.
  const auto gib = [](std::int64_t bytes) { return (bytes + (1 << 29)) >> 30; };
  json facts = {{"cpu", m.cpu}, {"memory_gib", gib(m.memory_bytes)}, {"driver", m.driver}};
  facts["numa"] = json::array();
  for (const NumaFacts& node : m.numa) {
    facts["numa"].push_back({{"node", node.node}, {"cpus", node.cpus}});
  }
  facts["gpus"] = json::array();
  for (const GpuFacts& gpu : m.gpus) {
    facts["gpus"].push_back({{"name", gpu.name}, {"uuid", gpu.uuid}});
  }
  return digest_of(facts);
}

json profile_results(const HardwareProfile& p) {
  json out = {{"name", p.name},
              {"created", p.created},
              {"command", p.command},
              {"complete", p.complete},
              {"budget_s", p.budget_s},
              {"spent_s", p.spent_s},
              {"machine", written(p.machine)},
              {"machine_hash", machine_hash(p.machine)},
              {"fits", member(p.fits)},
              {"compute", json::object()}};
  visit_sections(p, [&](const char* name, const auto& rows) {
    (is_compute(name) ? out["compute"] : out)[name] = member(rows);
  });
  return out;
}

Document profile_document(const HardwareProfile& profile, json inputs) {
  Document document;
  document.kind = kProfileKind;
  document.profile_version = kProfileVersion;
  document.inputs = std::move(inputs);
  document.results = profile_results(profile);
  document.warnings = profile.warnings;
  return document;
}

std::vector<std::string_view> profile_sections() {
  std::vector<std::string_view> out;
  const HardwareProfile none;
  visit_sections(none, [&](const char* name, const auto&) { out.emplace_back(name); });
  return out;
}

std::vector<std::string> add_row(HardwareProfile& profile, std::string_view section,
                                 const json& row, const std::string& name) {
  const JsonSource source = JsonSource::from_text(name, row.dump());
  const ObjectReader in(source, "", fmt::format("a row of {}", section));
  UnknownMembers unknown;
  bool known = false;
  visit_sections(profile, [&](const char* at, auto& rows) {
    if (section != at) return;
    known = true;
    rows.push_back(
        read_row<typename std::remove_cvref_t<decltype(rows)>::value_type>(in, "", unknown));
  });
  if (!known) {
    throw InputError(Fault::kUsage, {name, 0, ""},
                     unknown_name("section of a profile", section, profile_sections()));
  }
  return {unknown.begin(), unknown.end()};
}

HardwareProfile read_profile(const JsonSource& source, std::vector<std::string>& warnings) {
  const ObjectReader top(source, "", "a profile document");
  check_profile_envelope(top, kProfileForm);
  const auto results = top.open_object("results");
  if (!results) top.missing("results", "an object");

  HardwareProfile p;
  UnknownMembers unknown;
  p.warnings = top.texts("warnings").value_or(std::vector<std::string>());
  p.name = results->text("name").value_or("");
  p.created = results->text("created").value_or("");
  p.command = results->text("command").value_or("");
  p.complete = results->boolean("complete").value_or(true);
  p.budget_s = results->number("budget_s", 0, 1e9).value_or(0);
  p.spent_s = results->number("spent_s", 0, 1e9).value_or(0);
  const auto machine = results->open_object("machine");
  if (!machine) results->missing("machine", "an object");
  p.machine = read_row<MachineFacts>(*machine, "machine", unknown);
  p.machine_hash = machine_hash(p.machine);

  std::set<std::string> known = {"name",    "created", "command",      "complete", "budget_s",
                                 "spent_s", "machine", "machine_hash", "fits",     "compute"};
  const auto compute = results->open_object("compute");
  visit_sections(p, [&](const char* name, auto& rows) {
    if (!is_compute(name)) {
      known.insert(name);
      read_rows(*results, name, rows, "", unknown);
    } else if (compute) {
      read_rows(*compute, name, rows, "compute.", unknown);
    }
  });
  if (compute) {
    for (const std::string& key : compute->keys()) {
      if (!is_compute(key)) unknown.insert("compute." + key);
    }
  }
  read_rows(*results, "fits", p.fits, "", unknown);
  for (const std::string& key : results->keys()) {
    if (!known.contains(key)) unknown.insert(key);
  }

  warn_of_contents(top, unknown, warnings);
  return p;
}

}  // namespace spillway

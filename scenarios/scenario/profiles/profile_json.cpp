#include "scenarios/scenario/profiles/profile_json.hpp"

#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/profiles/profile_document.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// Calls f(name, rows) for each section of a profile: rows that cells of a calibration fill.
template <class F>
class SectionVisitor {
 public:
  explicit SectionVisitor(F& f) : f_(f) {}

  template <class T>
  void operator()(std::string_view name, T&& value, const FieldRule&) {
    if constexpr (requires { value.visit(*this); }) {
      value.visit(*this);
    } else if constexpr (requires { value.front().state; }) {
      f_(name, value);
    }
  }

 private:
  F& f_;
};

template <class Profile, class F>
void visit_sections(Profile& p, F&& f) {
  Fields<HardwareProfile>::visit(p, SectionVisitor(f));
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

Document profile_document(const HardwareProfile& profile, json inputs) {
  Document document;
  document.kind = kProfileKind;
  document.profile_version = kProfileVersion;
  document.inputs = std::move(inputs);
  document.results = to_document(profile);
  document.warnings = plain_notes(profile.warnings);
  return document;
}

std::vector<std::string_view> profile_sections() {
  std::vector<std::string_view> out;
  const HardwareProfile none;
  visit_sections(none, [&](std::string_view name, const auto&) { out.push_back(name); });
  return out;
}

std::vector<std::string> add_row(HardwareProfile& profile, std::string_view section,
                                 const json& row, const std::string& name) {
  const JsonSource source = JsonSource::from_text(name, row.dump());
  const ObjectReader in(source, "", fmt::format("a row of {}", section));
  UnknownMembers unknown;
  bool known = false;
  visit_sections(profile, [&](std::string_view at, auto& rows) {
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

  UnknownMembers unknown;
  HardwareProfile p = read_row<HardwareProfile>(*results, "", unknown);
  p.machine_hash = machine_hash(p.machine);
  p.warnings = top.texts("warnings").value_or(std::vector<std::string>());
  warn_of_contents(top, unknown, warnings);
  return p;
}

}  // namespace spillway

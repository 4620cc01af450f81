#include "scenarios/machine/calibration_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/format.hpp"

namespace spillway {

namespace {

/// In the order in which they are first measured.
std::vector<SectionPlan> sections_of(const Calibration& calibration, double budget_s) {
  std::vector<SectionPlan> out;
  std::vector<bool> fits;
  planned_s(calibration.cells(), budget_s, fits);
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const CellPlan& cell = calibration.cells()[i].plan;
    auto at = std::find_if(out.begin(), out.end(),
                           [&](const SectionPlan& s) { return s.name == cell.section; });
    if (at == out.end()) at = out.insert(out.end(), {cell.section});
    ++at->cells;
    if (!fits[i]) continue;
    ++at->in_budget;
    at->expected_s += cell.expected_s;
  }
  return out;
}

std::int64_t scratch_need(const Calibration& calibration) {
  for (const RunCell& cell : calibration.cells()) {
    if (cell.plan.section == "storage") return calibration.limits().scratch_bytes;
  }
  return 0;
}

std::string machine_text(const MachineFacts& m) {
  return fmt::format("{}, {} cores here, {} memory, {} NUMA node{}, GPUs: {}",
                     m.cpu.empty() ? "CPU not known" : m.cpu, m.cores, size_of(m.memory_bytes),
                     std::max<std::size_t>(1, m.numa.size()), m.numa.size() > 1 ? "s" : "",
                     m.gpus.empty() ? "none" : std::to_string(m.gpus.size()));
}

std::string rate(double gbs) {
  if (gbs < 0.1) return fmt::format("{:.1f} MB/s", gbs * 1e3);
  return fmt::format("{:.{}f} GB/s", gbs, gbs < 10 ? 2 : 1);
}

std::string latency(double us) {
  return us < 1000 ? fmt::format("{} us", format_real(us)) : format_ms(us / 1e3);
}

std::string doubt(const CellState& state) {
  if (!state.valid) return "failed: " + state.problem;
  return state.stable ? "" : "unstable";
}

Table dram_table(const std::vector<DramCell>& cells) {
  Table t;
  t.title = "Host memory";
  t.header = {"node", "threads", "operation", "rate", ""};
  for (const DramCell& cell : cells) {
    t.rows.push_back({cell.numa < 0 ? "not known" : std::to_string(cell.numa),
                      std::to_string(cell.threads), cell.op, rate(cell.gbs), doubt(cell.state)});
  }
  return t;
}

Table registration_table(const std::vector<RegistrationCell>& cells) {
  Table t;
  t.title = "Pinning host memory";
  t.header = {"method", "size", "pages", "time", "per GB", ""};
  for (const RegistrationCell& cell : cells) {
    const double gigabytes = static_cast<double>(cell.bytes) / 1e9;
    t.rows.push_back({cell.method, size_of(cell.bytes), size_of(cell.page_bytes),
                      format_ms(cell.seconds * 1e3), format_ms(cell.seconds / gigabytes * 1e3),
                      doubt(cell.state)});
  }
  return t;
}

/// A terminal shows those that say most; the profile has all.
bool telling(const StorageCell& cell) {
  if (cell.op == "sustained_write") return true;
  if (!cell.direct) return cell.qd == 1;
  return cell.jobs == 1 && ((cell.bytes == 4096 && cell.qd == 1) ||
                            (cell.bytes == 1 << 20 && (cell.qd == 1 || cell.qd == 16)));
}

Table storage_table(const std::vector<StorageCell>& cells) {
  Table t;
  t.header = {"operation", "block", "in flight", "rate", "p50", "p99", "p99.9", ""};
  for (const StorageCell& cell : cells) {
    if (!telling(cell)) continue;
    std::string name = cell.op;
    if (cell.op == "sustained_write") name = "write after " + size_of(cell.after_bytes);
    if (!cell.direct && cell.op == "read") name += cell.cold ? ", buffered cold" : ", cached";
    t.rows.push_back({name, size_of(cell.bytes), std::to_string(cell.qd * cell.jobs),
                      rate(cell.gbs), latency(cell.lat_p50_us), latency(cell.lat_p99_us),
                      latency(cell.lat_p999_us), doubt(cell.state)});
  }
  t.title = fmt::format("Storage ({} of {} cells)", t.rows.size(), cells.size());
  return t;
}

/// A command without a value has neither size nor rate.
Table kv_table(const std::vector<KvCell>& cells) {
  Table t;
  t.title = fmt::format("Key-value server: {} ({})", cells.front().server, cells.front().place);
  t.header = {"operation", "value", "clients", "rate", "p50", "p99", ""};
  for (const KvCell& cell : cells) {
    const bool command = cell.bytes == 0;
    t.rows.push_back({cell.op, command ? "" : size_of(cell.bytes), std::to_string(cell.clients),
                      command ? "" : rate(cell.gbs), latency(cell.lat_p50_us),
                      latency(cell.lat_p99_us), doubt(cell.state)});
  }
  std::stable_sort(t.rows.begin(), t.rows.end(),
                   [](const auto& a, const auto& b) { return a.front() < b.front(); });
  return t;
}

/// Sections of GPU cells are counted here; `report` draws them.
Table gpu_table(const HardwareProfile& p) {
  Table t;
  t.title = "GPU";
  t.header = {"section", "cells"};
  const auto add = [&](const char* name, std::size_t cells) {
    if (cells > 0) t.rows.push_back({name, std::to_string(cells)});
  };
  add("copy", p.copy.size());
  add("contention", p.contention.size());
  add("interference", p.interference.size());
  add("hbm", p.hbm.size());
  add("gemm", p.gemm.size());
  add("attention", p.attention.size());
  add("collective", p.collective.size());
  return t;
}

}  // namespace

Report plan_summary(const Calibration& calibration, const CalibrationOptions& options) {
  Report report;
  report.title = fmt::format("What a budget of {} s would measure", format_real(options.budget_s));
  report.sections.emplace_back();
  Section& section = report.sections.back();
  section.paragraphs.push_back(machine_text(calibration.host().facts));
  Table t;
  t.header = {"section", "cells", "in budget", "expected s"};
  for (const SectionPlan& s : sections_of(calibration, options.budget_s)) {
    t.rows.push_back({s.name, std::to_string(s.cells), std::to_string(s.in_budget),
                      fmt::format("{:.1f}", s.expected_s)});
  }
  section.tables.push_back(std::move(t));
  section.paragraphs.push_back(
      fmt::format("Memory: at most {} at once. What is left of the budget repeats unstable cells.",
                  size_of(calibration.limits().memory_bytes)));
  if (const std::int64_t scratch = scratch_need(calibration); scratch > 0) {
    section.paragraphs.push_back(
        fmt::format("Storage: one scratch file of {} in {}, without a "
                    "name and gone at the end.",
                    size_of(scratch), calibration.limits().scratch));
  }
  return report;
}

CalibrationPlan plan_of(const Calibration& calibration, const CalibrationOptions& options) {
  CalibrationPlan out;
  std::vector<bool> fits;
  out.budget_s = options.budget_s;
  out.planned_s = planned_s(calibration.cells(), options.budget_s, fits);
  out.memory_bytes = calibration.limits().memory_bytes;
  out.scratch_bytes = scratch_need(calibration);
  out.sections = sections_of(calibration, options.budget_s);
  out.missing = calibration.missing();
  return out;
}

Report profile_summary(const HardwareProfile& profile, const std::string& file,
                       const Calibration& calibration) {
  Report report;
  report.title = fmt::format("{} of {} cells measured in {} s{}", calibration.measured(),
                             calibration.cells().size(), format_real(profile.spent_s),
                             profile.complete ? "" : " (not complete)");
  report.subtitle = machine_text(profile.machine);
  report.sections.emplace_back();
  Section& section = report.sections.back();
  if (!profile.dram.empty()) section.tables.push_back(dram_table(profile.dram));
  if (!profile.registration.empty()) {
    section.tables.push_back(registration_table(profile.registration));
  }
  if (!profile.storage.empty()) section.tables.push_back(storage_table(profile.storage));
  if (!profile.kv.empty()) section.tables.push_back(kv_table(profile.kv));
  if (Table gpu = gpu_table(profile); !gpu.rows.empty()) section.tables.push_back(std::move(gpu));
  report.sections.emplace_back();
  std::vector<std::string>& last = report.sections.back().paragraphs;
  for (const std::string& line : calibration.missing()) last.push_back("Not measured: " + line);
  const std::size_t left = calibration.cells().size() - calibration.measured();
  if (left > 0)
    last.push_back(fmt::format("Left out: {} cells; a larger --budget takes more", left));
  if (!file.empty()) {
    last.push_back(fmt::format("Profile: {}", file));
    last.push_back(fmt::format("Next: spillway run SCENARIO --set hardware={}", file));
  }
  return report;
}

}  // namespace spillway

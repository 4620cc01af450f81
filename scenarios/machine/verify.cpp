#include "scenarios/machine/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "models/calibration/fit.hpp"
#include "models/calibration/fit_errors.hpp"
#include "models/calibration/fit_table.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "sim/det_math.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

using nlohmann::json;

struct Value {
  double value;
  const char* unit;
};

/// The one figure by which rows of a section are compared; nothing of a row that is not valid.
std::optional<Value> value_of(const std::string& section, const json& row) {
  if (row.contains("state") && !row.at("state").value("valid", true)) return std::nullopt;
  const auto positive = [](double value, const char* unit) -> std::optional<Value> {
    if (!(value > 0)) return std::nullopt;
    return Value{value, unit};
  };
  if (section == "copy" || section == "gemm" || section == "attention") {
    return positive(row.at("time").value("med_us", 0.0), "us");
  }
  if (section == "dram" || section == "hbm" || section == "storage") {
    return positive(row.value("gbs", 0.0), "GB/s");
  }
  if (section == "collective") {
    const json& points = row.at("points");
    return points.empty() ? std::nullopt : positive(points.back().value("time_us", 0.0), "us");
  }
  if (section == "kv") {
    const bool command = row.value("bytes", 0) == 0;
    return command ? positive(row.at("time").value("med_us", 0.0), "us")
                   : positive(row.value("gbs", 0.0), "GB/s");
  }
  if (section == "registration") return positive(row.value("seconds", 0.0), "s");
  if (section == "interference") return positive(row.value("copy_factor", 0.0), "x");
  double together = 0;  // contention
  for (const json& actor : row.value("actors", json::array())) {
    together += actor.value("together_gbs", 0.0);
  }
  return positive(together, "GB/s");
}

bool is_stable(const json& row) {
  return !row.contains("state") || row.at("state").value("stable", true);
}

bool answers(const json& row, const json& request) {
  for (const auto& item : request.items()) {
    const auto it = row.find(item.key());
    if (it == row.end()) return false;
    if (*it == item.value()) continue;
    // A list of what takes part (actors) holds results as well.
    if (!it->is_array() || !item.value().is_array() || it->size() != item.value().size()) {
      return false;
    }
    for (std::size_t i = 0; i < it->size(); ++i) {
      if (!it->at(i).is_object() || !answers(it->at(i), item.value().at(i))) return false;
    }
  }
  return true;
}

/// A cell that can be measured again.
struct Candidate {
  std::size_t bench;
  CellPlan plan;
  Value stored;
  bool stable;
};

class Verification {
 public:
  Verification(const HardwareProfile& profile, std::span<const std::unique_ptr<Bench>> benches,
               const BenchLimits& limits, const VerifyOptions& options)
      : profile_(profile),
        fits_(profile.fits.empty() ? fit_profile(profile).fits : profile.fits),
        benches_(benches),
        options_(options),
        random_(options.seed, "verify"),
        lost_(benches.size(), false) {
    collect(limits);
  }

  VerifyResult run() {
    std::vector<Candidate> chosen = draw();
    std::vector<std::pair<Candidate, Value>> fresh;  // with what the fits predict
    for (const Candidate& candidate : chosen) add_fresh(candidate, fresh);
    const std::uint64_t all = chosen.size() + fresh.size();
    std::uint64_t done = 0;
    const auto told = [&] {
      ++done;
      if (options_.progress) options_.progress(done, all);
    };
    for (const Candidate& candidate : chosen) {
      measure(candidate, candidate.stored, true);
      told();
    }
    for (const auto& [candidate, predicted] : fresh) {
      measure(candidate, predicted, false);
      told();
    }
    finish();
    return std::move(out_);
  }

 private:
  void collect(const BenchLimits& limits) {
    const json results = to_document(profile_);
    std::map<std::string, const json*> sections;
    for (const auto& item : results.items()) {
      if (item.value().is_array()) sections[item.key()] = &item.value();
    }
    for (const auto& item : results.at("compute").items()) sections[item.key()] = &item.value();

    std::set<std::pair<std::string, std::size_t>> found;
    for (std::size_t b = 0; b < benches_.size(); ++b) {
      std::vector<std::string> missing;
      for (CellPlan& plan : benches_[b]->plan(limits, missing)) {
        const auto section = sections.find(plan.section);
        if (section == sections.end()) continue;
        for (std::size_t i = 0; i < section->second->size(); ++i) {
          const json& row = section->second->at(i);
          if (!answers(row, plan.request)) continue;
          found.insert({plan.section, i});
          sizes_[plan.section].insert(plan.request.value("bytes", std::int64_t{0}));
          const auto value = value_of(plan.section, row);
          if (value) candidates_.push_back({b, plan, *value, is_stable(row)});
          break;
        }
      }
      for (const std::string& reason : missing) out_.notes.push_back("not verified: " + reason);
    }
    std::size_t rows = 0;
    for (const std::string_view name : profile_sections()) {
      const auto it = sections.find(std::string(name));
      if (it != sections.end()) rows += it->second->size();
    }
    if (found.size() < rows) {
      out_.notes.push_back(fmt::format("{} of {} stored cells cannot be measured here again",
                                       rows - found.size(), rows));
    }
  }

  /// A share of each section, drawn without putting back: of the cells that were stable, where
  /// there are any. What varied then says nothing by varying now.
  std::vector<Candidate> draw() {
    std::map<std::string, std::vector<Candidate>> by_section;
    for (Candidate& candidate : candidates_) {
      by_section[candidate.plan.section].push_back(std::move(candidate));
    }
    std::vector<Candidate> out;
    for (auto& [section, all] : by_section) {
      const auto stable = [](const Candidate& candidate) { return candidate.stable; };
      if (std::any_of(all.begin(), all.end(), stable)) std::erase_if(all, std::not_fn(stable));
      const double wanted = std::ceil(options_.share * static_cast<double>(all.size()));
      const auto count = std::min(all.size(), static_cast<std::size_t>(std::max(1.0, wanted)));
      for (std::size_t i = 0; i < count; ++i) {
        std::swap(all[i], all[i + random_.below(all.size() - i)]);
        out.push_back(std::move(all[i]));
      }
    }
    return out;
  }

  /// Somewhere in the middle half of the gap in logarithms, on a page.
  std::int64_t between(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kPage = 4096;
    const double ratio = static_cast<double>(b) / static_cast<double>(a);
    const double middle = static_cast<double>(a) * det::pow(ratio, 0.25 + 0.5 * random_.uniform());
    return std::llround(middle / kPage) * kPage;
  }

  /// A power of two, for blocks of a file whose contents are verified lie on their own size; 0
  /// where none is between.
  static std::int64_t power_between(std::int64_t a, std::int64_t b) {
    const auto low = static_cast<std::uint64_t>(std::min(a, b));
    const std::uint64_t next = std::bit_floor(low) * 2;
    return next < static_cast<std::uint64_t>(std::max(a, b)) ? static_cast<std::int64_t>(next) : 0;
  }

  /// For a drawn cell of a section with tables: the same at a size between two of the grid.
  void add_fresh(const Candidate& from, std::vector<std::pair<Candidate, Value>>& fresh) {
    const std::string& section = from.plan.section;
    if (section != "copy" && section != "storage") return;
    const auto& sizes = sizes_[section];
    const auto bytes = from.plan.request.value("bytes", std::int64_t{0});
    const auto at = sizes.find(bytes);
    if (at == sizes.end()) return;
    const auto next = std::next(at);
    const std::int64_t other = next != sizes.end()   ? *next
                               : at != sizes.begin() ? *std::prev(at)
                                                     : 0;
    if (other == 0) return;
    const std::int64_t size =
        section == "copy" ? between(bytes, other) : power_between(bytes, other);
    if (size <= 0 || sizes.contains(size)) return;
    Candidate candidate = from;
    candidate.plan.request["bytes"] = size;
    const std::optional<Value> predicted = prediction(candidate.plan);
    if (predicted) fresh.emplace_back(std::move(candidate), *predicted);
  }

  std::optional<Value> prediction(const CellPlan& plan) const {
    const json& r = plan.request;
    const auto bytes = r.at("bytes").get<double>();
    if (plan.section == "copy") {
      if (!r.value("gated", true) || r.value("stream_count", 1) > 1) return std::nullopt;
      const FitRecord* fit =
          find_fit(fits_, fmt::format("copy/{}/{}/{}/{}", r.value("dir", ""), r.value("api", ""),
                                      r.value("mem", ""), r.value("pattern", "")));
      const double n = r.value("n", 1.0);
      if (fit == nullptr || !within(fit->table, bytes, n)) return std::nullopt;
      return Value{bytes * n / value_at(fit->table, bytes, n) * 1e-3, "us"};
    }
    if (!r.value("direct", true)) return std::nullopt;
    const FitRecord* fit = find_fit(fits_, "storage/" + r.value("op", ""));
    const double depth = r.value("qd", 1.0) * r.value("jobs", 1.0);
    if (fit == nullptr || !within(fit->table, bytes, depth)) return std::nullopt;
    return Value{value_at(fit->table, bytes, depth), "GB/s"};
  }

  /// The middle of the repeats.
  void measure(const Candidate& candidate, const Value& expected, bool stored) {
    if (lost_[candidate.bench]) return;
    std::vector<double> values;
    std::string problem = "no figure";
    for (std::uint32_t i = 0; i < options_.repeats; ++i) {
      try {
        const json row = benches_[candidate.bench]->measure(candidate.plan);
        const auto value = value_of(candidate.plan.section, row);
        if (value) {
          values.push_back(value->value);
        } else if (row.contains("state")) {
          problem = row.at("state").value("problem", problem);
        }
      } catch (const BenchLost& lost) {
        lost_[candidate.bench] = true;
        out_.notes.push_back(
            fmt::format("{} was lost: {}", benches_[candidate.bench]->name(), lost.what()));
        break;
      }
    }
    if (values.empty() && lost_[candidate.bench]) return;
    if (values.empty()) {
      out_.notes.push_back(fmt::format("{} {}: could not be measured: {}", candidate.plan.section,
                                       candidate.plan.request.dump(), problem));
      return;
    }
    VerifiedCell cell;
    cell.section = candidate.plan.section;
    cell.request = candidate.plan.request;
    cell.stored = stored;
    cell.expected = expected.value;
    cell.measured = median_of(values);
    cell.unit = expected.unit;
    cell.error = percent_off(cell.measured, cell.expected);
    out_.cells.push_back(std::move(cell));
  }

  VerifySummary summary(bool stored, double median, double p95) const {
    std::vector<double> errors;
    for (const VerifiedCell& cell : out_.cells) {
      if (cell.stored == stored) errors.push_back(cell.error);
    }
    const ErrorSummary all = summarise(errors);
    return {static_cast<std::uint32_t>(errors.size()), all.median, all.p95, all.max,
            all.median <= median && all.p95 <= p95};
  }

  void finish() {
    out_.stored = summary(true, options_.stored_median, options_.stored_p95);
    out_.fresh = summary(false, options_.new_median, options_.new_p95);
    const bool any_lost = std::find(lost_.begin(), lost_.end(), true) != lost_.end();
    out_.holds = out_.stored.cells > 0 && out_.stored.holds && out_.fresh.holds && !any_lost;
    std::stable_sort(
        out_.cells.begin(), out_.cells.end(),
        [](const VerifiedCell& a, const VerifiedCell& b) { return a.error > b.error; });
  }

  const HardwareProfile& profile_;
  std::vector<FitRecord> fits_;
  std::span<const std::unique_ptr<Bench>> benches_;
  const VerifyOptions& options_;
  Stream random_;
  std::vector<bool> lost_;
  std::vector<Candidate> candidates_;
  std::map<std::string, std::set<std::int64_t>> sizes_;
  VerifyResult out_;
};

}  // namespace

VerifyResult verify_profile(const HardwareProfile& profile,
                            std::span<const std::unique_ptr<Bench>> benches,
                            const BenchLimits& limits, const VerifyOptions& options) {
  return Verification(profile, benches, limits, options).run();
}

Report verify_summary(const VerifyResult& result, const VerifyOptions& options,
                      const std::string& name) {
  Report report;
  report.title = fmt::format("{} {}", name, result.holds ? "holds" : "does not hold");
  Section section;
  Table table;
  table.header = {"cells", "number", "median error", "at most", "p95", "at most", "worst", ""};
  const auto row = [&](const char* what, const VerifySummary& s, double median, double p95) {
    table.rows.push_back({what, std::to_string(s.cells), fmt::format("{:.1f}%", s.median),
                          fmt::format("{:.0f}%", median), fmt::format("{:.1f}%", s.p95),
                          fmt::format("{:.0f}%", p95), fmt::format("{:.1f}%", s.max),
                          s.median > median ? "median too far off"
                          : s.p95 > p95     ? "p95 too far off"
                                            : ""});
  };
  row("stored, again", result.stored, options.stored_median, options.stored_p95);
  row("sizes not stored, by the fits", result.fresh, options.new_median, options.new_p95);
  section.tables.push_back(std::move(table));
  Table worst;
  worst.title = "Worst cells";
  worst.header = {"section", "what", "expected", "measured", "error"};
  constexpr std::size_t kShownCells = 5;
  for (std::size_t i = 0; i < std::min(kShownCells, result.cells.size()); ++i) {
    const VerifiedCell& cell = result.cells[i];
    std::string what;
    for (const auto& item : cell.request.items()) {
      const json& value = item.value();
      what += fmt::format("{}{} {}", what.empty() ? "" : ", ", item.key(),
                          value.is_string() ? value.get<std::string>() : value.dump());
    }
    worst.rows.push_back({cell.section, what, fmt::format("{:.4g} {}", cell.expected, cell.unit),
                          fmt::format("{:.4g} {}", cell.measured, cell.unit),
                          fmt::format("{:.1f}%", cell.error)});
  }
  if (!worst.rows.empty()) section.tables.push_back(std::move(worst));
  section.paragraphs.push_back(
      fmt::format("Each cell is the middle of {} measurements.", options.repeats));
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway

#include "reports/plan/plan_glance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/glance_table.hpp"
#include "reports/plan/host_budget.hpp"
#include "reports/plan/limits.hpp"
#include "reports/provenance.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/wrap.hpp"

namespace spillway {

std::unique_ptr<Renderer> make_text(const RenderOptions& options);

namespace {

constexpr std::size_t kGlanceRows = 8;
constexpr std::size_t kGlanceGoodRows = 5;  // a sentence gives way rather than more of them
constexpr std::size_t kGlanceLeastRows = 3;
constexpr std::size_t kGlanceNotes = 3;
constexpr std::size_t kSentenceLines = 2;
constexpr std::size_t kFlagLines = 3;
constexpr std::size_t kMostFailures = 3;  // events in the margin's line

/// A sentence with how readily it gives way: the largest first, 0 never.
struct Line {
  int spare = 0;
  std::string text;
  std::vector<std::string> words{};  ///< of flags: never broken within one, copied with their "\"
};

std::string buy_line(const PlanResult& plan, const Provenance& provenance) {
  if (plan.recommended < 0 || cell_at(plan, plan.recommended).run.tiers.size() < 2) return {};
  const std::string& size = plan.recommended_size.empty() ? cell_at(plan, plan.recommended).capacity
                                                          : plan.recommended_size;
  std::string out = fmt::format("Buy: {} of {}", spaced(size), kind_of_tier(plan));
  if (plan.recommended_total_bytes > plan.recommended_bytes && plan.recommended_bytes > 0) {
    out += fmt::format(" per engine ({} in total)",
                       memory_text(static_cast<double>(plan.recommended_total_bytes)));
  }
  if (!object_at(provenance.inputs, "configuration").empty()) {
    const HostBudget host = host_budget(plan, provenance);
    if (host.pool > 0 && host.need > 0) {
      out += ", host memory needed " + format_bytes(host.need);
      if (host.installed > 0 && host.installed < host.need) {
        out += fmt::format(" ({} installed: too little)", format_bytes(host.installed));
      }
    }
  }
  if (const std::string cost = month_cost_words(plan); !cost.empty()) out += ". Cost: " + cost;
  return out + ".";
}

/// The last part of a path or of "organisation/model".
std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// Model, GPU and traffic, and whose figures their times are.
std::string basis_line(const Provenance& provenance) {
  const nlohmann::json configuration = object_at(provenance.inputs, "configuration");
  const nlohmann::json trace = object_at(provenance.inputs, "trace");
  std::vector<std::string> parts;
  const std::string model = last_part(text_at(object_at(configuration, "model"), "name"));
  const std::string gpu = text_at(configuration, "gpu");
  const bool published = std::ranges::any_of(
      provenance.warnings, [](const Note& n) { return n.code.starts_with("published-"); });
  if (!model.empty() && !gpu.empty()) {
    parts.push_back(fmt::format("{} on {}{}", model, gpu, published ? " (published figures)" : ""));
  }
  if (trace.contains("requests")) {
    const std::string name = last_part(text_at(trace, "name"));
    const double speed = object_at(configuration, "workload").value("speed", 1.0);
    parts.push_back(fmt::format("{} requests of {}{}",
                                format_count(whole<std::uint64_t>(trace["requests"])),
                                name.empty() ? "generated traffic" : name,
                                speed == 1 ? "" : fmt::format(" x{}", format_real(speed))));
  }
  return parts.empty() ? "" : fmt::format("Rests on: {}.", fmt::join(parts, ", "));
}

const char* what_was_tried(const PlanResult& plan) {
  return searched(plan) ? "configurations" : "sizes";
}

std::string confidence_line(const PlanResult& plan) {
  if (!plan.confidence) {
    return fmt::format(
        "Confidence: none. Each {} ran once; other traffic like this may miss the SLO.",
        searched(plan) ? "configuration" : "size");
  }
  const std::string level = fmt::format("{:.4g}%", 100 * plan.confidence->level);
  if (plan.recommended >= 0) {
    const PlanPoint& point = cell_at(plan, plan.recommended);
    const Certain certain = certain_of(point, plan.confidence->level);
    return fmt::format("Confidence: {} of requests within SLO ({}; {} replicates).", certain.share,
                       certain.claim, point.replications);
  }
  const auto missed =
      std::count_if(plan.points.begin(), plan.points.end(),
                    [](const PlanPoint& point) { return point.verdict == CellVerdict::kMissed; });
  const std::string runs = format_count(plan.confidence->runs);
  if (plan.undecided && missed == 0) {
    return fmt::format("Confidence: nothing is certain at {} after {} runs.", level, runs);
  }
  return fmt::format("Confidence: {} that {} of {} {} miss the SLO; {}.", level, missed,
                     plan.points.size(), what_was_tried(plan),
                     plan.undecided ? "the others are uncertain" : "none is shown to meet it");
}

std::string limiting_line(const PlanResult& plan) {
  if (plan.binding.empty() || plan.verdict.find("Limiting resource") != std::string::npos) {
    return {};
  }
  return fmt::format("Limiting resource: {}. {}", limiting_name(plan), plan.binding.front().text);
}

/// Events that fail, beyond those in the answer.
std::string margin_line(const PlanResult& plan) {
  if (plan.recommended < 0) return {};
  if (!plan.margin) {
    const bool cut = std::any_of(plan.notes.begin(), plan.notes.end(), [](const Note& note) {
      return note.code == "left-out-by-time" || note.code == "left-out-by-runs";
    });
    if (cut) return "Margin: not tested, because the budget ended first.";
    return "Margin: not tested. Add --set plan.sensitivity=true to see what breaks this.";
  }
  std::vector<std::string> fails;
  std::set<std::string> kinds;
  bool more = false;
  for (BreakingEvent event : plan.margin->broken) {
    const bool happens = event.kind == "peak" || event.kind == "forecast" ||
                         event.kind == "cold-restart" || event.kind == "lost-host" ||
                         event.kind == "storage" || event.kind == "link";
    event.replicates = 2;  // how often it ran is said once
    std::string words = event_words(event);
    // A peak that fails implies every higher one, and growth all that follows.
    const bool implied =
        (event.kind == "peak" || event.kind == "forecast") && !kinds.insert(event.kind).second;
    if (!happens || implied || plan.verdict.find(words) != std::string::npos) continue;
    if (fails.size() == kMostFailures) {
      more = true;
      break;
    }
    fails.push_back(std::move(words));
  }
  if (fails.empty()) return {};
  const bool told = plan.verdict.find("Margin: ") != std::string::npos;
  if (more) fails.emplace_back("others");
  return fmt::format("Margin: {}fails {} (one run each).", told ? "also " : "", and_list(fails));
}

/// What makes the answer last where growth ends it.
std::string growth_line(const PlanResult& plan) {
  if (!plan.margin || !plan.margin->growth || plan.recommended < 0) return {};
  const GrowthRemedy& growth = *plan.margin->growth;
  return fmt::format("After {} of growth (x{:.2g} the sessions): {} ({}).",
                     forecast_span(growth.forecast), growth.sessions,
                     growth_remedy_words(*plan.margin), runs_words(growth.change));
}

std::string alternative_line(const PlanResult& plan) {
  const auto& free = plan.answer.cheaper;
  if (!free || !free->free()) return {};
  return fmt::format("Free alternative: {}. It meets the SLO in {}: {}.", change_words(*free),
                     runs_words(*free), targets_words(*free));
}

std::vector<Line> lines_of(const PlanResult& plan, const Provenance& provenance) {
  std::vector<Line> out = {{0, buy_line(plan, provenance)}, {0, confidence_line(plan)},
                           {1, basis_line(provenance)},     {2, margin_line(plan)},
                           {1, growth_line(plan)},          {1, limiting_line(plan)},
                           {0, alternative_line(plan)}};
  if (plan.undecided && !plan.would_decide.empty() &&
      plan.verdict.find(plan.would_decide) == std::string::npos) {
    out.push_back({0, "To decide: " + plan.would_decide});
  }
  std::erase_if(out, [](const Line& line) { return line.text.empty(); });
  if (plan.flags && plan.recommended >= 0) {
    Line set{0, fmt::format("Set in {}:", plan.flags->release), plan.flags->environment};
    set.words.insert(set.words.end(), plan.flags->arguments.begin(), plan.flags->arguments.end());
    if (!set.words.empty()) out.push_back(std::move(set));
  }
  return out;
}

/// At most so many lines; what is cut ends in dots.
std::vector<std::string> clamped(std::vector<std::string> lines, std::size_t most,
                                 std::size_t width) {
  if (lines.size() <= most) return lines;
  lines.resize(most);
  std::string& last = lines.back();
  while (last.size() + 4 > width && last.find_last_of(' ') != std::string::npos) {
    last.resize(last.find_last_of(' '));
  }
  last += " ...";
  return lines;
}

std::vector<std::string> shown(const Line& line, std::size_t width) {
  if (line.words.empty()) return clamped(wrapped(line.text, width, 2), kSentenceLines, width);
  std::vector<std::string> out = {line.text};
  for (const std::string& word : line.words) {
    if (out.back().size() + 1 + word.size() + 2 > width) {
      out.back() += " \\";
      out.emplace_back("  ");
    }
    out.back() += out.back().ends_with(' ') ? word : " " + word;
  }
  return clamped(std::move(out), kFlagLines, width);
}

Report glance_of(const PlanResult& plan, const std::vector<Line>& lines, int spare,
                 std::size_t rows, const GlanceRoom& room) {
  Report out;
  out.title = plan.verdict;
  Section& section = out.sections.emplace_back();
  for (const Line& line : lines) {
    if (line.spare > spare) continue;
    for (std::string& text : shown(line, room.width)) section.paragraphs.push_back(std::move(text));
  }
  if (!plan.points.empty()) {
    section.tables.push_back(glance_table(plan, rows, room.width, room.unicode));
  }
  return out;
}

std::size_t height(const Report& report, const GlanceRoom& room) {
  std::ostringstream text;
  make_text({false, room.unicode, room.width})->render(report, text);
  const std::string all = text.str();
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
}

}  // namespace

Glance plan_glance(const PlanResult& plan, const Provenance& provenance, const GlanceRoom& room) {
  const std::vector<Line> lines = lines_of(plan, provenance);
  const std::size_t most = std::min(kGlanceNotes, room.notes);
  // Notes give way first, down to one; then rows, then sentences.
  for (int spare = 2; spare >= 0; --spare) {
    const std::size_t least = spare > 0 ? kGlanceGoodRows : kGlanceLeastRows;
    for (std::size_t rows = kGlanceRows; rows >= least; --rows) {
      Report report = glance_of(plan, lines, spare, rows, room);
      const std::size_t used = height(report, room) + room.below;
      for (std::size_t notes = most;; --notes) {
        const std::size_t counted = notes < room.notes ? 1 : 0;  // "7 more"
        if (used + notes + counted <= room.lines) return {std::move(report), notes};
        if (notes <= 1) break;
      }
    }
  }
  return {glance_of(plan, lines, 0, kGlanceLeastRows, room), std::min<std::size_t>(most, 1)};
}

Notes plan_notes(const PlanResult& plan) {
  Notes out;
  for (const Note& verdict : plan.judgement.verdicts) {
    // Of sizes that nobody would buy after this answer.
    if (plan.recommended < 0 || verdict.code != "tier-adds-nothing") out.push_back(verdict);
  }
  if (plan.flags && plan.recommended >= 0 && !plan.flags->not_covered.empty()) {
    std::vector<std::string> left = plan.flags->not_covered;
    for (std::string& what : left) what.resize(std::min(what.size(), what.find(": ")));
    out.push_back(plan_note("no-flag", {{"what", and_list(left)}}));
  }
  out.insert(out.end(), plan.notes.begin(), plan.notes.end());
  return out;
}

}  // namespace spillway

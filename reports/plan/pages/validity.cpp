// Page 11: what the answer rests on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/notes/notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/falsifiers.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/provenance.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// What was compared with measurements or with a second implementation, and how far off it was.
constexpr std::array<std::array<const char*, 3>, 8> kAccuracy = {{
    {"engine, offload and clock", "a second implementation written from the specification alone",
     "every request equal to the nanosecond, 2,000 random scenarios"},
    {"LRU and FIFO hit counts", "independent counts on a published trace", "48 of 48 equal"},
    {"KV capacity of a GPU", "vLLM's own figure on an H100 and an RTX 4090", "-0.7% and +0.2%"},
    {"saturated engine (vLLM 0.19, RTX 4090, 300 requests), nothing fitted",
     "measured TTFT, TPOT, end to end", "mean -2.3, -3.5, -2.6%; p99 -2.8, -2.8, -2.5%"},
    {"the same with that machine's kernel tables and a fitted constant per step", "the same run",
     "means at most 1.0% off; a single request's TPOT +-15 to 20%"},
    {"step times of kernels on H100, A100, L40S, RTX 4090", "published tables, rows held out",
     "0.5 to 3.4% (mixed 2.0%)"},
    {"dense models that a fit never saw", "the same tables",
     "2.9 to 4.4% on average, 7.8% at worst"},
    {"Llama-3.1-70B FP8 on 2, 4 and 8 B200, two parameters fitted on one", "45 published means",
     "TPOT 4.4%; TTFT 39% too short, a client's share"},
}};

constexpr const char* kNotModelled[] = {
    "Reuse inside blocks of the trace that differ: hits are a lower bound",
    ("Step times of mixture-of-experts and MLA models against measurements; quantised weights "
     "beyond FP8; collectives of pipeline stages and experts"),
    "Speculative decoding, LoRA adapters, several sequences for one request, images",
    "Time in the network and in the client before and after the server",
    "Routing by load or by prefix: sessions are split over instances by a hash",
    "Noise of the machine: clocks that throttle, other processes, garbage collection, page faults",
    "Failures amid a run: engines that restart, links that train down, drives that fill up",
};

std::string date_of(const json& from) {
  const std::string created = text_at(from, "created");
  return created.empty() ? "" : ", made " + created;
}

Table calibration_table(const Provenance& p) {
  Table table;
  table.title = "Where times come from";
  table.header = {"times of", "source", "measured"};
  const json configuration = object_at(p.inputs, "configuration");
  const json compute = object_at(configuration, "compute");
  const std::string kind = text_at(compute, "kind");
  const std::string gpu = text_at(configuration, "gpu");
  if (kind == "profile") {
    table.rows.push_back({"steps",
                          fmt::format("compute profile {}{}: {}", text_at(compute, "profile"),
                                      date_of(compute), text_at(compute, "source")),
                          "as the profile's data"});
  } else if (kind == "components") {
    table.rows.push_back({"steps",
                          fmt::format("published efficiencies of {}: {}",
                                      gpu.empty() ? "the GPU" : gpu, text_at(compute, "source")),
                          "not measured here"});
  } else if (!kind.empty()) {
    table.rows.push_back(
        {"steps", "figures of the scenario (" + kind + ")", "as their author did"});
  }
  if (configuration.contains("links") && configuration["links"].is_array()) {
    for (const json& link : configuration["links"]) {
      if (!link.is_object()) continue;
      const std::string source = text_at(link, "source");
      const bool profile = source.find("profile") != std::string::npos;
      table.rows.push_back(
          {fmt::format("copies {} to {}", text_at(link, "from"), text_at(link, "to")), source,
           profile ? "by calibrate" : "not measured here"});
    }
  }
  const json hardware = object_at(p.inputs, "hardware");
  if (!hardware.empty()) {
    const json machine = object_at(hardware, "machine");
    table.rows.push_back(
        {"the machine",
         fmt::format("hardware profile {}{}: {}, GPUs {}", text_at(hardware, "name"),
                     date_of(hardware), text_at(machine, "cpu"), text_at(machine, "gpus")),
         "by calibrate"});
  }
  if (p.inputs.is_object() && p.inputs.contains("measured")) {
    table.rows.push_back(
        {"facts of a running system", text_at(object_at(p.inputs, "measured"), "path"), "yes"});
  }
  return table;
}

Table fits_table(const Provenance& p) {
  Table table;
  table.title = "How well those fits predict";
  table.header = {"part", "points", "error on them", "held out", "error on those"};
  const auto add = [&](const json& from) {
    const auto fits = from.find("fits");
    if (fits == from.end() || !fits->is_array()) return;
    for (const json& fit : *fits) {
      const bool held = whole<std::uint64_t>(fit.at("held_out")) > 0;
      const auto percent = [&](const char* key) {
        return format_percent(fit.at(key).get<double>() / 100);
      };
      table.rows.push_back(
          {fit.at("part").get<std::string>(), format_count(whole<std::uint64_t>(fit.at("points"))),
           percent("error_percent"), format_count(whole<std::uint64_t>(fit.at("held_out"))),
           held ? percent("held_out_error_percent") : "-"});
    }
  };
  add(object_at(object_at(p.inputs, "configuration"), "compute"));
  add(object_at(p.inputs, "hardware"));
  return table;
}

std::string bytes_range(const ReachCount& reach) {
  return reach.least_piece == reach.most_piece
             ? format_bytes(static_cast<double>(reach.most_piece))
             : fmt::format("{} to {}", format_bytes(static_cast<double>(reach.least_piece)),
                           format_bytes(static_cast<double>(reach.most_piece)));
}

/// Where a link was used beyond what its model was measured at.
Table range_table(const PlanResult& plan) {
  Table table;
  table.title = "Copies beyond what their link was measured at, in the run of the workload itself";
  table.header = {"configuration", "link", "copies", "of all", "pieces", "what is assumed"};
  for (const PlanPoint& point : plan.points) {
    for (const LinkResult& link : point.run.links) {
      const auto add = [&](const ReachCount& reach, const char* what) {
        if (reach.transfers == 0) return;
        const double share = static_cast<double>(reach.transfers) /
                             static_cast<double>(std::max<std::uint64_t>(
                                 1, std::max(link.transfers, reach.transfers)));
        table.rows.push_back({spaced(name_of_cell(point)), link.name, format_count(reach.transfers),
                              format_percent(share), bytes_range(reach), what});
      };
      add(link.extrapolated, "the rate at the edge of what was measured");
      add(link.across_step, "a rate between neighbours that differ by more than 2x");
    }
  }
  return table;
}

Section confidence_part(const PlanResult& plan) {
  Section part;
  part.heading = "Confidence";
  part.folded = true;
  if (!plan.confidence) {
    part.paragraphs.emplace_back(
        "Each size was judged by one run of the workload itself: there is no interval, and another "
        "day of the same traffic may decide otherwise. plan.replications of 5 or more gives one.");
    return part;
  }
  const PlanConfidence& c = *plan.confidence;
  part.paragraphs.push_back(
      fmt::format("The recommended size meets every target with {} confidence, by {} runs. {}.",
                  format_percent(c.level), format_count(c.runs), c.method));
  if (!c.stop_reason.empty()) part.paragraphs.push_back("It ended because: " + c.stop_reason + ".");
  part.paragraphs.emplace_back(
      "Known hole: where misses are rarer than about 1 in 150 requests and come in long queues, "
      "intervals are too narrow. On an M/M/1 server at load 0.9 with a true share of 0.6%, ten "
      "runs "
      "of 2,000 requests cover it in 71% of trials in place of 95%; longer traces help.");
  part.paragraphs.emplace_back(
      "What replicates do not vary: the model of engine and hardware itself. The error of times is "
      "on page Sensitivity, moved on its own.");
  return part;
}

Table warnings_table(const Provenance& p) {
  Table table;
  table.title = "Assumptions and warnings";
  table.header = {"about", "what"};
  std::map<std::string_view, std::vector<std::string>> groups;
  for (const Note& note : p.warnings) groups[about_of(note)].push_back(note.text);
  for (const auto& [topic, all] : groups) {
    for (const std::string& one : all) table.rows.push_back({std::string(topic), one});
  }
  return table;
}

Table accuracy_table() {
  Table table;
  table.title = "How right it was elsewhere";
  table.header = {"what", "against", "difference"};
  for (const auto& row : kAccuracy) table.rows.push_back({row[0], row[1], row[2]});
  return table;
}

void add_table(Section& section, Table table) {
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

}  // namespace

Section validity_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "validity";
  page.heading = "Validity";
  page.paragraphs.emplace_back(
      "This is a simulation. What would show that it is wrong comes first.");
  add_table(page, falsifiers_table(plan, provenance));
  Section calibration;
  calibration.heading = "Calibration";
  calibration.folded = true;
  add_table(calibration, calibration_table(provenance));
  add_table(calibration, fits_table(provenance));
  Table range = range_table(plan);
  if (range.rows.empty()) {
    calibration.paragraphs.emplace_back(
        "No copy lies beyond the sizes and counts that its link's rates were measured at.");
  }
  add_table(calibration, std::move(range));
  page.parts.push_back(std::move(calibration));
  page.parts.push_back(confidence_part(plan));
  Section assumed;
  assumed.heading = "What was assumed, and what is not modelled";
  assumed.folded = true;
  for (const char* what : kNotModelled) {
    assumed.paragraphs.push_back(fmt::format("Not modelled: {}.", what));
  }
  add_table(assumed, warnings_table(provenance));
  page.parts.push_back(std::move(assumed));
  Section accuracy;
  accuracy.heading = "Accuracy by regime";
  accuracy.folded = true;
  add_table(accuracy, accuracy_table());
  page.parts.push_back(std::move(accuracy));
  return page;
}

}  // namespace spillway

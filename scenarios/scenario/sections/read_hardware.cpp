// The key `hardware`, and links whose figures come from the profile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "models/catalogue/gpu_device.hpp"
#include "models/catalogue/gpu_spec.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

void use(const ProfileLink& found, LinkChoice& out) {
  out.affine = false;
  out.table = found.table;
  out.method = found.method;
  out.submit = found.submit;
  out.duplex_factor = found.duplex_factor;
  out.source = found.table.source;
}

std::string_view direction_of(const LinkChoice& link) {
  return link.from == "hbm" ? "d2h" : "h2d";
}

}  // namespace

void read_hardware(const ObjectReader& top, Scenario& s) {
  const auto named = top.text("hardware", "a hardware profile's name or path");
  if (!named) return;
  const SourceRef where = top.where("hardware");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  s.hardware = load_hardware(find_hardware(*named, folder, where), where, s.notes);
  if (s.gpu == nullptr || s.hardware->machine.gpus.empty()) return;
  for (const GpuFacts& gpu : s.hardware->machine.gpus) {
    if (gpu_of_device(gpu.name, gpu.memory_bytes) == s.gpu) return;
  }
  s.hardware_doubts.push_back(scenario_note(
      "profile-of-another-gpu", {{"hardware", s.hardware->name},
                                 {"measured_gpu", s.hardware->machine.gpus.front().name},
                                 {"gpu", s.gpu->name}}));
}

void read_profile_link(const ObjectReader& link, const Scenario& s, LinkChoice& out) {
  link.refuse({"latency_us", "bandwidth", "per_copy_us", "copy_bytes", "copies", "gbs"},
              "expected only with kind affine, constant or table");
  if (!s.hardware) {
    link.fail("kind", "expected \"hardware\": PROFILE in the scenario, for a link of kind profile");
  }
  ProfileCopy copy;
  copy.method = out.method;
  copy.mem = link.text("mem").value_or(copy.mem);
  copy.pattern = link.text("pattern").value_or(copy.pattern);
  const LinkChoice own = out;
  use(profile_link(*s.hardware, direction_of(out), copy, link.where("kind")), out);
  if (link.has("duplex_factor")) out.duplex_factor = own.duplex_factor;
  if (link.has("submit_us")) out.submit = own.submit;
}

void fill_from_profile(Scenario& s) {
  if (!s.hardware || !s.tier || (s.down && s.up)) return;
  if (!has_copies(*s.hardware)) {
    s.notes.push_back(scenario_note("profile-without-copies", {{"hardware", s.hardware->name}}));
    return;
  }
  const bool v0 = s.engine.family == EngineFamily::kVllmV0;
  ProfileCopy copy;
  if (v0) copy.method = "dma";  // a loop of cudaMemcpyAsync
  const auto fill = [&](Boxed<LinkChoice>& lane, std::string name, std::string from,
                        std::string to) {
    if (lane) return;
    lane.emplace();
    lane->name = std::move(name);
    lane->from = std::move(from);
    lane->to = std::move(to);
    use(profile_link(*s.hardware, direction_of(*lane), copy, s.hardware->where), *lane);
  };
  const std::string host(s.tier->host_end());
  fill(s.down, v0 ? "swap-out" : "d2h", "hbm", host);
  fill(s.up, v0 ? "swap-in" : "h2d", host, "hbm");
}

void check_hardware(Scenario& s, const MachineFacts& here, bool strict) {
  if (!s.hardware) return;
  const std::vector<std::string> differences = machine_differences(s.hardware->machine, here);
  Notes doubts = s.hardware_doubts;
  if (!differences.empty()) {
    doubts.push_back(
        scenario_note("profile-of-another-machine",
                      {{"hardware", s.hardware->name},
                       {"differences", fmt::format("{}", fmt::join(differences, "; "))}}));
  }
  if (strict && !doubts.empty()) {
    std::vector<std::string> texts;
    for (const Note& doubt : doubts) texts.push_back(doubt.text);
    throw InputError(Fault::kUsage, s.hardware->where,
                     fmt::format("{} (refused under --strict)", fmt::join(texts, " ")));
  }
  append(s.notes, doubts);
}

}  // namespace spillway

#include "scenarios/commands/calibrate_verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/fields/write.hpp"
#include "scenarios/commands/gate.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/machine/calibration_fields.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"

namespace spillway {

int run_calibrate_verify(const std::string& path, CalibrationOptions choices,
                         const CommonOptions& common) {
  std::vector<std::string> notes;
  const JsonSource source = JsonSource::from_file(path);
  const HardwareProfile profile = read_profile(source, notes);
  choices.profile.clear();  // nothing is journalled
  // Which cells there are depends on the budget: the profile's lists the same ones.
  if (profile.budget_s > 0) choices.budget_s = profile.budget_s;
  const Calibration calibration(choices);
  const std::vector<std::string> differences =
      machine_differences(profile.machine, calibration.host().facts);
  if (!differences.empty()) {
    notes.push_back(fmt::format("measured on another machine; {}", fmt::join(differences, "; ")));
  }
  VerifyOptions options;
  options.seed = choices.seed;
  Progress progress("verifying", "cells", !common.quiet);
  options.progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); };
  const VerifyResult result =
      verify_profile(profile, calibration.benches(), calibration.limits(), options);
  progress.finish();

  Document document;
  document.kind = "calibration-verify";
  document.inputs = {{"profile",
                      {{"name", profile.name},
                       {"path", path},
                       {"created", profile.created},
                       {"content_hash", digest_of(source.root().at("results"))},
                       {"machine_hash", profile.machine_hash}}},
                     {"seed", choices.seed}};
  document.results = to_document(result);
  document.warnings = plain_notes(notes);
  document.warnings.insert(document.warnings.end(), result.notes.begin(), result.notes.end());
  write_document(document, common, "verify");
  print_report(verify_summary(result, options, path), common);
  print_notes(document.warnings, common);
  return result.holds ? 0 : kGateFailed;
}

}  // namespace spillway

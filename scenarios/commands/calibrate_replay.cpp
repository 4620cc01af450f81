#include "scenarios/commands/calibrate_replay.hpp"

#include "reports/fields/write.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/machine/calibration_fields.hpp"

namespace spillway {

int run_calibrate_replay(const GpuReplayOptions& options, const CommonOptions& common) {
  check_writable(common);
  refuse_own_inputs(common, {options.schedule});
  GpuReplay replay = replay_on_gpu(options);
  refuse_own_inputs(common, {replay.inputs["schedule"].get<std::string>()});
  Document document;
  document.kind = "calibration-replay";
  document.inputs = std::move(replay.inputs);
  document.results = to_document(replay.results);
  document.warnings = plain_notes(replay.warnings);
  const Report report = replay_comparison_report(replay.results);
  write_results(document, report, report, {}, common);
  return 0;
}

}  // namespace spillway

// The key `hardware`: a profile's figures become the scenario's, and what does not fit is said.
#include "scenarios/scenario/hardware.hpp"

#include <filesystem>

#include "models/calibration/fit.hpp"
#include "reports/fields/write.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/models/calibration/synthetic_machine.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

HardwareProfile fitted_profile() {
  HardwareProfile p = SyntheticMachine{0, 1}.profile();  // no noise
  p.fits = fit_profile(p).fits;
  return p;
}

std::string document_of(const HardwareProfile& profile) {
  return render_document(profile_document(profile));
}

/// The reference scenario without links, on the profile `named`, beside `scratch`'s files.
Scenario scenario_with(const Scratch& scratch, const std::string& named,
                       const std::string& links = "", const std::string& gpu = "") {
  std::vector<std::string> lines = reference_lines();
  lines[kDownLine - 2] = links;
  lines[kDownLine - 1] = "";
  lines[kUpLine - 1] = "";
  lines[kGpuLine - 1] = ", \"hardware\": \"" + named + "\"" + gpu;
  return load_scenario(JsonSource::from_text(scratch.path("s.json"), joined(lines)));
}

std::string error_with(const Scratch& scratch, const std::string& named,
                       const std::string& links = "") {
  const InputError error = error_of([&] { scenario_with(scratch, named, links); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("links without figures of their own come from the profile", "[scenarios][profile]") {
  const Scratch scratch;
  scratch.file("box.json", document_of(fitted_profile()));
  const Scenario s = scenario_with(scratch, "box");
  REQUIRE(s.up);
  REQUIRE(s.down);
  CHECK(s.up->name == "h2d");
  CHECK(s.up->from == "dram");
  CHECK_THAT(s.up->source, Contains("hardware profile box") &&
                               Contains("copy/h2d/memcpy_async/host_alloc/contiguous"));
  CHECK(s.up->duplex_factor == Approx(0.7));
  CHECK(s.down->duplex_factor == Approx(0.9));
  CHECK(s.up->method == "dma");  // no batch was measured
  // The host thread's 5 us a copy and 2 us a batch stand beside the device's time.
  CHECK(double(s.up->submit.count()) == Approx(5000).epsilon(0.02));
  const auto up_us = [&](std::int64_t bytes, std::uint32_t copies) {
    return double(s.up->make()->service_time(Bytes(bytes), copies).count()) * 1e-3;
  };
  // One copy of 16 MiB: 2 + 8 + 1.2 + 322.6 (at 52 GB/s) = 333.8 us.
  CHECK(up_us(16 << 20, 1) == Approx(333.8).epsilon(0.005));
  // 64 blocks of 2 MiB at once: 2 + 8 + 64 (1.2 + 40.3) = 2,668 us.
  CHECK(up_us(64 * (2 << 20), 64) == Approx(2668).epsilon(0.01));
  // Beyond the sweep says so: smaller copies than any, more of a size than were measured.
  CHECK(s.up->make()->reach(Bytes(16 << 20), 1) == Reach::kInside);
  CHECK(s.up->make()->reach(Bytes(1024), 1) == Reach::kExtrapolated);
  CHECK(s.up->make()->reach(Bytes(std::int64_t{64} << 30), 1024) == Reach::kExtrapolated);
}

TEST_CASE("links of kind profile choose method, memory and pattern", "[scenarios][profile]") {
  HardwareProfile p = SyntheticMachine{0, 1}.profile();
  const std::size_t cells = p.copy.size();
  for (std::size_t i = 0; i < cells; ++i) {  // the same twice as slow by kernel, from pageable
    CopyCell cell = p.copy[i];
    if (!cell.gated || cell.numa != 0) continue;
    cell.api = "kernel_8";
    cell.mem = "pageable";
    cell.pattern = "random";
    cell.time.med_us *= 2;
    p.copy.push_back(cell);
  }
  p.fits = fit_profile(p).fits;
  const Scratch scratch;
  scratch.file("box.json", document_of(p));
  const std::string up =
      R"("links": [{"name": "up", "from": "dram", "to": "hbm", "kind": "profile",)"
      R"( "method": "kernel", "mem": "pageable", "pattern": "random", "duplex_factor": 0.5}],)";
  const Scenario s = scenario_with(scratch, "./box.json", up);
  CHECK(s.up->name == "up");
  CHECK(s.up->duplex_factor == 0.5);  // the scenario's own
  CHECK_THAT(s.up->source, Contains("copy/h2d/kernel_8/pageable/random"));
  CHECK_THAT(s.down->source, Contains("copy/d2h/memcpy_async/host_alloc/contiguous"));
  CHECK(double(s.up->make()->service_time(Bytes(16 << 20), 1).count()) * 1e-3 ==
        Approx(2 * 331.8).epsilon(0.005));

  const auto broken = [&](const std::string& part, const std::string& with) {
    std::string text = up;
    text.replace(text.find(part), part.size(), with);
    return error_with(scratch, "box", text);
  };
  CHECK_THAT(
      broken("\"kernel\"", "\"kernal\""),
      Contains("s.json:8: links.0.method: unknown method \"kernal\"; did you mean \"kernel\"?"));
  CHECK_THAT(broken("\"random\"", "\"sideways\""), Contains("unknown pattern \"sideways\""));
  CHECK_THAT(broken("\"method\": \"kernel\"", "\"method\": \"batch\""),
             Contains("holds no h2d copies by batch with pageable memory, random; it holds: "
                      "kernel_8/pageable/random, memcpy_async/host_alloc/contiguous") &&
                 Contains("spillway calibrate --only copy,contention"));
  CHECK_THAT(broken("\"kind\": \"profile\",", "\"kind\": \"affine\", \"latency_us\": 1,"),
             Contains("links.0.mem: expected only with kind profile"));
  CHECK_THAT(broken("\"kind\": \"profile\",", "\"kind\": \"profile\", \"bandwidth\": \"1GB/s\","),
             Contains("links.0.bandwidth: expected only with kind affine, constant or table"));
}

TEST_CASE("a link of kind profile needs a profile", "[scenarios][profile]") {
  refused(reference_lines(),
          {{kDownLine, R"({"name": "d2h", "from": "hbm", "to": "dram", "kind": "profile"},)",
            "links.0.kind: expected \"hardware\": PROFILE in the scenario"}});
}

TEST_CASE("results say which profile stands behind them", "[scenarios][profile]") {
  const Scratch scratch;
  const HardwareProfile profile = fitted_profile();
  scratch.file("box.json", document_of(profile));
  scratch.file("requests.jsonl",
               R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]})"
               "\n");
  const Scenario s = scenario_with(scratch, "box");
  const Workload workload = open_workload(s, {});
  const json inputs = scenario_inputs(s, workload);
  const json& hardware = inputs["hardware"];
  CHECK(hardware["name"] == "box");
  CHECK(hardware["created"] == "2026-11-21T12:00:00Z");
  CHECK(hardware["content_hash"] == digest_of(to_document(profile)));
  CHECK(hardware["machine_hash"] == machine_hash(profile.machine));
  CHECK(hardware["machine"]["gpus"] == json::array({"NVIDIA H100 80GB HBM3"}));
  CHECK(inputs["configuration"]["links"][1]["kind"] == "table");
  CHECK(simulate(s, workload).result.completed == 1);
}

TEST_CASE("profiles are found by name and path", "[scenarios][profile]") {
  const Scratch scratch;
  scratch.file("box-a.json", document_of(fitted_profile()));
  CHECK(scenario_with(scratch, "box-a").hardware->path == scratch.path("box-a.json"));
  CHECK(scenario_with(scratch, scratch.path("box-a.json")).hardware->path ==
        scratch.path("box-a.json"));
  CHECK_THAT(error_with(scratch, "box-b"),
             Contains("s.json:15: hardware: unknown hardware profile \"box-b\"; did you mean "
                      "\"box-a\"?") &&
                 Contains("spillway calibrate --out"));
  const InputError missing = error_of([&] { scenario_with(scratch, "./box-b.json"); });
  CHECK(missing.fault() == Fault::kIo);
  CHECK_THAT(missing.what(), Contains("box-b.json: cannot open"));
}

TEST_CASE("a profile that cannot be true is refused with its line", "[scenarios][profile]") {
  const Scratch scratch;
  HardwareProfile p = fitted_profile();
  p.copy[3].time.med_us = 0.001;
  scratch.file("box.json", document_of(p));
  CHECK_THAT(error_with(scratch, "box"),
             Contains("box.json:") && Contains("results.copy.3: copy h2d memcpy_async") &&
                 Contains("GB/s, above the 63.01 GB/s of the link; expected what a machine can "
                          "measure"));
  p = fitted_profile();
  p.fits[0].table.values[1] = 0;
  scratch.file("box.json", document_of(p));
  CHECK_THAT(error_with(scratch, "box"), Contains("results.fits.0.table.values.1: ") &&
                                             Contains("expected rates above 0, found 0"));
  scratch.file("box.json", R"({"kind": "run", "schema_version": 1})");
  CHECK_THAT(error_with(scratch, "box"), Contains("expected \"hardware-profile\", found \"run\""));
}

TEST_CASE("a profile without copies leaves links to others, with a note", "[scenarios][profile]") {
  const Scratch scratch;
  HardwareProfile p = fitted_profile();
  p.copy.clear();
  p.fits.clear();  // fitted when it is read
  p.complete = false;
  scratch.file("box.json", document_of(p));
  CHECK_THAT(error_with(scratch, "box"), Contains("missing; expected a link hbm to dram"));
  const Scenario s = scenario_with(scratch, "box", "", ", \"gpu\": \"H100\"");
  CHECK_THAT(s.up->source, Contains("as published"));
  const std::string notes = joined_text(s.notes);
  CHECK(find_note(s.notes, "profile-without-copies"));
  CHECK(find_note(s.notes, "profile-incomplete"));
  CHECK(find_fit(s.hardware->fits, "storage/read") != nullptr);
}

TEST_CASE("collectives between GPUs come from the profile", "[scenarios][profile]") {
  HardwareProfile p = fitted_profile();
  FitRecord fit;
  fit.target = "collective/all_reduce/2";
  fit.form = "affine";
  fit.params = {{"latency_us", 24}, {"gbs", 20}};
  p.fits.push_back(fit);
  const Scratch scratch;
  scratch.file("box.json", document_of(p));
  const auto loaded = [&](const std::vector<std::string>& assignments) {
    std::vector<std::string> lines = gpu_lines();
    lines[kGpuLine - 1] = R"(, "gpu": "L40S", "hardware": "box")";
    JsonSource source = JsonSource::from_text(scratch.path("s.json"), joined(lines));
    for (const std::string& assignment : assignments) source.set(assignment);
    return load_scenario(source);
  };
  const auto us = [](const Scenario& s, double bytes) {
    return s.collectives_of_ranks()->seconds(Collective::kAllReduce, bytes) * 1e6;
  };
  // Two ranks send the whole tensor: 24 us + 20 MB at 20 GB/s.
  const Scenario two = loaded({"engine.tensor_parallel_size=2"});
  CHECK(us(two, 20e6) == Approx(24 + 1000));
  CHECK(says(two.notes,
             "Collectives of 2 ranks: 24 us + bytes / 20 GB/s (measured by hardware "
             "profile box)"));
  CHECK(us(loaded({"engine.tensor_parallel_size=2", "collectives.latency_us=9"}), 20e6) ==
        Approx(9 + 1000));
  const Scenario four = loaded({"engine.tensor_parallel_size=4"});
  CHECK(says(four.notes, "Collectives of 4 ranks are assumed"));
  CHECK(says(four.notes, "on 2 ranks, assumed for 4"));

  p.fits.back().params["gbs"] = 0;
  scratch.file("box.json", document_of(p));
  const InputError error = error_of([&] { loaded({}); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), Contains("box.json:") && Contains("collective/all_reduce/2: expected "
                                                             "latency_us from 0 and gbs above 0"));
}

TEST_CASE("another machine's profile is a note, or refused under strict", "[scenarios][profile]") {
  const Scratch scratch;
  const HardwareProfile profile = fitted_profile();
  scratch.file("box.json", document_of(profile));
  Scenario same = scenario_with(scratch, "box", "", ", \"gpu\": \"H100\"");
  const std::size_t notes = same.notes.size();
  check_hardware(same, profile.machine, true);
  CHECK(same.notes.size() == notes);

  MachineFacts here = profile.machine;
  here.cpu = "another processor";
  here.memory_bytes /= 2;
  here.gpus.clear();
  here.driver = "";  // not known is not different
  Scenario other = scenario_with(scratch, "box", "", ", \"gpu\": \"A100\"");
  check_hardware(other, here, false);
  REQUIRE(other.notes.size() >= 2);
  const Note* elsewhere = find_note(other.notes, "profile-of-another-machine");
  REQUIRE(elsewhere);
  CHECK_THAT(elsewhere->text, Contains("cpu: profile a processor, here another processor") &&
                                  Contains("memory: profile 256.0 GiB, here 128.0 GiB") &&
                                  Contains("gpus: profile NVIDIA H100 80GB HBM3, here none"));
  CHECK(find_note(other.notes, "profile-of-another-gpu"));
  const InputError error = error_of([&] { check_hardware(other, here, true); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), Contains("s.json:15: hardware: ") && Contains("refused under --strict"));
}

TEST_CASE("a drive's figures come from the profile", "[scenarios][profile]") {
  const Scratch scratch;
  scratch.file("box.json", document_of(fitted_profile()));
  const auto tier = [&](const std::string& device, const std::string& hardware) {
    std::vector<std::string> lines = reference_lines();
    lines[kTierLine - 1] =
        R"("tiers": [{"name": "disk", "kind": "nvme", "capacity": "4GiB")" + device + "}],";
    lines[kDownLine - 2] = "";
    lines[kDownLine - 1] = "";
    lines[kUpLine - 1] = "";
    lines[kGpuLine - 1] = R"(, "gpu": "H100")" + hardware;
    return load_scenario(JsonSource::from_text(scratch.path("s.json"), joined(lines)));
  };
  const std::string box = R"(, "hardware": "box")";
  const Scenario s = tier("", box);
  const StorageSpec& spec = s.tier->storage->spec;
  CHECK(double(spec.read.total_rate) == Approx(7e9).epsilon(0.01));
  CHECK(double(spec.write.total_rate) == Approx(5e9).epsilon(0.01));
  CHECK(double(spec.read.slot_rate) == Approx(2.5e9).epsilon(0.02));
  CHECK(double(spec.read.latency.p50.count()) == Approx(70e3).epsilon(0.02));
  CHECK(double(spec.read.latency.p99.count()) == Approx(190e3).epsilon(0.02));
  REQUIRE(spec.write_cache);
  CHECK(spec.write_cache->capacity == Bytes(6'000'000'000));
  CHECK(double(spec.write_cache->sustained_rate) == Approx(1.2e9).epsilon(0.01));
  CHECK(s.up->from == "host");
  CHECK_THAT(s.up->source, Contains("hardware profile box"));
  const std::string notes = joined_text(s.notes);
  CHECK_THAT(notes, Contains("Tier disk: read_latency_us is 7") &&
                        Contains("from hardware profile box.") &&
                        Contains("Tier disk: queue_depth is 64 by default"));

  // The scenario's own figures come first; without a profile published ones stand.
  const Scenario own = tier(R"(, "device": {"read_bandwidth": "3GB/s"})", box);
  CHECK(own.tier->storage->spec.read.total_rate == 3'000'000'000);
  CHECK(double(own.tier->storage->spec.write.total_rate) == Approx(5e9).epsilon(0.01));
  CHECK(tier("", "").tier->storage->spec.read.latency.p50 == std::chrono::microseconds(80));
}

}  // namespace
}  // namespace spillway::test

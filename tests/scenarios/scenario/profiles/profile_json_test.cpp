// Profiles to JSON and back: nothing is lost, and what is wrong is said with its line.
#include "reports/fields/write.hpp"
#include "tests/scenarios/scenario/profiles/profile_setup.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

/// The document of the full profile with the value at `pointer` replaced (null: removed).
std::string with(const std::string& pointer, const json& value) {
  json document = json::parse(render_document(profile_document(full_profile())));
  const json::json_pointer at(pointer);
  if (value.is_null()) {
    document[at.parent_pointer()].erase(at.back());
  } else {
    document[at] = value;
  }
  return document.dump(1) + "\n";
}

std::string error_with(const std::string& pointer, const json& value) {
  std::vector<std::string> warnings;
  const InputError error = error_of([&] { read_back(with(pointer, value), warnings); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("a profile comes back as it was written", "[scenarios][profile]") {
  const HardwareProfile profile = full_profile();
  const std::string text = render_document(profile_document(profile));
  std::vector<std::string> warnings;
  const HardwareProfile back = read_back(text, warnings);
  CHECK(warnings.empty());
  CHECK(back.warnings == profile.warnings);
  CHECK(back.machine_hash.size() == 16);
  CHECK(to_document(back) == to_document(profile));
  CHECK(render_document(profile_document(back)) == text);

  // Written values are the members', not only equal on both sides.
  const json document = json::parse(text);
  CHECK(document["kind"] == "hardware-profile");
  CHECK(document["profile_version"] == 1);
  const json& r = document["results"];
  CHECK(r["copy"].size() == 2);
  CHECK(r["copy"][1]["bytes"] == profile.copy[1].bytes);
  CHECK(r["copy"][1]["time"]["p99_us"] == profile.copy[1].time.p99_us);
  CHECK(r["copy"][1]["gated"] == false);
  CHECK(r["compute"]["gemm"][0]["dtype"] == profile.gemm[0].dtype);
  CHECK(r["fits"][0]["params"]["slope"] == profile.fits[0].params.at("slope"));
  CHECK(r["fits"][0]["table"]["measured"][5] == false);
  CHECK(r["machine"]["gpus"][1]["uuid"] == profile.machine.gpus[1].uuid);
}

TEST_CASE("an empty profile comes back too", "[scenarios][profile]") {
  HardwareProfile profile;
  profile.machine.cpu = "a processor";
  std::vector<std::string> warnings;
  const HardwareProfile back = read_back(render_document(profile_document(profile)), warnings);
  CHECK(warnings.empty());
  CHECK(back.complete);
  CHECK(back.copy.empty());
  CHECK(back.machine.memlock_bytes == -1);
}

TEST_CASE("what a newer version added is left out with a warning", "[scenarios][profile]") {
  std::vector<std::string> warnings;
  json document = json::parse(with("/results/copy/0/colour", "red"));
  document["results"]["copy"][1]["colour"] = "blue";
  document["results"]["nic"] = json::array();
  const HardwareProfile back = read_back(document.dump(), warnings);
  CHECK(back.copy.size() == 2);
  REQUIRE(warnings.size() == 2);  // and the digest no longer fits
  CHECK_THAT(warnings[0], Contains("left out: copy[].colour, nic"));
  CHECK_THAT(warnings[1], Contains("do not match their digest"));
}

TEST_CASE("the envelope is checked first", "[scenarios][profile]") {
  CHECK_THAT(error_with("/kind", "run"),
             Contains("p.json:") && Contains("kind: expected \"hardware-profile\", found \"run\""));
  CHECK_THAT(error_with("/profile_version", 2),
             Contains("profile_version: unknown version 2; expected 1"));
  CHECK_THAT(error_with("/schema_version", 7), Contains("unknown version 7; expected 1"));
  CHECK_THAT(error_with("/profile_version", nullptr), Contains("profile_version: missing"));
  CHECK_THAT(error_with("/results", nullptr), Contains("results: missing; expected an object"));
  CHECK_THAT(error_with("/results/machine", nullptr), Contains("results.machine: missing"));
}

TEST_CASE("a faulty row is named with its line and field", "[scenarios][profile]") {
  const std::string text = with("/results/copy/1/bytes", -5);
  const auto line =
      1 +
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("-5")), '\n');
  CHECK_THAT(error_with("/results/copy/1/bytes", -5),
             Contains("p.json:" + std::to_string(line) +
                      ": results.copy.1.bytes: expected a whole number from 1"));
  CHECK_THAT(error_with("/results/copy/0/dir", "d2d"),
             Contains("unknown name \"d2d\"") && Contains("h2d"));
  CHECK_THAT(error_with("/results/copy/0/api", nullptr),
             Contains("results.copy.0.api: missing; expected a string"));
  CHECK_THAT(error_with("/results/copy/0/time", 3),
             Contains("expected an object for time, found 3"));
  CHECK_THAT(error_with("/results/copy/0/gated", 1), Contains("expected true or false, found 1"));
  CHECK_THAT(error_with("/results/storage", 1), Contains("expected an array of objects, found 1"));
  CHECK_THAT(error_with("/results/storage/0/op", "erase"), Contains("unknown name \"erase\""));
  CHECK_THAT(error_with("/results/fits/0/params/slope", "x"),
             Contains("results.fits.0.params.slope: expected a number"));
  CHECK_THAT(error_with("/results/fits/0/table/x", json::array({2, 1})),
             Contains("table.x: expected ascending numbers"));
  CHECK_THAT(error_with("/results/fits/0/table/values", json::array({2})),
             Contains("table.values: expected 3 x 2 numbers, found 1"));
  CHECK_THAT(error_with("/results/fits/0/table/measured", json::array({2})),
             Contains("each item true or false"));
}

TEST_CASE("rows join their section one by one", "[scenarios][profile]") {
  const HardwareProfile full = full_profile();
  HardwareProfile p;
  CHECK(add_row(p, "copy", to_document(full.copy[0]), "row 1").empty());
  CHECK(add_row(p, "gemm", to_document(full.gemm[1]), "row 2").empty());
  json odd = to_document(full.storage[0]);
  odd["shade"] = 1;
  CHECK(add_row(p, "storage", odd, "row 3") == std::vector<std::string>{"shade"});
  CHECK(to_document(p.copy.at(0)) == to_document(full.copy[0]));
  CHECK(to_document(p.gemm.at(0)) == to_document(full.gemm[1]));
  odd.erase("op");
  CHECK_THAT(error_of([&] { add_row(p, "storage", odd, "row 4"); }).what(),
             Contains("row 4") && Contains("op: missing; expected one of read, write"));
  CHECK_THAT(error_of([&] { add_row(p, "disk", odd, "row 5"); }).what(),
             Contains("unknown section of a profile \"disk\""));
  CHECK(p.storage.size() == 1);
}

TEST_CASE("a machine is known by what does not change from day to day", "[scenarios][profile]") {
  const MachineFacts machine = full_profile().machine;
  const std::string hash = machine_hash(machine);
  MachineFacts other = machine;
  other.kernel = "another";
  other.memory_bytes += 100'000;  // the kernel's own share
  other.gpus[0].sm_mhz_after = 1;
  CHECK(machine_hash(other) == hash);
  other.gpus[0].uuid = "another";
  CHECK(machine_hash(other) != hash);
  other = machine;
  other.driver = "another";
  CHECK(machine_hash(other) != hash);
}

}  // namespace
}  // namespace spillway::test

// The table of engines and knobs: whole, short, and each cell proved by a file of the tree.
#include "models/releases/engine_knobs.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "models/releases/offload_config.hpp"
#include "models/releases/presets.hpp"
#include "models/releases/sglang_config.hpp"
#include "models/releases/trtllm_config.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

/// Whether a row is chosen by `what`, a word of its own.
bool chosen_by(std::string_view what) {
  return std::any_of(engine_knobs().begin(), engine_knobs().end(), [&](const EngineKnobs& e) {
    const std::string words = " " + std::string(e.choice) + ",";
    return words.find(" " + std::string(what) + ",") != std::string::npos;
  });
}

TEST_CASE("the columns are the knobs, in their order", "[models]") {
  REQUIRE(knob_columns().size() == kKnobs);
  for (std::size_t i = 0; i < kKnobs; ++i) {
    CHECK(knob_columns()[i].knob == static_cast<Knob>(i));
    CHECK_FALSE(knob_columns()[i].help.empty());
  }
}

TEST_CASE("each cell is six words at most, and a file of the tree proves it", "[models]") {
  std::set<std::string_view> names;
  for (const EngineKnobs& engine : engine_knobs()) {
    INFO(engine.engine);
    CHECK(names.insert(engine.engine).second);
    for (const KnobCell& cell : engine.cells) {
      INFO(cell.text << ": " << cell.proof);
      CHECK_FALSE(cell.text.empty());
      CHECK(std::count(cell.text.begin(), cell.text.end(), ' ') < 6);
      CHECK(cell.text.find('|') == std::string_view::npos);
      CHECK(cell.proof.starts_with("tests/"));
      CHECK(std::filesystem::is_regular_file(source_path(std::string(cell.proof))));
    }
  }
}

TEST_CASE("every family, connector and write policy has its row", "[models]") {
  for (const std::string_view connector : kConnectorNames) {
    INFO(connector);
    CHECK(chosen_by("offload_connector " + std::string(connector)));
  }
  for (const std::string_view policy : kHicacheWriteNames) {
    CHECK(chosen_by("hicache_write_policy " + std::string(policy)));
  }
  for (const std::string_view manager : kTrtllmManagerNames) {
    CHECK(chosen_by("kv_cache_manager " + std::string(manager)));
  }
  CHECK(chosen_by("residency streaming"));
  for (const EnginePreset& preset : engine_presets()) {
    INFO(preset.name);
    const std::string family(preset.name.substr(0, preset.name.find('@')));
    CHECK((chosen_by("preset " + family) || chosen_by("preset " + std::string(preset.name))));
  }
}

TEST_CASE("what chooses a row are presets that there are", "[models]") {
  for (const EngineKnobs& engine : engine_knobs()) {
    INFO(engine.choice);
    REQUIRE(engine.choice.starts_with("preset "));
    const std::string_view rest = engine.choice.substr(7);
    CHECK_NOTHROW(find_preset(rest.substr(0, rest.find(',')), {}));
  }
}

}  // namespace
}  // namespace spillway::test

#include "scenarios/commands/engines_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/releases/engine_knobs.hpp"
#include "models/releases/presets.hpp"

namespace spillway {

namespace {

/// Links of the page by number, each file once.
class Links {
 public:
  std::size_t number_of(std::string_view file) {
    const auto found = std::find(files_.begin(), files_.end(), file);
    if (found != files_.end()) return static_cast<std::size_t>(found - files_.begin()) + 1;
    files_.push_back(file);
    return files_.size();
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      out += fmt::format("[{}]: ../{}\n", i + 1, files_[i]);
    }
    return out;
  }

 private:
  std::vector<std::string_view> files_;
};

std::vector<const KnobColumn*> columns_of(KnobGroup group) {
  std::vector<const KnobColumn*> out;
  for (const KnobColumn& column : knob_columns()) {
    if (column.group == group) out.push_back(&column);
  }
  return out;
}

std::string section(std::size_t group, Links& links) {
  const std::vector<const KnobColumn*> columns = columns_of(static_cast<KnobGroup>(group));
  std::string out = fmt::format("\n## {}\n\n", kKnobGroups[group]);
  for (const KnobColumn* c : columns) out += fmt::format("- **{}**: {}\n", c->name, c->help);
  out += "\n| engine |";
  for (const KnobColumn* c : columns) out += fmt::format(" {} |", c->name);
  out += "\n|---|";
  for (std::size_t i = 0; i < columns.size(); ++i) out += "---|";
  for (const EngineKnobs& engine : engine_knobs()) {
    out += fmt::format("\n| {} |", engine.engine);
    for (const KnobColumn* c : columns) {
      const KnobCell& cell = engine.at(c->knob);
      out += fmt::format(" [{}][{}] |", cell.text, links.number_of(cell.proof));
    }
  }
  return out + "\n";
}

}  // namespace

std::vector<Table> knob_tables() {
  std::vector<Table> out;
  for (std::size_t group = 0; group < std::size(kKnobGroups); ++group) {
    const std::vector<const KnobColumn*> columns = columns_of(static_cast<KnobGroup>(group));
    Table& t = out.emplace_back();
    t.title = kKnobGroups[group];
    t.header = {"engine"};
    for (const KnobColumn* c : columns) t.header.emplace_back(c->name);
    for (const EngineKnobs& engine : engine_knobs()) {
      std::vector<std::string>& row = t.rows.emplace_back();
      row.emplace_back(engine.engine);
      for (const KnobColumn* c : columns) row.emplace_back(engine.at(c->knob).text);
    }
  }
  return out;
}

Table knob_rows() {
  Table t;
  t.header = {"engine", "chosen by"};
  for (const KnobColumn& c : knob_columns()) {
    t.header.emplace_back(c.name);
    t.header.push_back(fmt::format("{}: proof", c.name));
  }
  for (const EngineKnobs& engine : engine_knobs()) {
    std::vector<std::string>& row = t.rows.emplace_back();
    row = {std::string(engine.engine), std::string(engine.choice)};
    for (const KnobCell& cell : engine.cells) {
      row.emplace_back(cell.text);
      row.emplace_back(cell.proof);
    }
  }
  return t;
}

std::string engines_page() {
  std::string out =
      "# Engines and knobs\n\n"
      "Made by `spillway schema engines` from a table in the code. Each cell says what an engine\n"
      "does by default, and leads to the test, oracle or history that proves it.\n"
      "Keys are in [KEYS.md](KEYS.md), explanations in the [guide](README.md#guide).\n\n"
      "## Presets\n\n"
      "| preset | what it is |\n|---|---|\n";
  for (const EnginePreset& preset : engine_presets()) {
    out += fmt::format("| `{}` | {} |\n", preset.name, preset.summary);
  }
  out += "\n## Rows\n\n| engine | keys that choose it |\n|---|---|\n";
  for (const EngineKnobs& engine : engine_knobs()) {
    out += fmt::format("| {} | {} |\n", engine.engine, engine.choice);
  }
  Links links;
  for (std::size_t group = 0; group < std::size(kKnobGroups); ++group) out += section(group, links);
  return out + "\n" + links.text();
}

}  // namespace spillway

// The results of `spillway init`, and their members by name.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/scenario/intake/draft.hpp"
#include "sim/fields.hpp"

namespace spillway {

struct InitResults {
  std::string source;
  bool model_assumed = false;
  std::map<std::string, nlohmann::json> scenario;
  std::array<std::vector<Remark>, EnumNames<Standing>::kNames.size()> remarks;  ///< by standing
};

template <>
struct Fields<Remark> {
  static constexpr std::string_view kName = "remark";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("what", r.what, says("The part of the input."));
    f("why", r.why, says("The scenario's key for it, or the consequence."));
  }
};

template <>
struct Fields<InitResults> {
  static constexpr std::string_view kName = "init";
  static constexpr std::string_view kHelp = "A scenario, and what became of the input.";
  static constexpr std::array<std::string_view, EnumNames<Standing>::kNames.size()> kMeanings = {
      "Parts that the scenario has.", "Values that the input does not say: check them first.",
      "Parts that matter and that are left out.", "Parts on which nothing in a run depends.",
      "Parts that are not known here."};
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("source", r.source, says("What was read."));
    f("model_assumed", r.model_assumed, says("Whether the shape is that of another model."));
    f("scenario", r.scenario, says("The scenario; see spillway schema scenario."));
    for (std::size_t i = 0; i < kMeanings.size(); ++i) {
      f(EnumNames<Standing>::kNames[i], r.remarks[i], says(kMeanings[i]));
    }
  }
};

}  // namespace spillway

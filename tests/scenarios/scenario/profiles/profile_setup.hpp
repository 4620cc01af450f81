// A profile in which every member of every row differs from its default.
#pragma once

#include <concepts>

#include "scenarios/scenario/profiles/profile_fields.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"

namespace spillway::test {

/// Fills members with values that follow from a running number, within their rules.
class Filler {
 public:
  template <class T>
  void operator()(std::string_view, T& value, const FieldRule& rule) {
    fill(value, rule);
  }

  template <class Row>
  void fill(Row& row, const FieldRule&) {
    if constexpr (std::same_as<Row, FitTable>) {
      row = {{1, 2},
             {1, 10, 100},
             {1, 2, 3, 4, 5, ++next_ + 0.25},
             {true, true, true, true, true, false}};
    } else {
      Fields<Row>::visit(row, *this);
    }
  }
  void fill(std::string& value, const FieldRule& rule) {
    ++next_;
    value = rule.choices.empty() ? "text " + std::to_string(static_cast<int>(next_))
                                 : std::string(rule.choices.back());
  }
  void fill(bool& value, const FieldRule&) { value = !value; }
  void fill(double& value, const FieldRule&) { value = ++next_ + 0.125; }
  template <std::integral T>
  void fill(T& value, const FieldRule&) {
    value = static_cast<T>(++next_);
  }
  void fill(std::map<std::string, double>& value, const FieldRule&) {
    value = {{"latency_us", ++next_ + 0.5}, {"slope", -next_}};
  }
  template <class T>
  void fill(std::vector<T>& rows, const FieldRule& rule) {
    rows.resize(2);
    for (T& row : rows) fill(row, rule);
  }

 private:
  double next_ = 0;
};

inline HardwareProfile full_profile() {
  HardwareProfile p;
  p.name = "bench";
  p.created = "2026-11-21T12:00:00Z";
  p.command = "spillway calibrate --budget 60s";
  p.budget_s = 60;
  p.spent_s = 58.5;
  p.complete = false;
  p.warnings = {"link of gpu 0 trained down"};
  Filler filler;
  const FieldRule any;
  filler.fill(p.machine, any);
  filler.fill(p.copy, any);
  filler.fill(p.contention, any);
  filler.fill(p.interference, any);
  filler.fill(p.hbm, any);
  filler.fill(p.gemm, any);
  filler.fill(p.attention, any);
  filler.fill(p.dram, any);
  filler.fill(p.registration, any);
  filler.fill(p.storage, any);
  filler.fill(p.kv, any);
  filler.fill(p.collective, any);
  filler.fill(p.fits, any);
  return p;
}

inline HardwareProfile read_back(const std::string& text, std::vector<std::string>& warnings) {
  return read_profile(JsonSource::from_text("p.json", text), warnings);
}

}  // namespace spillway::test

#include "reports/compare/compare_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/document_fault.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kVerdicts = {"baseline",  "better", "worse",
                                                       "undecided", "equal",  "not tested"};
constexpr std::array<std::string_view, 4> kUnits = {"share", "bytes", "per_request", "ms"};
constexpr std::array<std::string_view, 2> kReplications = {"independent", "resampled"};

/// The value that `names` gives this name; the first where it has none.
template <class Value, std::size_t kCount>
Value value_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return static_cast<Value>(at == names.end() ? 0 : at - names.begin());
}

template <class Value, std::size_t kCount>
std::string_view name_in(const std::array<std::string_view, kCount>& names, Value value) {
  return names[static_cast<std::size_t>(value)];
}

void put_difference(const PairedDifference& difference, json& out) {
  out["difference"] = difference.mean;
  out["variance"] = difference.variance;
  if (!difference.interval) return;
  out["low"] = difference.interval->low;
  out["high"] = difference.interval->high;
  out["p"] = difference.interval->p;
}

PairedDifference difference_from(const json& j) {
  PairedDifference out;
  out.mean = j.at("difference");
  out.variance = j.at("variance");
  out.any = out.mean != 0 || out.variance != 0;
  if (j.contains("p")) out.interval = DifferenceInterval{j.at("low"), j.at("high"), j.at("p")};
  return out;
}

json metric_json(const ComparedMetric& metric) {
  json out = {{"better", metric.lower_is_better ? "lower" : "higher"},
              {"mean", metric.mean},
              {"values", metric.values},
              {"verdict", name_of(metric.verdict)}};
  if (metric.recorded) out["recorded"] = *metric.recorded;
  if (metric.verdict == Verdict::kBaseline) return out;
  put_difference(metric.difference, out);
  if (metric.difference.interval) out["adjusted_p"] = metric.adjusted_p;
  return out;
}

ComparedMetric metric_from(const std::string& name, const json& j) {
  ComparedMetric out;
  out.name = name;
  out.lower_is_better = j.at("better") == "lower";
  out.mean = j.at("mean");
  out.values = j.at("values").get<std::vector<double>>();
  out.verdict = value_of<Verdict>(kVerdicts, j.at("verdict"));
  if (j.contains("recorded")) out.recorded = j.at("recorded").get<double>();
  if (out.verdict != Verdict::kBaseline) out.difference = difference_from(j);
  if (j.contains("adjusted_p")) out.adjusted_p = j.at("adjusted_p");
  return out;
}

json moved_json(const MovedQuantity& m) {
  json out = {{"quantity", m.name},   {"unit", name_in(kUnits, m.unit)}, {"baseline", m.baseline},
              {"variant", m.variant}, {"movement", m.movement},          {"named", m.named}};
  put_difference(m.difference, out);
  return out;
}

MovedQuantity moved_from(const json& j) {
  MovedQuantity out;
  out.name = j.at("quantity");
  out.unit = value_of<MovedQuantity::Unit>(kUnits, j.at("unit"));
  out.baseline = j.at("baseline");
  out.variant = j.at("variant");
  out.movement = j.at("movement");
  out.named = j.at("named");
  out.difference = difference_from(j);
  return out;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  return name_in(kVerdicts, verdict);
}

json to_json(const CompareResult& result) {
  json out = {{"metric", result.metric},
              {"baseline", result.variants[result.baseline].name},
              {"replications", result.replications},
              {"replication", name_in(kReplications, result.replication)},
              {"replicates", result.replicates},
              {"confidence", kConfidence},
              {"tests", result.tests},
              {"verdict", result.verdict},
              {"metrics", json::array()},
              {"variants", json::array()},
              {"ranking", json::array()}};
  for (const ComparedMetric& metric : result.variants.front().metrics) {
    out["metrics"].push_back(metric.name);
  }
  for (const ComparedVariant& variant : result.variants) {
    json v = {{"name", variant.name},   {"values", json::object()},   {"metrics", json::object()},
              {"moved", json::array()}, {"digests", variant.digests}, {"reason", variant.reason}};
    if (!variant.engine_lacks.empty()) v["engine_lacks"] = variant.engine_lacks;
    for (const auto& [key, value] : variant.values) v["values"][key] = value;
    for (const ComparedMetric& metric : variant.metrics) {
      v["metrics"][metric.name] = metric_json(metric);
    }
    for (const MovedQuantity& m : variant.moved) v["moved"].push_back(moved_json(m));
    out["variants"].push_back(std::move(v));
  }
  for (const std::size_t at : result.ranking) out["ranking"].push_back(result.variants[at].name);
  return out;
}

CompareResult compare_from_json(const json& j) {
  CompareResult out;
  out.metric = j.at("metric");
  out.replications = j.at("replications");
  out.replication = value_of<Replication>(kReplications, j.at("replication"));
  out.replicates = j.at("replicates");
  out.tests = j.at("tests");
  out.verdict = j.at("verdict");
  for (const json& v : j.at("variants")) {
    ComparedVariant variant;
    variant.name = v.at("name");
    for (const auto& item : v.at("values").items()) {
      variant.values.emplace_back(item.key(), item.value().get<std::string>());
    }
    for (const std::string name : j.at("metrics")) {
      variant.metrics.push_back(metric_from(name, v.at("metrics").at(name)));
    }
    for (const json& m : v.at("moved")) variant.moved.push_back(moved_from(m));
    variant.reason = v.at("reason");
    variant.engine_lacks = v.value("engine_lacks", "");
    variant.digests = v.at("digests").get<std::vector<std::string>>();
    out.variants.push_back(std::move(variant));
  }
  const json& names = j.at("metrics");
  if (std::find(names.begin(), names.end(), j.at("metric")) == names.end()) {
    document_fault(fmt::format("results.metric: expected one of results.metrics, found \"{}\"",
                               out.metric.substr(0, 40)));
  }
  const auto index_of = [&](const json& name, const std::string& field) -> std::size_t {
    for (std::size_t i = 0; i < out.variants.size(); ++i) {
      if (out.variants[i].name == name) return i;
    }
    document_fault(fmt::format("{}: expected the name of one of {} variants, found {}", field,
                               out.variants.size(), name.dump(-1, ' ', true).substr(0, 40)));
  };
  out.baseline = index_of(j.at("baseline"), "results.baseline");
  for (const json& name : j.at("ranking")) {
    out.ranking.push_back(index_of(name, fmt::format("results.ranking.{}", out.ranking.size())));
  }
  return out;
}

}  // namespace spillway

#include "reports/compare/compare_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/compare/compare_fields.hpp"
#include "reports/document_fault.hpp"
#include "reports/fields/read.hpp"
#include "reports/fields/write.hpp"

namespace spillway {

namespace {

void put_in_order(const std::vector<std::string>& names, ComparedVariant& variant) {
  std::vector<ComparedMetric> ordered;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(variant.metrics, name, &ComparedMetric::name);
    if (at == variant.metrics.end()) {
      document_fault(fmt::format("not a complete result document ({} has no metric \"{}\")",
                                 variant.name, name.substr(0, 40)));
    }
    ordered.push_back(*at);
  }
  variant.metrics = std::move(ordered);
}

}  // namespace

ComparedNames names_in(const CompareResult& result) {
  ComparedNames out;
  if (result.variants.empty()) return out;
  for (const ComparedMetric& metric : result.variants.front().metrics) {
    out.metrics.push_back(metric.name);
  }
  out.baseline = result.variants[result.baseline].name;
  for (const std::size_t at : result.ranking) out.ranking.push_back(result.variants[at].name);
  return out;
}

void take_names(const ComparedNames& names, CompareResult& result) {
  for (ComparedVariant& variant : result.variants) put_in_order(names.metrics, variant);
  if (std::ranges::find(names.metrics, result.metric) == names.metrics.end()) {
    document_fault(fmt::format("results.metric: expected one of results.metrics, found \"{}\"",
                               result.metric.substr(0, 40)));
  }
  const auto index_of = [&](const std::string& name, const std::string& field) {
    const auto at = std::ranges::find(result.variants, name, &ComparedVariant::name);
    if (at == result.variants.end()) {
      document_fault(fmt::format("{}: expected the name of one of {} variants, found \"{}\"", field,
                                 result.variants.size(), name.substr(0, 40)));
    }
    return static_cast<std::size_t>(at - result.variants.begin());
  };
  result.baseline = index_of(names.baseline, "results.baseline");
  for (std::size_t i = 0; i < names.ranking.size(); ++i) {
    result.ranking.push_back(index_of(names.ranking[i], fmt::format("results.ranking.{}", i)));
  }
}

nlohmann::json to_json(const CompareResult& result) {
  return to_document(result);
}

CompareResult compare_from_json(const nlohmann::json& results) {
  return read_document<CompareResult>(results);
}

}  // namespace spillway

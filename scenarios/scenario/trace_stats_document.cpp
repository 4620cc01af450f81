#include "scenarios/scenario/trace_stats_document.hpp"

namespace spillway {

namespace {

using nlohmann::json;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

json lengths_json(const LengthStats& s) {
  return {{"total", s.total}, {"mean", s.mean},
          {"std", s.std},     {"p50", s.p50},
          {"p90", s.p90},     {"p95", s.p95},
          {"p99", s.p99},     {"min", s.min},
          {"max", s.max},     {"percentiles", s.percentiles}};
}

json distribution_json(const Distribution& d) {
  return {{"count", d.count}, {"mean", d.mean}, {"p50", d.p50},
          {"p90", d.p90},     {"p99", d.p99},   {"max", d.max}};
}

json arrivals_json(const ArrivalStats& a) {
  json out = {{"verdict", word(a.verdict)},
              {"reason", a.reason},
              {"binned", a.binned},
              {"median_distance_of_times_s", a.tick_s},
              {"interval_s", a.series_interval_s},
              {"requests_per_interval", a.series},
              {"dispersion", json::array()}};
  if (a.gap_cv >= 0) out["gap_cv"] = a.gap_cv;
  for (const Dispersion& d : a.dispersion) {
    out["dispersion"].push_back({{"window_s", d.window_s},
                                 {"windows", d.windows},
                                 {"mean_requests", d.mean_count},
                                 {"index", d.index},
                                 {"poisson_band", d.band}});
  }
  return out;
}

json reuse_json(const ReuseStats& r, const TraceStats& s) {
  json curve = json::array();
  for (const CurvePoint& point : r.curve) {
    curve.push_back({{"capacity_blocks", point.capacity_blocks},
                     {"share_of_unique_blocks", share(point.capacity_blocks, s.unique_blocks)},
                     {"hits", point.hits},
                     {"hit_ratio", share(point.hits, s.references)}});
  }
  json out = {{"lru_curve", std::move(curve)}};
  if (r.infinite_hits > 0) {
    out["median_distance_blocks"] = r.median_distance_blocks;
    out["p90_distance_blocks"] = r.p90_distance_blocks;
    out["median_gap_s"] = r.median_gap_s;
    out["p90_gap_s"] = r.p90_gap_s;
  }
  return out;
}

json working_set_json(const WorkingSet& w, std::uint64_t block_tokens) {
  return {{"interval_s", w.interval_s},
          {"unique_blocks_per_interval", w.unique},
          {"cumulative_unique_blocks", w.cumulative},
          {"peak_unique_blocks", w.peak_unique},
          {"peak_live_blocks", w.peak_live},
          {"peak_live_tokens", w.peak_live * block_tokens}};
}

json stationarity_json(const Stationarity& s) {
  json tests = json::array();
  for (const DriftTest& t : s.tests) {
    tests.push_back({{"quantity", t.quantity},
                     {"verdict", word(t.verdict)},
                     {"overall", t.overall},
                     {"tolerance", t.tolerance},
                     {"windows", t.windows},
                     {"largest_deviation", t.largest_deviation},
                     {"noise", t.noise},
                     {"trend_z", t.trend_z},
                     {"trend_change", t.trend_change}});
  }
  return {{"verdict", word(s.verdict)},
          {"reason", s.reason},
          {"window_s", s.window_s},
          {"tests", std::move(tests)}};
}

}  // namespace

json to_json(const TraceStats& s) {
  json out = {{"requests", s.requests},
              {"span_s", s.span_s},
              {"requests_per_s", s.requests_per_s},
              {"peak_requests_per_s", s.peak_requests_per_s},
              {"distinct_arrival_times", s.distinct_arrival_times},
              {"input_tokens", lengths_json(s.input_tokens)},
              {"output_tokens", lengths_json(s.output_tokens)},
              {"arrivals", arrivals_json(s.arrivals)},
              {"block_tokens", s.block_tokens},
              {"references", s.references},
              {"unique_blocks", s.unique_blocks},
              {"single_use_blocks", s.reuse.single_use_blocks},
              {"single_use_share", share(s.reuse.single_use_blocks, s.unique_blocks)},
              {"infinite_cache_hits", s.infinite_hits},
              {"infinite_cache_hit_ratio", s.infinite_hit_ratio},
              {"with_predecessor", s.session.with_predecessor},
              {"with_predecessor_share", share(s.session.with_predecessor, s.requests)},
              {"stationarity", stationarity_json(s.stationarity)}};
  if (s.references > 0) {
    out["reuse"] = reuse_json(s.reuse, s);
    out["working_set"] = working_set_json(s.reuse.working_set, s.block_tokens);
  }
  if (s.sessions > 0) {
    out["sessions"] = s.sessions;
    out["turns_per_session"] = distribution_json(s.session.turns);
  }
  if (s.session.gap_s.count > 0) out["turn_gap_s"] = distribution_json(s.session.gap_s);
  if (s.session.think_s.count > 0) out["think_s"] = distribution_json(s.session.think_s);
  for (const TenantStats& tenant : s.tenants) {
    out["tenants"].push_back({{"name", tenant.name},
                              {"requests", tenant.requests},
                              {"input_tokens", tenant.input_tokens}});
  }
  return out;
}

}  // namespace spillway

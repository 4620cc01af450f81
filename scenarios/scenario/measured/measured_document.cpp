#include "scenarios/scenario/measured/measured_document.hpp"

#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "scenarios/scenario/config/field_json.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/measured/measured_fields.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// As a log would have it: times that are not known are none of its row.
LoggedRequest as_logged(const MeasuredRequest& r) {
  LoggedRequest out;
  out.completed = r.completed;
  out.input_tokens = r.input_tokens;
  out.output_tokens = r.output_tokens;
  const auto take = [&](RequestField field, double at) {
    if (at != kUnknownTime) out.at(field) = at;
  };
  take(RequestField::kArrival, r.arrival_s);
  take(RequestField::kQueued, r.queued_s);
  take(RequestField::kScheduled, r.scheduled_s);
  take(RequestField::kFirstToken, r.first_token_s);
  take(RequestField::kLastToken, r.last_token_s);
  return out;
}

}  // namespace

json to_json(const MeasuredFacts& facts) {
  return to_document(facts);
}

json to_json(const MeasuredRun& run) {
  MeasuredResults out{run.name, run.files, run.facts, {}, metrics_of(run), run.counters};
  for (const MeasuredRequest& request : run.requests) out.requests.push_back(as_logged(request));
  return to_document(out);
}

void read_measured_document(const ObjectReader& top, MeasuredParts& parts) {
  const std::string kind = top.require_text("kind", "\"measured-run\"");
  if (kind != kMeasuredKind) {
    top.fail("kind", fmt::format("expected \"{}\", found \"{}\"", kMeasuredKind, kind));
  }
  const auto results = top.open_object("results");
  if (!results) top.missing("results", "an object");
  UnknownMembers ignored;  // of later builds
  MeasuredResults in = read_row<MeasuredResults>(*results, "", ignored);
  const std::string& path = top.source().name();
  parts.name = in.name;
  if (in.facts) parts.facts = *in.facts;
  parts.facts.source = path;
  if (!in.requests.empty()) {
    RequestLogFile log;
    log.path = path;
    log.client = parts.facts.of_client();
    log.rows = std::move(in.requests);
    for (std::size_t i = 0; i < log.rows.size(); ++i) log.rows[i].index = i;
    parts.logs.push_back(std::move(log));
  }
  if (!in.counters.empty()) {
    CounterFile counters;
    counters.path = path;
    counters.rows = std::move(in.counters);
    parts.counters.push_back(std::move(counters));
  }
  // What the requests tell is computed from them again.
  for (const auto& [key, value] : in.metrics) parts.metrics[key] = value;
}

}  // namespace spillway

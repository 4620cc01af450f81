#include "traces/formats/rate_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/numbers.hpp"
#include "sim/quantile.hpp"
#include "traces/formats/csv_table.hpp"

namespace spillway {

namespace {

enum Column : std::size_t { kClient, kStart, kRate, kCv, kDist, kShape, kScale };
constexpr CsvColumn kColumns[] = {{"client"}, {"start_s"}, {"rate_rps"}, {"cv"},
                                  {"dist"},   {"param1"},  {"param2"}};
constexpr double kMostRps = 1e9;
constexpr double kMostParameter = 1e15;
constexpr std::int64_t kServeGenWindow = 600;

/// A number from `least` (if `positive`, above it) to `most`.
double real(const CsvTable& csv, Column column, double least, double most, bool positive = false) {
  const std::string_view text = csv.cell(column);
  const std::optional<double> value = parse_real(text);
  if (!value || !(*value >= least && *value <= most) || (positive && *value == least)) {
    csv.fail(column, fmt::format("expected a number {} {} to {:g}, found \"{}\"",
                                 positive ? "above" : "from", least, most, text.substr(0, 40)));
  }
  return *value;
}

RateDist dist_of(const CsvTable& csv) {
  const std::string_view name = csv.cell(kDist);
  if (name == "Gamma") return RateDist::kGamma;
  if (name == "Weibull") return RateDist::kWeibull;
  csv.fail(kDist, fmt::format("expected Gamma or Weibull, found \"{}\"", name.substr(0, 40)));
}

std::int64_t window_of(const std::vector<std::int64_t>& starts) {
  std::vector<std::int64_t> sorted = starts;
  std::sort(sorted.begin(), sorted.end());
  std::int64_t window = 0;
  for (const std::int64_t start : sorted) window = std::gcd(window, start - sorted.front());
  return window > 0 ? window : kServeGenWindow;
}

}  // namespace

ArrivalRates read_rate_table(const std::string& path, ReadProgress progress) {
  auto lines = std::make_unique<LineReader>(path, open_bytes(path, std::move(progress)));
  if (!looks_like_rate_table(lines->peek_content())) {
    throw InputError(Fault::kTrace, {path, 1, "header"},
                     "is no rate table; expected the columns client, start_s, rate_rps, cv, dist, "
                     "param1, param2");
  }
  CsvTable csv(std::move(lines), kColumns, OtherColumns::kRefuse);
  ArrivalRates table;
  std::set<std::pair<std::uint32_t, std::int64_t>> seen;
  while (csv.next()) {
    const auto client = static_cast<std::uint32_t>(
        csv.whole(kClient, 0, std::numeric_limits<std::uint32_t>::max()));
    const std::int64_t start = csv.whole(kStart, 0, kMaxArrivalMs / 1000);
    if (!seen.emplace(client, start).second) {
      csv.fail(kStart, fmt::format("expected each window of a client once, found {} s of client {} "
                                   "again",
                                   start, client));
    }
    table.client.push_back(client);
    table.start_s.push_back(start);
    table.rate_rps.push_back(real(csv, kRate, 0, kMostRps));
    table.cv.push_back(real(csv, kCv, 0, kMostParameter));
    table.dist.push_back(dist_of(csv));
    table.shape.push_back(real(csv, kShape, 0, kMostParameter, true));
    table.scale.push_back(real(csv, kScale, 0, kMostParameter, true));
  }
  if (table.client.empty()) {
    throw InputError(Fault::kTrace, {path, 0, ""}, "no rates; expected at least one row");
  }
  table.window_s = window_of(table.start_s);
  return table;
}

RateStats rate_stats(const ArrivalRates& table) {
  KV_ASSERT(!table.client.empty(), "a rate table without rows");
  std::map<std::int64_t, double> totals;
  for (std::size_t i = 0; i < table.client.size(); ++i) {
    totals[table.start_s[i]] += table.rate_rps[i];
  }
  std::vector<double> rates;
  for (const auto& [start, rate] : totals) rates.push_back(rate);
  RateStats out;
  out.rows = table.client.size();
  out.clients = std::set<std::uint32_t>(table.client.begin(), table.client.end()).size();
  out.windows = rates.size();
  out.window_s = table.window_s;
  out.first_s = totals.begin()->first;
  out.span_s = totals.rbegin()->first + table.window_s - out.first_s;
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  out.mean_rps = sum / static_cast<double>(rates.size());
  out.median_rps = median(rates);
  out.min_rps = *std::min_element(rates.begin(), rates.end());
  out.max_rps = *std::max_element(rates.begin(), rates.end());
  out.requests = sum * static_cast<double>(table.window_s);
  out.gamma_rows = static_cast<std::uint64_t>(
      std::count(table.dist.begin(), table.dist.end(), RateDist::kGamma));
  out.median_cv = median(table.cv);
  out.max_cv = *std::max_element(table.cv.begin(), table.cv.end());
  return out;
}

bool looks_like_rate_table(std::string_view first_line) {
  return is_csv_header(first_line, "rate_rps");
}

bool is_rate_table(const std::string& path) {
  // What a pipe has given cannot be read again.
  std::error_code unreadable;  // whoever reads it next says so
  if (!std::filesystem::is_regular_file(path, unreadable)) return false;
  return looks_like_rate_table(LineReader(path, open_bytes(path)).peek_content());
}

std::unique_ptr<TraceReader> refuse_rate_table(std::unique_ptr<LineReader> lines,
                                               const ReaderOptions& /*options*/) {
  throw InputError(Fault::kTrace, {lines->path(), 1, "header"},
                   "is a table of arrival rates, not of requests; expected a request trace. Make "
                   "one with `spillway trace generate --arrivals rates --rates FILE`; `spillway "
                   "trace stats FILE` "
                   "shows the rates");
}

}  // namespace spillway

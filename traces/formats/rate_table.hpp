// A table of fitted arrival rates, client by client and window by window, as ServeGen publishes
// them (alibaba/ServeGen, Apache-2.0): a model of arrivals, not a log of requests.
//
//   client,start_s,rate_rps,cv,dist,param1,param2
//   0,143400,0.07666666666666666,1.1562268743398203,Gamma,0.74802116038809,0.04435406418012669
//
// param1 and param2 are shape and scale of the inter-arrival times. Their mean need not be
// 1 / rate_rps (in the published tables it is not): the shape says how bursty a window is, the rate
// how many requests it has. Windows without requests are left out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

enum class RateDist : std::uint8_t { kGamma, kWeibull };

/// One entry a column and row, in the file's order; each client and start at most once.
struct ArrivalRates {
  std::vector<std::uint32_t> client;
  std::vector<std::int64_t> start_s;
  std::vector<double> rate_rps;  ///< >= 0
  std::vector<double> cv;        ///< of the inter-arrival times, >= 0
  std::vector<RateDist> dist;
  std::vector<double> shape;  ///< > 0
  std::vector<double> scale;  ///< > 0
  /// Length of a window: the greatest that all gaps between starts are multiples of; ServeGen's 600
  /// where there is one window only.
  std::int64_t window_s = 0;
};

/// Throws InputError: exit 7 when `path` cannot be read, 3 when it is no valid rate table, naming
/// line and field.
ArrivalRates read_rate_table(const std::string& path, ReadProgress progress = {});

/// The total rate, window by window, over the windows that occur, and the table's extent.
struct RateStats {
  std::uint64_t rows = 0;
  std::uint64_t clients = 0;
  std::uint64_t windows = 0;
  std::int64_t window_s = 0;
  std::int64_t first_s = 0;  ///< start of the first window
  std::int64_t span_s = 0;   ///< from there to the end of the last
  double mean_rps = 0;
  double median_rps = 0;
  double min_rps = 0;
  double max_rps = 0;
  double requests = 0;  ///< that the rates add up to
  std::uint64_t gamma_rows = 0;
  double median_cv = 0;  ///< over rows
  double max_cv = 0;
};
RateStats rate_stats(const ArrivalRates& table);

bool looks_like_rate_table(std::string_view first_line);
/// True where `path` is a regular file that looks like a rate table. Throws InputError (exit 7)
/// where it cannot be read.
bool is_rate_table(const std::string& path);
/// Throws InputError (exit 3): requests were expected. Says how to make some.
std::unique_ptr<TraceReader> refuse_rate_table(std::unique_ptr<LineReader> lines,
                                               const ReaderOptions& options);

}  // namespace spillway

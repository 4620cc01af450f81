// What the readers of measured files hand to load_measured(): values as the files say them, on the
// clocks of the files, before anything is checked across rows or files.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"
#include "scenarios/scenario/measured/request_fields.hpp"
#include "sim/error.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

/// A time that a row does not have: unlike kUnknownTime, no clock reads it.
inline constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLateStart = 600;  ///< s: a clock that does not begin with the run

/// A row of a request log.
struct LoggedRequest {
  std::int64_t line = 0;
  std::size_t index = 0;  ///< among the rows
  std::string id;
  bool completed = true;
  std::optional<std::uint32_t> input_tokens;
  std::optional<std::uint32_t> output_tokens;
  /// From kArrival to kLastToken, in seconds on the file's clocks; kNoTime: not there.
  std::array<double, 5> at_s = {kNoTime, kNoTime, kNoTime, kNoTime, kNoTime};
  double client_sent_s = kUnknownTime;  ///< in the log of its client, by that one's clock
  double client_ttft_s = kUnknownTime;

  double& at(RequestField field) { return at_s[place(field)]; }
  double at(RequestField field) const { return at_s[place(field)]; }
  bool knows(RequestField field) const { return at(field) == at(field); }
  /// Whether it can be sent again: what did not complete may lack anything.
  bool usable() const { return input_tokens && knows(RequestField::kArrival); }

 private:
  static std::size_t place(RequestField field) {
    return static_cast<std::size_t>(field) - static_cast<std::size_t>(RequestField::kArrival);
  }
};

class ObjectReader;

struct RequestLogFile {
  std::string path;
  std::vector<LoggedRequest> rows;
  /// How the file spells its fields, for errors.
  std::array<std::string, kRequestFields> spelling{};
  bool columns = false;  ///< a field is a list with one value per request
  bool client = false;   ///< its times are a client's

  std::string field(RequestField f) const;
  SourceRef where(const LoggedRequest& row, RequestField f) const;
};

/// A number of requests that one file gives and the log has to meet.
struct ExpectedCount {
  SourceRef where;
  std::uint64_t requests = 0;
  bool completed = false;  ///< counts those that completed only
};

/// Counters of one file.
struct CounterFile {
  std::string path;
  std::vector<MeasuredCounters> rows;
  bool wall_clock = false;  ///< of a time zone that is not known
};

struct MeasuredParts {
  std::vector<RequestLogFile> logs;
  std::vector<CounterFile> counters;
  std::vector<ExpectedCount> expected;
  std::map<std::string, double> metrics;
  MeasuredFacts facts;
  std::string name;  ///< where a file gives one
  std::vector<std::string> notes;
};

/// Where a log's times begin, for the counters that belong to them.
struct LogClock {
  double origin_s = 0;  ///< of arrivals, which now count from 0
  double offset_s = 0;  ///< by which the engine's clock was ahead of the arrivals'
};

// One reader per form; all throw InputError (exit 3) with file, line, field and what was expected.
void read_request_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_request_lines(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_request_array(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_counter_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
/// One document: engine arguments, a result of `vllm bench serve`, an answer of Prometheus, or a
/// measured-run document.
void read_measured_json(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
/// Of AIPerf, a record a line.
void read_aiperf_lines(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
/// GuideLLM's benchmarks.
void read_guidellm(const ObjectReader& top, MeasuredParts& parts);
/// What a server printed: periodic counters and start-up lines.
void read_server_log(std::unique_ptr<LineReader> lines, MeasuredParts& parts);

/// Gives the rows of an engine's log what their clients saw. Where the two hold other requests, a
/// note says so.
void join_client(RequestLogFile& engine, const RequestLogFile& client,
                 std::vector<std::string>& notes);

// The checks, in this order; all throw InputError (exit 3), and note what they let pass.
/// Lengths of 0, tokens without a time, rows that come twice, holes in the ids.
void check_rows(const RequestLogFile& log, const MeasuredOptions& options,
                std::vector<std::string>& notes);
/// Times that are off by a factor of 1000.
void check_units(const RequestLogFile& log);
/// Puts all times on one clock, which begins at the first arrival unless the log's own begins
/// before it.
LogClock one_clock(RequestLogFile& log, std::vector<std::string>& notes);
/// Requests that warmed the engine up; leaves them out where the options say so.
void check_warmup(std::vector<MeasuredRequest>& requests, const MeasuredOptions& options,
                  std::vector<std::string>& notes);
/// What the counters saw and the log does not have, and counters that count nothing; puts them on
/// the log's clock. `path` of the log.
void check_counters(CounterFile& counters, const std::vector<MeasuredRequest>& requests,
                    const LogClock& clock, const MeasuredOptions& options,
                    std::vector<std::string>& notes);

/// "3 requests", "1 request".
std::string requests_text(std::uint64_t count);

}  // namespace spillway

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

#include "scenarios/measured/measured_run.hpp"
#include "scenarios/measured/request_fields.hpp"
#include "sim/error.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

/// A time that a row does not have: unlike kUnknownTime, no clock reads it.
inline constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

/// A row of a request log.
struct LoggedRequest {
  std::int64_t line = 0;
  std::string id;
  bool completed = true;
  std::optional<std::uint32_t> input_tokens;
  std::optional<std::uint32_t> output_tokens;
  /// From kArrival to kLastToken, in seconds on the file's clocks; kNoTime: not there.
  std::array<double, 5> at_s = {kNoTime, kNoTime, kNoTime, kNoTime, kNoTime};

  double& at(RequestField field) { return at_s[index(field)]; }
  double at(RequestField field) const { return at_s[index(field)]; }
  bool knows(RequestField field) const { return at(field) == at(field); }

 private:
  static std::size_t index(RequestField field) {
    return static_cast<std::size_t>(field) - static_cast<std::size_t>(RequestField::kArrival);
  }
};

struct RequestLogFile {
  std::string path;
  std::vector<LoggedRequest> rows;
  /// How the file spells its fields, for errors.
  std::array<std::string, kRequestFields> spelling;

  std::string field(RequestField f) const {
    const std::string& spelt = spelling[static_cast<std::size_t>(f)];
    return spelt.empty() ? std::string(name_of(f)) : spelt;
  }
  SourceRef where(const LoggedRequest& row, RequestField f) const {
    return {path, row.line, field(f)};
  }
};

/// A count that one file gives and another one has to meet.
struct ExpectedCount {
  SourceRef where;
  std::uint64_t requests = 0;
};

struct MeasuredParts {
  std::vector<RequestLogFile> logs;
  std::vector<MeasuredCounters> counters;
  std::string counters_path;
  std::vector<ExpectedCount> expected;
  std::map<std::string, double> metrics;
  MeasuredFacts facts;
  std::vector<std::string> notes;
};

/// What a file is, by its first bytes.
enum class MeasuredForm : std::uint8_t {
  kRequestCsv,
  kRequestLines,  ///< JSON lines
  kCounterCsv,
  kJson,  ///< one document; its keys say which
};

/// Throws InputError (exit 3) where it is none.
MeasuredForm form_of(LineReader& lines);

// One reader per form; all throw InputError (exit 3) with file, line, field and what was expected.
void read_request_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_request_lines(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_counter_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts);
void read_measured_json(std::unique_ptr<LineReader> lines, MeasuredParts& parts);

/// Checks the rows of a log against each other and puts them on one clock, in order of arrival.
/// Throws InputError (exit 3).
std::vector<MeasuredRequest> requests_of(const RequestLogFile& log, const MeasuredOptions& options,
                                         std::vector<std::string>& notes);

}  // namespace spillway

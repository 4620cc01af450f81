// Request logs: CSV and JSON lines, columns by name.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/error.hpp"
#include "sim/numbers.hpp"
#include "traces/formats/csv_table.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

constexpr std::size_t kShown = 40;  // characters of a value in an error

/// What engines and clients call a request that came to its end.
bool is_success(std::string_view status) {
  constexpr std::string_view kWords[] = {"",
                                         "completed",
                                         "success",
                                         "succeeded",
                                         "ok",
                                         "stop",
                                         "length",
                                         "finished",
                                         "true",
                                         "True",
                                         "200",
                                         "FINISHED_STOPPED",
                                         "FINISHED_LENGTH_CAPPED"};
  return std::find(std::begin(kWords), std::end(kWords), status) != std::end(kWords);
}

/// Puts cells into a row, and says what is wrong with them.
class RowFiller {
 public:
  explicit RowFiller(RequestLogFile& log) : log_(&log) {}

  void start(std::int64_t line) {
    row_ = {};
    row_.line = line;
    ttft_ = e2el_ = sent_ = kNoTime;
    server_input_ = 0;
  }

  void put(std::string_view name, const RequestColumn& column, std::string_view text) {
    std::string& spelt = log_->spelling[static_cast<std::size_t>(column.field)];
    if (spelt.empty()) spelt = name;
    if (column.field == RequestField::kId) {
      row_.id = text;
    } else if (column.field == RequestField::kStatus) {
      row_.completed = is_success(text);
    } else if (!text.empty() && text != "null" && text != "nan" && text != "NaN") {
      put_number(column, number(column.field, text));
    }
  }

  void finish() {
    if (sent_ == sent_) row_.at(RequestField::kArrival) = sent_;
    if (server_input_ > 0) row_.input_tokens = server_input_;
    const double arrival = row_.at(RequestField::kArrival);
    if (!row_.knows(RequestField::kFirstToken))
      row_.at(RequestField::kFirstToken) = arrival + ttft_;
    if (!row_.knows(RequestField::kLastToken)) row_.at(RequestField::kLastToken) = arrival + e2el_;
    row_.index = log_->rows.size();
    log_->rows.push_back(row_);
  }

 private:
  [[noreturn]] void fail(RequestField field, const std::string& message) const {
    throw InputError(Fault::kTrace, log_->where(row_, field), message);
  }

  double number(RequestField field, std::string_view text) const {
    const std::optional<double> value = parse_real(text);
    if (!value || !std::isfinite(*value)) {
      fail(field, fmt::format("expected a number, found \"{}\"", text.substr(0, kShown)));
    }
    return *value;
  }

  std::uint32_t tokens(RequestField field, double value, double least) const {
    if (value < least || value > static_cast<double>(kMaxTokens) || value != std::floor(value)) {
      fail(field, fmt::format("expected a whole number of tokens from {} to {}, found {}", least,
                              kMaxTokens, value));
    }
    return static_cast<std::uint32_t>(value);
  }

  void put_number(const RequestColumn& column, double value) {
    switch (column.field) {
      case RequestField::kInput:
        row_.input_tokens = tokens(column.field, value, 1);
        return;
      case RequestField::kOutput:
        row_.output_tokens = tokens(column.field, value, 0);
        return;
      case RequestField::kServerInput:
        server_input_ = tokens(column.field, value, 0);
        return;
      default:
        break;
    }
    const bool duration =
        column.field == RequestField::kTtft || column.field == RequestField::kE2el;
    if (duration && value < 0) {
      fail(column.field, fmt::format("expected a duration from 0, found {}", value));
    }
    const double seconds = value * column.seconds;
    if (column.field == RequestField::kTtft) {
      ttft_ = seconds;
    } else if (column.field == RequestField::kE2el) {
      e2el_ = seconds;
    } else if (column.field == RequestField::kSent) {
      sent_ = seconds;
      log_->client = true;
    } else {
      row_.at(column.field) = seconds;
    }
  }

  RequestLogFile* log_;
  LoggedRequest row_;
  double ttft_ = kNoTime;
  double e2el_ = kNoTime;
  double sent_ = kNoTime;
  std::uint32_t server_input_ = 0;
};

/// The cells of a CSV header line, without quotes and their kin: names that matter have none.
std::vector<std::string> header_names(std::string_view line) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view name = line.substr(0, comma);
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
      name = name.substr(1, name.size() - 2);
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    line.remove_prefix(comma + 1);
  }
}

/// Two columns for one field would leave it to chance which one counts.
void refuse_twice(const std::vector<std::string>& names, const std::string& path,
                  std::int64_t line) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto column = request_column(names[i]);
    for (std::size_t k = 0; k < i && column; ++k) {
      const auto other = request_column(names[k]);
      if (!other || other->field != column->field) continue;
      throw InputError(Fault::kTrace, {path, line, names[i]},
                       fmt::format("expected one column for {}, found also \"{}\"",
                                   name_of(column->field), names[k]));
    }
  }
}

/// Durations from arrival stand for the time at their end.
RequestField moment(RequestField field) {
  if (field == RequestField::kTtft) return RequestField::kFirstToken;
  return field == RequestField::kE2el ? RequestField::kLastToken : field;
}

/// A time without its unit, where no other column has that time, would be left out unsaid.
void refuse_unitless(const std::vector<std::string>& names, const std::string& path,
                     std::int64_t line) {
  const auto given = [&](RequestField field) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto column = request_column(name);
      return column && moment(column->field) == moment(field);
    });
  };
  for (const std::string& name : names) {
    if (request_column(name) || name.starts_with("finish")) continue;  // may be a yes or no
    const auto column = request_column(name + "_s");
    if (!column || column->field == RequestField::kQueued ||
        column->field == RequestField::kScheduled || given(column->field)) {
      continue;
    }
    throw InputError(Fault::kTrace, {path, line, name},
                     fmt::format("expected the unit of time in the name, {0}_s, {0}_ms, {0}_us or "
                                 "{0}_ns, found none",
                                 name));
  }
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? std::string() : value.dump();
}

void add_object(const nlohmann::json& object, std::int64_t line, const RequestLogFile& log,
                RowFiller& filler) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  refuse_twice(names, log.path, line);
  refuse_unitless(names, log.path, line);
  filler.start(line);
  for (const auto& [key, value] : object.items()) {
    if (const auto column = request_column(key)) filler.put(key, *column, text_of(value));
  }
  filler.finish();
}

}  // namespace

void read_request_csv(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  RequestLogFile log;
  log.path = lines->path();
  const std::vector<std::string> names = header_names(lines->peek_content());
  refuse_twice(names, log.path, 1);
  refuse_unitless(names, log.path, 1);
  std::vector<CsvColumn> columns;
  std::vector<RequestColumn> meaning;
  for (const std::string& name : names) {
    const auto column = request_column(name);
    if (!column) continue;
    columns.push_back({name, true});
    meaning.push_back(*column);
  }
  CsvTable table(std::move(lines), columns, OtherColumns::kIgnore);
  RowFiller filler(log);
  while (table.next()) {
    filler.start(table.line());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      filler.put(columns[i].name, meaning[i], table.cell(i));
    }
    filler.finish();
  }
  for (const std::string& note : table.notes()) parts.notes.push_back(note);
  parts.logs.push_back(std::move(log));
}

void read_request_lines(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  RequestLogFile log;
  log.path = lines->path();
  RowFiller filler(log);
  std::string_view line;
  while (lines->next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) {
      throw InputError(Fault::kTrace, {log.path, lines->line(), ""},
                       fmt::format("expected an object of JSON on a line of its own, found \"{}\"",
                                   line.substr(0, kShown)));
    }
    add_object(object, lines->line(), log, filler);
  }
  parts.logs.push_back(std::move(log));
}

void read_request_array(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  RequestLogFile log;
  log.path = lines->path();
  std::string text;
  std::string_view line;
  while (lines->next(line)) text.append(line).push_back('\n');
  const JsonSource source = JsonSource::from_text(log.path, text, Fault::kTrace);
  RowFiller filler(log);
  for (std::size_t i = 0; i < source.root().size(); ++i) {
    const SourceRef where = source.where(fmt::format("/{}", i));
    const nlohmann::json& object = source.root()[i];
    if (!object.is_object()) {
      throw InputError(Fault::kTrace, where, "expected an object with the request's columns");
    }
    add_object(object, where.line, log, filler);
  }
  parts.logs.push_back(std::move(log));
}

}  // namespace spillway

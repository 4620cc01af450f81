// Checks of a request log that need no clock: what each row must have, and rows that are missing or
// come twice.
#include <algorithm>
#include <charconv>
#include <tuple>

#include "scenarios/scenario/measured/measured_parts.hpp"

namespace spillway {

namespace {

using F = RequestField;

void check_complete(const RequestLogFile& log) {
  for (const LoggedRequest& row : log.rows) {
    if (!row.completed) continue;
    const auto fail = [&](F field, const std::string& message) {
      throw InputError(Fault::kTrace, log.where(row, field), message);
    };
    if (!row.input_tokens) fail(F::kInput, "expected a number of tokens, found none");
    if (!row.output_tokens) fail(F::kOutput, "expected a number of tokens, found none");
    if (*row.output_tokens == 0) {
      fail(F::kOutput, "expected at least 1 token of a completed request, found 0");
    }
    if (!row.knows(F::kArrival)) fail(F::kArrival, "expected a time, found none");
    if (!row.knows(F::kLastToken)) {
      fail(F::kLastToken, fmt::format("expected the time of the last of {} tokens, found none",
                                      *row.output_tokens));
    }
  }
}

void check_duplicates(const RequestLogFile& log) {
  std::vector<const LoggedRequest*> rows;
  for (const LoggedRequest& row : log.rows) {
    if (row.usable()) rows.push_back(&row);
  }
  // What is not known compares as equal, in an order of its own.
  const auto key = [](const LoggedRequest& r) {
    std::array<double, 5> at = r.at_s;
    for (double& t : at) t = t == t ? t : kUnknownTime;
    return std::tuple(at, r.input_tokens, r.output_tokens, std::string_view(r.id));
  };
  const auto twice = [&](auto by, const char* what) {
    std::sort(rows.begin(), rows.end(), [&](const LoggedRequest* a, const LoggedRequest* b) {
      return std::tuple(by(*a), a->index) < std::tuple(by(*b), b->index);
    });
    std::uint64_t count = 0;
    const LoggedRequest* first = nullptr;
    const LoggedRequest* original = nullptr;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (by(*rows[i]) != by(*rows[i - 1])) continue;
      ++count;
      if (first == nullptr || rows[i]->index < first->index) {
        first = rows[i];
        original = rows[i - 1];
      }
    }
    if (first == nullptr) return;
    throw InputError(Fault::kTrace, log.where(*first, F::kId),
                     fmt::format("expected each request once, found {} as on line {}; so it is "
                                 "with {} of {}",
                                 what, original->line, requests_text(count), rows.size()));
  };
  twice(key, "the same lengths and times");
  std::erase_if(rows, [](const LoggedRequest* r) { return r->id.empty(); });
  twice([](const LoggedRequest& r) { return r.id; }, "the same id");
}

/// The number at the end of an id, and what stands before it.
struct Numbered {
  std::string_view stem;
  std::uint64_t number = 0;
};

std::optional<Numbered> numbered(std::string_view id) {
  constexpr std::size_t kMostDigits = 15;
  std::size_t digits = 0;
  while (digits < id.size() && id[id.size() - 1 - digits] >= '0' &&
         id[id.size() - 1 - digits] <= '9') {
    ++digits;
  }
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  Numbered out{id.substr(0, id.size() - digits)};
  std::from_chars(id.data() + id.size() - digits, id.data() + id.size(), out.number);
  return out;
}

/// Ids that count up, with some left out, mean that requests are missing. Random ids, which fill
/// less than two thirds of their range, do not count up.
void check_ids(const RequestLogFile& log, const MeasuredOptions& options,
               std::vector<std::string>& notes) {
  std::vector<std::uint64_t> numbers;
  std::string_view stem;
  for (const LoggedRequest& row : log.rows) {
    const auto id = numbered(row.id);
    if (!id || (!numbers.empty() && id->stem != stem)) return;
    stem = id->stem;
    numbers.push_back(id->number);
  }
  if (numbers.empty()) return;
  std::sort(numbers.begin(), numbers.end());
  const std::uint64_t range = numbers.back() - numbers.front() + 1;
  const std::uint64_t holes = range - std::min<std::uint64_t>(range, numbers.size());
  if (holes == 0 || holes * 2 > numbers.size()) return;
  const auto gap = std::adjacent_find(numbers.begin(), numbers.end(),
                                      [](std::uint64_t a, std::uint64_t b) { return b > a + 1; });
  const std::string message = fmt::format(
      "expected ids that count from {0}{1} to {0}{2} without a hole, found {3} missing, the "
      "first behind {0}{4}: their load on the engine would be missing too",
      stem, numbers.front(), numbers.back(), requests_text(holes), *gap);
  if (!options.allow_missing) {
    throw InputError(Fault::kTrace, {log.path, 0, log.field(F::kId)}, message);
  }
  notes.push_back(fmt::format("{}: {}", log.path, message));
}

}  // namespace

std::string requests_text(std::uint64_t count) {
  return fmt::format("{} request{}", count, count == 1 ? "" : "s");
}

std::string RequestLogFile::field(RequestField f) const {
  const std::string& spelt = spelling[static_cast<std::size_t>(f)];
  return spelt.empty() ? std::string(name_of(f)) : spelt;
}

SourceRef RequestLogFile::where(const LoggedRequest& row, RequestField f) const {
  return {path, row.line, columns ? fmt::format("{}.{}", field(f), row.index) : field(f)};
}

void check_rows(const RequestLogFile& log, const MeasuredOptions& options,
                std::vector<std::string>& notes) {
  const auto completed = std::count_if(log.rows.begin(), log.rows.end(),
                                       [](const LoggedRequest& row) { return row.completed; });
  if (completed == 0) {
    throw InputError(Fault::kTrace, {log.path, 0, ""},
                     fmt::format("expected at least one completed request, found none in {} rows",
                                 log.rows.size()));
  }
  check_complete(log);
  check_duplicates(log);
  check_ids(log, options, notes);
  const std::uint64_t others = log.rows.size() - static_cast<std::uint64_t>(completed);
  if (others > 0) {
    notes.push_back(fmt::format(
        "{}: {} of {} did not complete; they are in no metric and are not sent again, though the "
        "engine may have spent time on them",
        log.path, requests_text(others), log.rows.size()));
  }
}

}  // namespace spillway

#include "traces/catalogue.hpp"

#include <fmt/ranges.h>

#include <filesystem>

#include "sim/catalogue.hpp"
#include "sim/input_file.hpp"
#include "sim/memory.hpp"
#include "traces/formats/agentic_jsonl.hpp"
#include "traces/formats/azure_csv.hpp"
#include "traces/formats/bailian_jsonl.hpp"
#include "traces/formats/binary_trace.hpp"
#include "traces/formats/burstgpt_csv.hpp"
#include "traces/formats/csv_trace.hpp"
#include "traces/formats/mooncake_jsonl.hpp"
#include "traces/formats/native_jsonl.hpp"
#include "traces/formats/rag_jsonl.hpp"
#include "traces/formats/rate_table.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr TraceFormat kFormats[] = {
    {"csv",
     "CSV with timestamp_ms, input_length, output_length; optional session_id, tenant, think_ms, "
     "hash_ids.",
     RowOrder::kFile, looks_like_csv, make_csv_reader},
    {"native",
     "JSON lines with a header: Mooncake's rows, and the block size, links, pauses and tenants.",
     RowOrder::kFile, looks_like_native, make_native_reader},
    {"agentic",
     "JSON lines, one agent session each, with block_size and requests (t, in, out, hash_ids).",
     RowOrder::kSessions, looks_like_agentic, make_agentic_reader, TraceClock::kNoClock},
    {"rag", "JSON lines with timestamp (s), lengths, session_id and segments [content id, tokens].",
     RowOrder::kSort, looks_like_rag, make_rag_reader},
    {"bailian",
     "JSON lines with chat_id, parent_chat_id, timestamp (s), lengths, hash_ids (16-token blocks).",
     RowOrder::kSort, looks_like_bailian, make_bailian_reader},
    {"azure", "Azure LLM inference CSV (2023, 2024): TIMESTAMP, ContextTokens, GeneratedTokens.",
     RowOrder::kFile, looks_like_azure, make_azure_reader},
    {"burstgpt",
     "BurstGPT CSV: Timestamp (s), Request tokens, Response tokens; optional Session ID.",
     RowOrder::kFile, looks_like_burstgpt, make_burstgpt_reader},
    {"rate-table",
     "ServeGen's arrival rates per client and window, for `trace stats` and `trace generate`.",
     RowOrder::kFile, looks_like_rate_table, refuse_rate_table},
    // Behind CSV, whose header may be quoted as a JSON key is.
    {"mooncake",
     "JSON lines with timestamp (ms), input_length, output_length, hash_ids (512-token blocks).",
     RowOrder::kFile, looks_like_mooncake, make_mooncake_reader},
    {"binary", "Memory-mapped columns with a content hash, written by `spillway trace convert`.",
     RowOrder::kFile, nullptr, nullptr},
};

/// Why a line that is there is of no format.
std::string unknown_format(std::string_view line) {
  const auto has = [&](std::string_view key) { return line.find(key) != std::string_view::npos; };
  if (has("\"timestamp\"") && has("\"input_length\"") && !has("\"hash_ids\"")) {
    return "a row like Mooncake's without hash_ids; expected one for each 512 tokens of the prompt "
           "(without them no prefix hit can be simulated), or a first line {\"spillway_trace\": "
           "1}, "
           "behind which rows may go without";
  }
  return fmt::format("no known trace format; known: {}",
                     fmt::join(names_of(trace_formats()), ", "));
}

const TraceFormat& detect(const std::string& path, std::string_view first_line) {
  for (const TraceFormat& format : kFormats) {
    if (format.matches != nullptr && !first_line.empty() && format.matches(first_line)) {
      return format;
    }
  }
  throw InputError(Fault::kTrace, {path, 1, ""},
                   first_line.empty() ? kNoRequests : unknown_format(first_line));
}

void check_interval(const std::string& path, const TraceFormat& format,
                    const ReaderOptions& options) {
  if (!options.session_interval_s || format.clock == TraceClock::kNoClock) return;
  throw InputError(
      Fault::kUsage, {path, 0, ""},
      fmt::format("a trace of format {} has a clock; expected no session_interval_s", format.name));
}

/// A binary trace is mapped: it must be a file, and lie there as it is.
void require_mappable(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(Fault::kTrace, {path, 0, ""},
                     "a binary trace that comes through a pipe; expected a file, to map it");
  }
  if (read_head(path, kBinaryTraceMagic.size()) == kBinaryTraceMagic) return;
  throw InputError(Fault::kTrace, {path, 0, ""},
                   "a binary trace that is compressed; expected it unpacked, to map it");
}

/// Decides what a faulty row means: the end of reading, or one row less.
class Quarantine {
 public:
  Quarantine(const std::string& path, const OpenOptions& options)
      : path_(path), options_(options) {}

  /// Called while `error` is being handled.
  void add(const RowError& error) {
    if (options_.problems != nullptr) {
      RowProblems& problems = *options_.problems;
      if (problems.count++ < RowProblems::kMost) {
        problems.listed.push_back({error.where().line, error.where().field, error.message()});
      }
    } else if (!options_.lenient) {
      throw;
    }
    if (count_++ == 0) first_ = error.what();
  }
  std::uint64_t count() const { return count_; }

  void check(std::uint64_t rows) const {
    const double most = kMostQuarantined * static_cast<double>(rows);
    if (options_.problems != nullptr || static_cast<double>(count_) <= most) return;
    throw InputError(
        Fault::kTrace, {path_, 0, ""},
        fmt::format("{} of {} rows are faulty; expected at most {}% to leave out. The first: {}",
                    count_, rows, 100 * kMostQuarantined, first_));
  }

 private:
  const std::string& path_;
  const OpenOptions& options_;
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return kFormats;
}

TraceFile::TraceFile(const std::string& path, const OpenOptions& options)
    : path_(path), options_(options) {
  auto lines = std::make_unique<LineReader>(path, open_bytes(path, options.progress));
  if (lines->peek_bytes(kBinaryTraceMagic.size()) == kBinaryTraceMagic) {
    if (options.reader.reuse.kind != ReuseModel::Kind::kNone) {
      refuse_reuse_model(options.reader.reuse, path);
    }
    check_interval(path, find_row(trace_formats(), "format", "binary", {}), options.reader);
    require_mappable(path);
    return;
  }
  format_ = &detect(path, lines->peek_content());
  check_interval(path, *format_, options.reader);
  reader_ = with_reuse_model(format_->make(std::move(lines), options.reader), options.reader.reuse,
                             path, options.block_names != nullptr);
}

WorkloadSource TraceFile::read(const std::function<void(const TraceRow&)>& use) {
  Quarantine quarantine(path_, options_);
  WorkloadSource source{path_, std::string(format_->name)};
  TraceRow row;
  while (options_.limit == 0 || source.rows.kept < options_.limit) {
    try {
      if (!reader_->next(row)) break;
      use(row);
      ++source.rows.kept;
      if (options_.observe) options_.observe(row);
    } catch (const RowError& error) {
      quarantine.add(error);
    } catch (const MemoryShort& error) {
      throw InputError(
          Fault::kIo, {path_, row.line, ""},
          fmt::format("{}, after {} requests; expected a shorter trace (a limit, trace "
                      "sample) or larger blocks",
                      error.what(), source.rows.kept));
    }
  }
  source.notes = reader_->notes();
  source.rows.dropped = reader_->dropped();
  source.rows.quarantined = quarantine.count();
  quarantine.check(source.rows.read());
  if (quarantine.count() > 0 && options_.problems == nullptr) {
    source.notes.push_back(fmt::format("{} of {} rows of {} are faulty and left out",
                                       quarantine.count(), source.rows.read(), path_));
  }
  if (source.rows.kept == 0) {
    throw InputError(Fault::kTrace, {path_, 0, ""}, kNoRequests);
  }
  return source;
}

Workload TraceFile::gather() {
  if (reader_ == nullptr) return open_binary_trace(path_, options_.limit);
  WorkloadBuilder builder(path_, reader_->block_tokens(), format_->order);
  WorkloadSource source = read([&](const TraceRow& row) { builder.add(row); });
  return builder.build(std::move(source), options_.block_names);
}

Workload open_trace(const std::string& path, const OpenOptions& options) {
  return TraceFile(path, options).gather();
}

}  // namespace spillway

#include "scenarios/machine/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "scenarios/scenario/config/json_source.hpp"
#include "sim/error.hpp"
#include "sim/input_file.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::string_view kKind = "calibration-journal";
constexpr int kVersion = 1;

[[noreturn]] void refuse(const std::string& path, std::int64_t line, const std::string& what) {
  throw InputError(Fault::kUsage, {path, line, ""}, what);
}

void read_header(const json& header, const std::string& path, JournalContent& out) {
  if (!header.is_object() || header.value("kind", json()) != kKind) {
    refuse(path, 1, "expected a journal of `spillway calibrate`, found something else");
  }
  if (header.value("journal_version", json()) != kVersion || !header.contains("created") ||
      !header["created"].is_string() || !header.contains("machine_hash") ||
      !header["machine_hash"].is_string()) {
    refuse(path, 1, "expected a journal of this version; delete it, and calibrate again");
  }
  out.created = header["created"];
  out.machine_hash = header["machine_hash"];
}

void read_row(const json& line, const std::string& path, std::int64_t number, JournalContent& out) {
  const bool whole = line.is_object() && line.contains("section") && line["section"].is_string() &&
                     line.contains("request") && line["request"].is_object() &&
                     line.contains("row") && line["row"].is_object() && line.contains("spent_s") &&
                     line["spent_s"].is_number();
  if (!whole) refuse(path, number, "expected a row with section, request, row and spent_s");
  RunCell cell;
  cell.plan.section = line["section"];
  cell.plan.request = line["request"];
  out.rows[cell.key()] = line["row"];
  out.spent_s = std::max(out.spent_s, line["spent_s"].get<double>());
}

}  // namespace

std::string journal_path(const std::string& profile) {
  return profile + ".partial.jsonl";
}

JournalContent read_journal(const std::string& path) {
  const std::string text = read_file(path);
  JournalContent out;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) {  // the process died while it wrote this
      out.torn = true;
      break;
    }
    ++number;
    const json line = json::parse(text.substr(at, end - at), nullptr, false);
    if (line.is_discarded()) refuse(path, number, "expected a line of JSON");
    if (number == 1) {
      read_header(line, path, out);
    } else {
      read_row(line, path, number, out);
    }
    at = end + 1;
  }
  return out;
}

Journal::Journal(std::string path, const std::string& created, const std::string& machine_hash)
    : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
  line({{"kind", kKind},
        {"journal_version", kVersion},
        {"created", created},
        {"machine_hash", machine_hash}});
}

Journal::Journal(std::string path, const JournalContent& content) : path_(std::move(path)) {
  if (content.torn) {
    const std::string text = read_file(path_);
    std::error_code error;
    std::filesystem::resize_file(path_, text.rfind('\n') + 1, error);
    if (error) {
      throw InputError(Fault::kIo, {path_, 0, ""},
                       fmt::format("cannot write: {}", error.message()));
    }
  }
  file_.open(path_, std::ios::binary | std::ios::app);
}

void Journal::append(const RunCell& cell, double spent_s) {
  line({{"section", cell.plan.section},
        {"request", cell.plan.request},
        {"row", cell.row},
        {"spent_s", spent_s}});
}

void Journal::line(const json& value) {
  // One write per line: what a kill leaves is a whole line, or a last one that is cut off.
  file_ << value.dump() + "\n" << std::flush;
  if (!file_) {
    throw InputError(Fault::kIo, {path_, 0, ""},
                     fmt::format("cannot write: {}", std::strerror(errno)));
  }
}

void Journal::remove() {
  file_.close();
  std::error_code ignored;  // a journal left behind is only untidy
  std::filesystem::remove(path_, ignored);
}

}  // namespace spillway

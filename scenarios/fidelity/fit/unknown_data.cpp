#include "scenarios/fidelity/fit/unknown_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

namespace {

struct KnownForm {
  std::string_view what;
  std::vector<std::string_view> columns;  ///< that it cannot do without
};

/// Under the names that their usual sources have; the readers know others too.
std::vector<KnownForm> forms() {
  return {
      {"a kernel table of products", {"dtype", "m", "n", "k", "latency_ms"}},
      {"a kernel table of prefill attention",
       {"batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim", "latency_ms"}},
      {"a kernel table of decode attention",
       {"batch_size", "ctx", "num_heads", "num_key_value_heads", "head_dim", "latency_ms"}},
      {"a layer's kernel table", {"layer", "tokens", "time_us"}},
      {"a layer's kernel table by sequences", {"layer", "sequences", "time_us"}},
      {"a layer's attention table",
       {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"}},
      {"step times", {"time_us", "decodes", "decode_context"}},
      {"serving points",
       {"isl", "osl", "concurrency", "tp_size", "silicon_ttft_ms", "silicon_tpot_ms"}},
      {"a request log", {"input_toks", "output_toks", "arrival_s", "last_token_s"}},
      {"an engine's counters", {"t", "running", "waiting"}},
  };
}

std::vector<std::string_view> cells_of(std::string_view line) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t comma = std::min(line.find(','), line.size());
    std::string_view cell = line.substr(0, comma);
    if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"') {
      cell = cell.substr(1, cell.size() - 2);
    }
    out.push_back(cell);
    if (comma == line.size()) return out;
    line.remove_prefix(comma + 1);
  }
}

bool is_name(std::string_view cell) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !cell.empty() && letter(cell.front()) && std::all_of(cell.begin(), cell.end(), part);
}

std::vector<std::string_view> missing_of(const KnownForm& form,
                                         const std::vector<std::string_view>& cells) {
  std::vector<std::string_view> out;
  for (const std::string_view column : form.columns) {
    if (std::find(cells.begin(), cells.end(), column) == cells.end()) out.push_back(column);
  }
  return out;
}

}  // namespace

bool is_table_header(std::string_view line) {
  const std::vector<std::string_view> cells = cells_of(line);
  return cells.size() > 1 && std::all_of(cells.begin(), cells.end(), is_name);
}

void refuse_unknown_data(const std::string& path, std::string_view header) {
  const std::vector<KnownForm> known = forms();
  std::string all;
  for (const KnownForm& form : known) {
    all +=
        fmt::format("{}{} ({})", all.empty() ? "" : "; ", form.what, fmt::join(form.columns, ","));
  }
  if (header.empty()) {
    throw InputError(Fault::kTrace, {path, 0, ""}, "is empty; expected one of: " + all);
  }
  const std::vector<std::string_view> cells = cells_of(header);
  const auto score = [&](const KnownForm& form) {
    const auto missing = static_cast<double>(missing_of(form, cells).size());
    return 1 - missing / static_cast<double>(form.columns.size());
  };
  const auto nearest =
      std::max_element(known.begin(), known.end(),
                       [&](const KnownForm& a, const KnownForm& b) { return score(a) < score(b); });
  if (score(*nearest) >= 0.5) {
    throw InputError(
        Fault::kTrace, {path, 1, "header"},
        fmt::format("is closest to {}, which needs {}; missing: {}; found {}", nearest->what,
                    fmt::join(nearest->columns, ","), fmt::join(missing_of(*nearest, cells), ","),
                    header.substr(0, 200)));
  }
  throw InputError(
      Fault::kTrace, {path, 1, "header"},
      fmt::format("expected the columns of one of: {}; found {}", all, header.substr(0, 200)));
}

}  // namespace spillway

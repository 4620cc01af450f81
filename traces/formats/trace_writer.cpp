#include "traces/formats/trace_writer.hpp"

#include <utility>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "sim/units.hpp"
#include "traces/formats/binary_trace.hpp"
#include "traces/formats/mooncake_jsonl.hpp"
#include "traces/formats/native_jsonl.hpp"
#include "traces/formats/text_sink.hpp"
#include "traces/reshape/workload_rows.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kOwnBlock = 0x6f776e20626c6f63ULL;  // keeps clear of small named ids
constexpr std::size_t kFlushAt = std::size_t{1} << 18;

/// Milliseconds without loss: a whole number where it is one, else up to six decimals.
void append_ms(fmt::memory_buffer& out, std::int64_t ns) {
  fmt::format_to(std::back_inserter(out), "{}", ns / 1'000'000);
  std::int64_t rest = ns % 1'000'000;
  if (rest == 0) return;
  int digits = 6;
  for (; rest % 10 == 0; rest /= 10) --digits;
  fmt::format_to(std::back_inserter(out), ".{:0{}}", rest, digits);
}

/// A string as JSON spells it.
void append_quoted(fmt::memory_buffer& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

/// A CSV cell cannot hold what ends its line.
bool fits_cell(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
}

/// As RFC 4180 has it.
void append_cell(fmt::memory_buffer& out, std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return out.append(text);
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back(c);
    out.push_back(c);
  }
  out.push_back('"');
}

void append_list(fmt::memory_buffer& out, const std::vector<std::uint64_t>& values,
                 std::string_view separator) {
  std::string_view between;
  for (const std::uint64_t value : values) {
    out.append(between);
    fmt::format_to(std::back_inserter(out), "{}", value);
    between = separator;
  }
}

/// Whether each turn waited for the one before it in its session, as readers of plain rows take it.
bool links_follow_sessions(const Workload& workload) {
  if (!workload.has_sessions()) return workload.columns().after_begin.empty();
  std::vector<std::uint32_t> last;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const std::uint32_t session = workload.columns().session[i];
    if (session >= last.size()) last.resize(session + std::size_t{1}, kNoIndex);
    const std::span<const RequestId> after = workload.after(RequestId{i});
    const bool follows = last[session] == kNoIndex
                             ? after.empty()
                             : after.size() == 1 && raw(after.front()) == last[session];
    if (!follows) return false;
    last[session] = i;
  }
  return true;
}

bool fits_plain_rows(const Workload& workload, bool links) {
  const WorkloadColumns& c = workload.columns();
  if (links || workload.block_tokens() != kMooncakeBlockTokens || !c.think_ns.empty() ||
      !c.tenant.empty() || !c.retention.empty() || !c.hints.empty()) {
    return false;
  }
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const std::int64_t all = ceil_div(c.input_tokens[i], workload.block_tokens());
    if (static_cast<std::int64_t>(workload.chain(RequestId{i}).size()) != all) return false;
  }
  return true;
}

void append_rule(fmt::memory_buffer& text, const RetentionRule& rule) {
  fmt::format_to(std::back_inserter(text), "{}, ", rule.priority);
  if (rule.duration) {
    append_ms(text, rule.duration->count());
  } else {
    text.append(std::string_view("null"));
  }
  text.push_back(']');
}

void append_retention(fmt::memory_buffer& text, const KvRetention& says) {
  const auto out = std::back_inserter(text);
  if (says.prompt) {
    fmt::format_to(out, ", \"{}\": [", kRetentionKey);
    for (const RetentionRange& range : *says.prompt) {
      const bool open = range.end == RetentionRange().end;
      fmt::format_to(out, "{}[{}, {}, ", &range == says.prompt->data() ? "" : ", ", range.begin,
                     open ? "null" : fmt::to_string(range.end));
      append_rule(text, range.rule);
    }
    text.push_back(']');
  }
  if (says.decode) {
    fmt::format_to(out, ", \"{}\": [", kDecodeRetentionKey);
    append_rule(text, *says.decode);
  }
}

void append_hints(fmt::memory_buffer& text, const StoreHints& hints) {
  const auto out = std::back_inserter(text);
  if (hints.soft()) fmt::format_to(out, ", \"{}\": true", kSoftPinKey);
  if (hints.hard()) fmt::format_to(out, ", \"{}\": true", kHardPinKey);
  if (hints.polls == 0) return;
  fmt::format_to(out, ", \"{}\": [", kPollKey);
  append_ms(text, hints.poll_interval.count());
  fmt::format_to(out, ", {}]", hints.polls);
}

/// One request as a row; `links` names the requests that it waited for.
void fill_row(const Workload& workload, RequestId r, bool links, TraceRow& row) {
  put_row(workload, r, row);
  if (!links) {
    row.id.reset();
    row.after.clear();
  }
  row.identified = !row.blocks.empty() || row.input_tokens < workload.block_tokens();
}

}  // namespace

TextTraceWriter::TextTraceWriter(const std::string& path, const TextLayout& layout)
    : path_(path), layout_(layout), sink_(open_text_sink(path)) {
  KV_ASSERT(layout.block_tokens > 0, "blocks of no tokens");
  if (layout.form == TextForm::kNative) {
    fmt::format_to(std::back_inserter(text_), "{{\"spillway_trace\": {}, \"block_tokens\": {}}}\n",
                   kNativeVersion, layout.block_tokens);
  } else if (layout.form == TextForm::kCsv) {
    fmt::format_to(std::back_inserter(text_),
                   "timestamp_ms,input_length,output_length,{}{}{}hash_ids\n",
                   layout.sessions ? "session_id," : "", layout.tenants ? "tenant," : "",
                   layout.pauses ? "think_ms," : "");
  }
}

TextTraceWriter::~TextTraceWriter() = default;

void TextTraceWriter::add(const TraceRow& row) {
  if (layout_.form == TextForm::kCsv) {
    csv_row(row);
  } else {
    json_row(row);
  }
  text_.push_back('\n');
  ++rows_;
  if (layout_.form != TextForm::kNative) {
    linked_rows_ += row.after.empty() ? 0 : 1;
    thinking_rows_ += row.think_ns >= 0 && !layout_.pauses ? 1 : 0;
    const bool held = layout_.tenants && fits_cell(row.tenant);
    tenant_rows_ += row.tenant.empty() || held ? 0 : 1;
    retention_rows_ += row.retention == KvRetention() ? 0 : 1;
    hint_rows_ += row.hints == StoreHints() ? 0 : 1;
    session_rows_ += row.session && layout_.form == TextForm::kAiperf ? 1 : 0;
  }
  if (text_.size() > kFlushAt) flush();
}

void TextTraceWriter::json_row(const TraceRow& row) {
  const auto out = std::back_inserter(text_);
  text_.append(std::string_view("{\"timestamp\": "));
  append_ms(text_, row.arrival_ns);
  fmt::format_to(out, ", \"input_length\": {}, \"output_length\": {}", row.input_tokens,
                 row.output_tokens);
  if (row.session && layout_.form != TextForm::kAiperf) {
    fmt::format_to(out, ", \"session_id\": {}", *row.session);
  }
  if (layout_.form == TextForm::kNative) {
    if (row.id) fmt::format_to(out, ", \"id\": {}", *row.id);
    if (!row.after.empty()) {
      text_.append(std::string_view(", \"after\": ["));
      append_list(text_, row.after, ", ");
      text_.push_back(']');
    }
    if (row.think_ns >= 0) {
      text_.append(std::string_view(", \"think_ms\": "));
      append_ms(text_, row.think_ns);
    }
    if (!row.tenant.empty()) {
      text_.append(std::string_view(", \"tenant\": "));
      append_quoted(text_, row.tenant);
    }
    append_retention(text_, row.retention);
    append_hints(text_, row.hints);
  }
  if (row.identified || layout_.form != TextForm::kNative) {
    text_.append(std::string_view(", \"hash_ids\": ["));
    ids(row, ", ");
    text_.push_back(']');
  }
  text_.push_back('}');
}

void TextTraceWriter::csv_row(const TraceRow& row) {
  append_ms(text_, row.arrival_ns);
  fmt::format_to(std::back_inserter(text_), ",{},{},", row.input_tokens, row.output_tokens);
  if (layout_.sessions) {
    if (row.session) fmt::format_to(std::back_inserter(text_), "{}", *row.session);
    text_.push_back(',');
  }
  if (layout_.tenants) {
    if (fits_cell(row.tenant)) append_cell(text_, row.tenant);
    text_.push_back(',');
  }
  if (layout_.pauses) {
    if (row.think_ns >= 0) append_ms(text_, row.think_ns);
    text_.push_back(',');
  }
  ids(row, " ");
}

/// Plain rows name every block, the partial one too, and CSV all or all full ones: what a row does
/// not name is its own.
void TextTraceWriter::ids(const TraceRow& row, std::string_view separator) {
  append_list(text_, row.blocks, separator);
  if (layout_.form == TextForm::kNative) return;
  const std::int64_t all = ceil_div(row.input_tokens, layout_.block_tokens);
  auto have = static_cast<std::int64_t>(row.blocks.size());
  const bool full = have == row.input_tokens / layout_.block_tokens;
  if (layout_.form == TextForm::kCsv && full && row.identified) return;
  padded_rows_ += have < all ? 1 : 0;
  for (; have < all; ++have) {
    if (have > 0) text_.append(separator);
    fmt::format_to(std::back_inserter(text_), "{}", mix64(kOwnBlock + own_blocks_++));
  }
}

void TextTraceWriter::flush() {
  sink_->write({text_.data(), text_.size()});
  text_.clear();
}

void TextTraceWriter::finish() {
  flush();
  sink_->finish();
}

std::vector<std::string> TextTraceWriter::losses() const {
  std::vector<std::string> out;
  const auto say = [&](std::uint64_t rows, std::string_view what) {
    if (rows > 0) out.push_back(fmt::format("{}: {} {} of {} rows", path_, what, rows, rows_));
  };
  say(padded_rows_, "ids made up for blocks that have none, in");
  say(linked_rows_, "lost which answers a request waited for, in");
  say(thinking_rows_, "lost the pause before a request, in");
  say(tenant_rows_, "lost the tenant, in");
  say(retention_rows_, "lost how long KV is kept, in");
  say(hint_rows_, "lost what a request asks of a store, in");
  say(session_rows_, "lost the session, in");
  if (layout_.form != TextForm::kNative && layout_.block_tokens != kMooncakeBlockTokens) {
    const bool aiperf = layout_.form == TextForm::kAiperf;
    out.push_back(fmt::format("{}: does not say its block size; read it with {} {}", path_,
                              aiperf ? "--isl-block-size" : "--block-tokens",
                              layout_.block_tokens));
  }
  return out;
}

TextForm text_form_of(std::string_view path, TextForm jsonl) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  if (name.ends_with(".jsonl") || name == "-") return jsonl;
  if (name.ends_with(".csv")) return TextForm::kCsv;
  throw InputError(Fault::kUsage, {std::string(path), 0, ""},
                   "cannot tell the format from the name; expected .bin, or .jsonl or .csv, the "
                   "latter two optionally with .gz or .zst behind");
}

std::vector<std::string> write_trace(const Workload& workload, const std::string& path,
                                     std::optional<TextForm> json) {
  if (path.ends_with(".bin")) {
    write_binary_trace(workload, path);
    return {};
  }
  const WorkloadColumns& c = workload.columns();
  TextLayout layout{TextForm::kNative, workload.block_tokens(), workload.has_sessions()};
  const bool links = !links_follow_sessions(workload);
  const bool plain = fits_plain_rows(workload, links);
  layout.form = text_form_of(path, json.value_or(plain ? TextForm::kMooncake : TextForm::kNative));
  layout.tenants = layout.form == TextForm::kCsv && !c.tenant.empty();
  layout.pauses = layout.form == TextForm::kCsv && !c.think_ns.empty();
  TextTraceWriter writer(path, layout);
  TraceRow row;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    fill_row(workload, RequestId{i}, links, row);
    writer.add(row);
  }
  writer.finish();
  return writer.losses();
}

}  // namespace spillway

#include "scenarios/request_log.hpp"

#include <fmt/format.h>

#include "reports/csv.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

void append_seconds(fmt::memory_buffer& out, Time t) {
  if (t == kNever) {
    out.push_back(',');
    return;
  }
  const std::int64_t ns = nanoseconds_of(t);
  fmt::format_to(std::back_inserter(out), "{}.{:09},", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

void RequestLog::write(const std::string& path, const std::vector<TierResult>& tiers) const {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(
      out, "request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens");
  for (const TierResult& tier : tiers)
    fmt::format_to(out, ",{}", csv_cell("cached_tokens_" + tier.name));
  fmt::format_to(out, ",preemptions,status,reason\n");
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const RequestRecord& r = records_[i];
    fmt::format_to(out, "{},", i);
    append_seconds(text, r.arrival);
    append_seconds(text, r.scheduled);
    append_seconds(text, r.first_token);
    append_seconds(text, r.finish);
    fmt::format_to(out, "{},{}", r.input_tokens, r.output_tokens);
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
      fmt::format_to(out, ",{}", r.cached_tokens[tier]);
    }
    fmt::format_to(out, ",{},{},{}\n", r.preemptions, name_of(r.status), name_of(r.reason));
  }
  write_file(path, {text.data(), text.size()});
}

}  // namespace spillway

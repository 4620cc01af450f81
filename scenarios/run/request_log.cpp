#include "scenarios/run/request_log.hpp"

#include <fmt/format.h>

#include "reports/renderers/csv.hpp"
#include "sim/output_file.hpp"

namespace spillway {

void RequestLog::write(const std::string& path, const std::vector<TierResult>& tiers) const {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(
      out, "request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens");
  for (const TierResult& tier : tiers)
    fmt::format_to(out, ",{}", csv_cell("cached_tokens_" + tier.name));
  fmt::format_to(out, ",preemptions,status,reason,due_s");
  for (std::size_t i = 0; i < kTtftStages; ++i) {
    fmt::format_to(out, ",{}_s", name_of(static_cast<TtftStage>(i)));
  }
  text.push_back('\n');
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const RequestRecord& r = records_[i];
    fmt::format_to(out, "{}", i);
    for (const Time t : {r.arrival, r.scheduled, r.first_token, r.finish}) {
      text.push_back(',');
      append_seconds(text, t);
    }
    fmt::format_to(out, ",{},{}", r.input_tokens, r.output_tokens);
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
      fmt::format_to(out, ",{}", r.cached_tokens[tier]);
    }
    fmt::format_to(out, ",{},{},{},", r.preemptions, name_of(r.status), name_of(r.reason));
    append_seconds(text, r.due);
    for (const Duration part : r.ttft) {
      text.push_back(',');
      append_seconds(text, r.status == RequestStatus::kCompleted ? Time(part) : kNever);
    }
    text.push_back('\n');
  }
  write_file(path, {text.data(), text.size()});
}

}  // namespace spillway

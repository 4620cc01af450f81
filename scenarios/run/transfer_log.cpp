#include "scenarios/run/transfer_log.hpp"

#include <fmt/format.h>

#include "reports/renderers/csv.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {
constexpr std::string_view kHbm = "hbm";
}  // namespace

void TransferLog::write(const std::string& path, const std::vector<LinkResult>& links) const {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "link,direction,submitted_s,started_s,ended_s,bytes,copies\n");
  for (const TransferRecord& r : records_) {
    const LinkResult& link = links[r.link];
    const std::string_view direction = link.to == kHbm ? "h2d" : link.from == kHbm ? "d2h" : "host";
    fmt::format_to(out, "{},{}", csv_cell(link.name), direction);
    for (const Time t : {r.submitted, r.started, r.ended}) {
      text.push_back(',');
      append_seconds(text, t);
    }
    fmt::format_to(out, ",{},{}\n", r.payload.count(), r.copies);
  }
  write_file(path, {text.data(), text.size()});
}

}  // namespace spillway

#include "reports/run/stages.hpp"

namespace spillway {

Chart ttft_chart(const RunResult&) {
  return {};
}

Table slowest_table(const RunResult&) {
  return {};
}

std::vector<std::string> slowest_sentences(const RunResult&, std::size_t) {
  return {};
}

Chart link_heatmap(const RunResult&) {
  return {};
}

}  // namespace spillway

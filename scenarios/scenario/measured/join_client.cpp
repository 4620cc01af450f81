// Beside each request of an engine's log what its client saw, where a client's log has it too.
#include <algorithm>
#include <map>

#include "scenarios/scenario/measured/measured_parts.hpp"

namespace spillway {

namespace {

/// What to join: completed rows with all that a client sees, in order of their start.
std::vector<std::size_t> in_order(const RequestLogFile& log) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < log.rows.size(); ++i) {
    if (log.rows[i].completed && log.rows[i].usable()) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return log.rows[a].at(RequestField::kArrival) < log.rows[b].at(RequestField::kArrival);
  });
  return out;
}

void take_view(LoggedRequest& row, const LoggedRequest& client) {
  const double sent = client.at(RequestField::kArrival);
  row.client_sent_s = sent;
  if (client.knows(RequestField::kFirstToken)) {
    row.client_ttft_s = client.at(RequestField::kFirstToken) - sent;
  }
}

}  // namespace

void join_client(RequestLogFile& engine, const RequestLogFile& client,
                 std::vector<std::string>& notes) {
  const std::vector<std::size_t> rows = in_order(engine);
  const std::vector<std::size_t> seen = in_order(client);
  std::map<std::string, std::size_t> by_id;
  for (const std::size_t i : seen) by_id.emplace(client.rows[i].id, i);
  const bool ids = std::any_of(rows.begin(), rows.end(), [&](std::size_t i) {
    return !engine.rows[i].id.empty() && by_id.contains(engine.rows[i].id);
  });
  if (ids) {
    for (const std::size_t i : rows) {
      const auto at = by_id.find(engine.rows[i].id);
      if (at != by_id.end()) take_view(engine.rows[i], client.rows[at->second]);
    }
    return;
  }
  const bool alike =
      rows.size() == seen.size() &&
      std::equal(rows.begin(), rows.end(), seen.begin(), [&](std::size_t a, std::size_t b) {
        return engine.rows[a].output_tokens == client.rows[b].output_tokens;
      });
  if (!alike) {
    notes.push_back(
        fmt::format("{}: its requests are not those of {}, by id or in order; only the "
                    "engine's log is used",
                    client.path, engine.path));
    return;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    take_view(engine.rows[rows[k]], client.rows[seen[k]]);
  }
}

}  // namespace spillway

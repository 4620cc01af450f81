// What a trace is like, from the results of `trace stats`: parts that the reports of traces and of
// plans share. Charts have no series (no cells) where the trace has nothing for them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/report.hpp"

namespace spillway {

/// Lengths, arrivals and what they do over time.
Section arrivals_section(const nlohmann::json& stats);
Section reuse_section(const nlohmann::json& stats);
/// Sessions and tenants; `tenants`: how many there are, of which `stats` may name the largest.
Section clients_section(const nlohmann::json& stats, std::uint64_t tenants);
/// Format, rows and hash; `trace` as in a document's inputs.
Table source_table(const nlohmann::json& trace, const nlohmann::json& stats);

/// Requests per minute over time.
Chart rate_chart(const nlohmann::json& stats);
/// The same as a map: days by hours, or shorter stretches of a shorter trace.
Chart rate_heatmap(const nlohmann::json& stats);
Chart lengths_chart(const nlohmann::json& stats);
/// Hit ratio of LRU by capacity in blocks.
Chart curve_chart(const nlohmann::json& stats);
/// In GiB where a block's bytes are known (not 0), else in blocks.
Chart working_set_chart(const nlohmann::json& stats, double bytes_per_block);

}  // namespace spillway

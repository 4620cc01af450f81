// The Azure LLM inference traces of 2023 and 2024 (Azure/AzurePublicDataset, CC-BY 4.0).
//
//   TIMESTAMP,ContextTokens,GeneratedTokens
//   2023-11-16 18:15:46.6805900,374,44
//   2024-05-10 00:00:00.009930+00:00,2162,5
//
// Times are exact to the nanosecond and count from the first row; one without an offset is UTC. The
// traces name neither prefixes nor sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// An instant of the civil calendar.
struct CivilTime {
  std::int64_t seconds = 0;  ///< since 1970-01-01 00:00 UTC
  std::int32_t nanos = 0;    ///< 0 to 999,999,999
};

/// "YYYY-MM-DD HH:MM:SS", a T in place of the space, up to nine decimals, then nothing, Z or an
/// offset +HH:MM or -HH:MM. Nothing where the text is not one, or names a day or an hour that there
/// is not.
std::optional<CivilTime> parse_civil_time(std::string_view text);

bool looks_like_azure(std::string_view first_line);
std::unique_ptr<TraceReader> make_azure_reader(std::unique_ptr<LineReader> lines,
                                               const ReaderOptions& options);

}  // namespace spillway

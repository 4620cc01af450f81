// How a status is shown: its word, its symbol, its class in a page.
#pragma once

#include <string_view>

#include "reports/report.hpp"

namespace spillway {

/// What a cell's word says: "met", "missed (3 replicates)", "uncertain", "pass", "down" and the
/// like; kNone: it is about something else.
Status status_of(std::string_view cell);

/// "✔", "?", "✖"; empty for none.
std::string_view symbol_of(Status status);
/// "good", "unsure", "bad"; empty for none.
std::string_view class_of(Status status);
/// "met", "uncertain", "missed"; empty for none.
std::string_view word_of(Status status);

}  // namespace spillway

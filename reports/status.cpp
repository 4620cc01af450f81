#include "reports/status.hpp"

#include <array>
#include <utility>

namespace spillway {

namespace {

constexpr std::array<std::pair<std::string_view, Status>, 18> kWords = {
    {{"met", Status::kMet},
     {"meets", Status::kMet},
     {"yes", Status::kMet},
     {"pass", Status::kMet},
     {"passed", Status::kMet},
     {"holds", Status::kMet},
     {"agrees", Status::kMet},
     {"uncertain", Status::kUncertain},
     {"not decided", Status::kUncertain},
     {"missed", Status::kMissed},
     {"misses", Status::kMissed},
     {"no", Status::kMissed},
     {"fail", Status::kMissed},
     {"failed", Status::kMissed},
     {"fails", Status::kMissed},
     {"down", Status::kMissed},
     {"no service", Status::kMissed},
     {"lacking", Status::kMissed}}};

}  // namespace

Status status_of(std::string_view cell) {
  // A reason in brackets may follow, and nothing else: a sentence is no verdict.
  const std::string_view word = cell.substr(0, cell.find(" ("));
  if (word.size() < cell.size() && !cell.ends_with(')')) return Status::kNone;
  for (const auto& [name, status] : kWords) {
    if (word == name) return status;
  }
  return Status::kNone;
}

std::string_view symbol_of(Status status) {
  constexpr std::array<std::string_view, 4> kSymbols = {"", "\u2714", "?", "\u2716"};
  return kSymbols[static_cast<std::size_t>(status)];
}

std::string_view class_of(Status status) {
  constexpr std::array<std::string_view, 4> kClasses = {"", "good", "unsure", "bad"};
  return kClasses[static_cast<std::size_t>(status)];
}

std::string_view word_of(Status status) {
  constexpr std::array<std::string_view, 4> kNames = {"", "met", "uncertain", "missed"};
  return kNames[static_cast<std::size_t>(status)];
}

}  // namespace spillway

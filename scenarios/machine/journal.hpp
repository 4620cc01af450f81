// Rows on disk as they come, so that a calibration that was cut short goes on where it was.
//
// A file of JSON lines: the first says which machine and command, each other is one measured cell.
// A later line of the same cell replaces the one before.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/machine/cell_runner.hpp"

namespace spillway {

/// What an earlier run left.
struct JournalContent {
  std::string created;
  std::string machine_hash;
  double spent_s = 0;                          ///< of the budget, up to its last row
  std::map<std::string, nlohmann::json> rows;  ///< by RunCell::key()
  bool torn = false;                           ///< the last line was cut off, and is dropped
};

/// Where the rows of a profile that is written to `profile` are kept meanwhile.
std::string journal_path(const std::string& profile);

/// Without a hash where not even the first line is whole. Throws InputError: exit 7 where it cannot
/// be read, 2 where a line is none of a journal.
JournalContent read_journal(const std::string& path);

class Journal {
 public:
  /// Begins a new file.
  Journal(std::string path, const std::string& created, const std::string& machine_hash);
  /// Goes on with the file that `content` was read from, without its torn line.
  Journal(std::string path, const JournalContent& content);

  /// Throws InputError (exit 7) where it cannot be written.
  void append(const RunCell& cell, double spent_s);
  void remove();

 private:
  void line(const nlohmann::json& value);

  std::string path_;
  std::ofstream file_;
};

}  // namespace spillway

// A new SQLite database: complete under its name, or absent.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/temporary_file.hpp"

namespace spillway {

/// Written beside the target in one transaction, then renamed over it. Throws InputError (exit 7)
/// where it cannot be written, exit 2 where something else than a database has that name.
class NewDatabase {
 public:
  explicit NewDatabase(std::string path);
  ~NewDatabase();
  NewDatabase(const NewDatabase&) = delete;
  NewDatabase& operator=(const NewDatabase&) = delete;

  void run(const std::string& sql);
  void commit();

 private:
  friend class Insertion;
  [[noreturn]] void fail(const char* what);

  std::string path_;
  std::optional<TemporaryFile> temporary_;
  sqlite3* handle_ = nullptr;
};

/// One prepared INSERT; values are bound from left to right, then added as a row.
class Insertion {
 public:
  Insertion(NewDatabase& database, const std::string& sql);
  ~Insertion();
  Insertion(const Insertion&) = delete;
  Insertion& operator=(const Insertion&) = delete;

  void text(std::string_view value);
  void integer(std::int64_t value);
  void real(double value);
  void nothing();
  void add();

 private:
  void check(int status);

  NewDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// A name as SQL quotes it.
std::string sql_name(std::string_view name);

}  // namespace spillway

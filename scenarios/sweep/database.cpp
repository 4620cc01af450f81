#include "scenarios/sweep/database.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/error.hpp"
#include "sim/input_file.hpp"

namespace spillway {

namespace {

constexpr std::string_view kMagic = "SQLite format 3";

/// A result may be made anew; anything else of that name is not ours.
void refuse_other_files(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return;
  if (read_head(path, kMagic.size()) != kMagic) {
    throw InputError(Fault::kUsage, {path, 0, ""},
                     "is there and is no SQLite database; expected another name");
  }
}

}  // namespace

NewDatabase::NewDatabase(std::string path) : path_(std::move(path)) {
  refuse_other_files(path_);
  // An empty file is an empty database. No network, one process: a plain file. It is renamed when
  // complete, so it needs no journal.
  if (sqlite3_open(temporary_.emplace(path_).path().c_str(), &handle_) != SQLITE_OK)
    fail("cannot open for writing");
  run("PRAGMA journal_mode = OFF");
  run("PRAGMA synchronous = OFF");
  run("BEGIN");
}

NewDatabase::~NewDatabase() {
  if (handle_ != nullptr) sqlite3_close(handle_);
}

void NewDatabase::fail(const char* what) {
  const std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
  throw InputError(Fault::kIo, {path_, 0, ""}, fmt::format("{}: {}", what, why));
}

void NewDatabase::run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot write");
  }
}

void NewDatabase::commit() {
  run("COMMIT");
  const int closed = sqlite3_close(handle_);
  KV_ASSERT(closed == SQLITE_OK, "a statement outlives its database");
  handle_ = nullptr;
  temporary_->rename_into_place();
}

Insertion::Insertion(NewDatabase& database, const std::string& sql) : database_(database) {
  check(sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &statement_, nullptr));
}

Insertion::~Insertion() {
  sqlite3_finalize(statement_);
}

void Insertion::check(int status) {
  if (status != SQLITE_OK) database_.fail("cannot write");
}

void Insertion::text(std::string_view value) {
  check(sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Insertion::integer(std::int64_t value) {
  check(sqlite3_bind_int64(statement_, ++bound_, value));
}

void Insertion::real(double value) {
  check(sqlite3_bind_double(statement_, ++bound_, value));
}

void Insertion::nothing() {
  check(sqlite3_bind_null(statement_, ++bound_));
}

void Insertion::add() {
  if (sqlite3_step(statement_) != SQLITE_DONE) database_.fail("cannot write");
  check(sqlite3_reset(statement_));
  bound_ = 0;
}

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace spillway

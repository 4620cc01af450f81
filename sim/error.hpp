// Errors: what the user's input caused (InputError), and what a bug of ours caused (KV_ASSERT).
//
// InputError says what was found and what was expected, with file, line and field, and carries the
// exit code of the command line. It is caught only in main(). KV_ASSERT stays on in release builds;
// the run loop adds simulated time, event number and seed before the message reaches the user.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace spillway {

/// Exit codes of the command line.
enum class Fault : int {
  kUsage = 2,         ///< usage, scenario or profile content
  kTrace = 3,         ///< trace content
  kInfeasible = 4,    ///< no feasible size
  kInconclusive = 5,  ///< undecided at budget
  kIo = 7,            ///< cannot open, a directory, disk full, out of memory
  kInternal = 70,     ///< internal invariant broken
};

/// Where in the user's input something stands. Line 0 means "the file as a whole".
struct SourceRef {
  std::string file;
  std::int64_t line = 0;
  std::string field;

  /// "file:line: field: ", with the parts that are known.
  std::string prefix() const;
};

class InputError : public std::runtime_error {
 public:
  InputError(Fault fault, const SourceRef& where, const std::string& message)
      : std::runtime_error(where.prefix() + message),
        fault_(fault),
        where_(where),
        message_(message) {}
  Fault fault() const { return fault_; }
  const SourceRef& where() const { return where_; }
  const std::string& message() const { return message_; }  ///< what() without the place

 private:
  Fault fault_;
  SourceRef where_;
  std::string message_;
};

/// What a scenario describes takes longer than the clock can hold. simulate() says which rate.
class ClockOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant: always a defect of the program, never of its input.
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   const std::string& message);
}  // namespace detail

/// KV_ASSERT(condition, "format {}", args...): on in every build.
#define KV_ASSERT(condition, ...)                                          \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::spillway::detail::assertion_failed(#condition, __FILE__, __LINE__, \
                                           ::fmt::format(__VA_ARGS__));    \
    }                                                                      \
  } while (false)

}  // namespace spillway

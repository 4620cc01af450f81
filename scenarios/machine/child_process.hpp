// A child process that is spoken to line by line, without a shell; it never outlives its owner.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

bool can_run(const std::string& path);
/// `path`; throws InputError (exit 7) at `where`, which named it, when it cannot be started.
std::string named_program(const std::string& path, std::string_view where);
/// Where PATH has a program of that name; empty: nowhere.
std::string find_program(const std::string& name);

class ChildProcess {
 public:
  enum class Read { kLine, kTimeout, kClosed, kTooLong };

  /// Starts `program` with its standard input and output connected to this object and its standard
  /// error discarded. It has its own process group: an interrupt from the terminal is for us, and
  /// its end follows. Throws InputError (exit 7) when it cannot be started.
  explicit ChildProcess(const std::string& program, std::vector<std::string> arguments = {});
  /// Closes the connection, gives the child a moment to end, then kills it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when the child no longer reads, or reads nothing for `timeout_s`.
  bool write(std::string_view text, double timeout_s);
  /// The next line, without its newline. At most `most` bytes.
  Read read_line(std::string& line, double timeout_s, std::size_t most = std::size_t{64} << 20);
  /// Ends the child, where it does not by itself within `patience_s`, and says how it ended:
  /// "exit code 3", "signal 11".
  std::string end(double patience_s = 0.5);

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string buffer_;
  std::string ended_;
};

}  // namespace spillway

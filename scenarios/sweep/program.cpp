#include "scenarios/sweep/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sim/error.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

[[noreturn]] void fail(const std::string& program, int error) {
  throw InputError(Fault::kIo, {program, 0, ""},
                   fmt::format("cannot start: {}", std::strerror(error)));
}

/// A pipe whose ends close themselves, for the one stream of a child that it carries.
class Pipe {
 public:
  explicit Pipe(const std::string& program) {
    if (!open_pipe(ends_.data())) fail(program, errno);
  }
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Reads both streams until both are closed, so that neither can fill up and block the child.
void drain(const Pipe& out, const Pipe& err, ProgramEnd& end) {
  std::array<pollfd, 2> open{pollfd{out.reading(), POLLIN, 0}, pollfd{err.reading(), POLLIN, 0}};
  const std::array<std::string*, 2> into{&end.out, &end.err};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 1 << 14> chunk{};
      const ssize_t got = read(open[i].fd, chunk.data(), chunk.size());
      if (got > 0) {
        into[i]->append(chunk.data(), static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        open[i].fd = -1;  // poll leaves it out
      }
    }
  }
}

pid_t start(const std::vector<std::string>& arguments, const Pipe& out, const Pipe& err,
            std::string_view without) {
  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (without.empty() || !std::string_view(*entry).starts_with(without)) {
      variables.push_back(*entry);
    }
  }
  variables.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writing(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // We may have signals blocked (Interrupt); it must not inherit that.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error =
      posix_spawnp(&child, argv.front(), &actions, &attributes, argv.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(arguments.front(), error);
  return child;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments, std::string_view without) {
  KV_ASSERT(!arguments.empty(), "no program to run");
  Pipe out(arguments.front());
  Pipe err(arguments.front());
  const pid_t child = start(arguments, out, err, without);
  out.close_writing();
  err.close_writing();
  ProgramEnd end;
  drain(out, err, end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail(arguments.front(), errno);
  }
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

std::string own_program() {
  std::error_code error;
  const std::string path = this_program_file();
  if (path.empty() || !std::filesystem::exists(path, error)) {
    throw InputError(Fault::kIo, {this_program(), 0, ""},
                     "cannot find this program's file, which workers are started from");
  }
  return path;
}

}  // namespace spillway

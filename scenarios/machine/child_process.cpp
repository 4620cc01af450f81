#include "scenarios/machine/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "sim/error.hpp"

namespace spillway {

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6)));
}

/// Waits until the socket can be used as `events` says; false at the deadline.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd fd{socket, events, 0};
    const int ready =
        poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

bool can_run(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string named_program(const std::string& path, std::string_view where) {
  if (can_run(path)) return path;
  throw InputError(Fault::kIo, {std::string(where), 0, ""},
                   fmt::format("expected a program that can be started, found \"{}\"", path));
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, colon)) + "/" + name;
    if (can_run(file)) return file;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

ChildProcess::ChildProcess(const std::string& program, std::vector<std::string> arguments) {
  const auto fail = [&](int error) {
    throw InputError(Fault::kIo, {program, 0, ""},
                     fmt::format("cannot start: {}", std::strerror(error)));
  };
  // A socket, not pipes: writing to a child that is gone is an error then, and no signal.
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  socket_ = ends[0];
  if (error != 0) {
    close(socket_);
    fail(error);
  }
}

ChildProcess::~ChildProcess() {
  end();
}

bool ChildProcess::write(std::string_view text, double timeout_s) {
  while (!text.empty() && socket_ >= 0) {
    const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket_, POLLOUT, deadline_after(timeout_s))) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return socket_ >= 0;
}

ChildProcess::Read ChildProcess::read_line(std::string& line, double timeout_s, std::size_t most) {
  const Clock::time_point deadline = deadline_after(timeout_s);
  std::size_t searched = 0;
  for (;;) {
    const std::size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos) {
      line.assign(buffer_, 0, newline);
      buffer_.erase(0, newline + 1);
      return Read::kLine;
    }
    searched = buffer_.size();
    if (searched > most) return Read::kTooLong;
    if (socket_ < 0) return Read::kClosed;
    if (!wait_for(socket_, POLLIN, deadline)) return Read::kTimeout;
    char chunk[1 << 16];
    const ssize_t got = recv(socket_, chunk, sizeof chunk, 0);
    if (got > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return Read::kClosed;
    }
  }
}

std::string ChildProcess::end(double patience_s) {
  if (pid_ < 0) return ended_;
  close(socket_);
  socket_ = -1;
  int status = 0;
  pid_t done = 0;
  const Clock::time_point deadline = deadline_after(patience_s);
  while ((done = waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (done == 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ended_ = "no end of its own, so it was killed";
  } else {
    ended_ = describe(status);
  }
  pid_ = -1;
  return ended_;
}

}  // namespace spillway

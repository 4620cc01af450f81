#include "scenarios/commands/ending.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <initializer_list>

#include "sim/at_end.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

// Static, because a handler may not allocate.
std::array<char, 4096> words_at_end;
std::atomic<std::size_t> words_at_end_size{0};

void write_error(const char* text, std::size_t size) {
  (void)!write(STDERR_FILENO, text, size);
}
void write_error(const char* text) {
  write_error(text, std::strlen(text));
}

/// Its default action is back by now (SA_RESETHAND), and follows once this returns.
void end_by(int signal) {
  remove_unfinished();
  write_error(words_at_end.data(), words_at_end_size);
  (void)raise(signal);
}

void end_by_shorter_file(int signal, siginfo_t* info, void*) {
  const char* path = mapped_file_at(info->si_addr);
  if (path == nullptr) {
    (void)raise(signal);
    return;
  }
  remove_unfinished();
  write_error("spillway: ");
  write_error(path);
  write_error(": became shorter while it was read; expected a file that nobody writes to\n");
  _exit(static_cast<int>(Fault::kIo));
}

/// Who started us under nohup, or in the background, wants it ignored.
bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void prepare_ending() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // Opened so that using it fails, as it does with a closed one.
    (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  struct sigaction action {};
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  action.sa_handler = end_by;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    if (!is_ignored(signal)) (void)sigaction(signal, &action, nullptr);
  }
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_SIGINFO);
  action.sa_sigaction = end_by_shorter_file;
  (void)sigaction(SIGBUS, &action, nullptr);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

LastWords::LastWords(const std::string& line) {
  const std::size_t size = std::min(line.size(), words_at_end.size());
  std::copy_n(line.begin(), size, words_at_end.begin());
  words_at_end_size = size;
}

LastWords::~LastWords() {
  words_at_end_size = 0;
}

Interrupt::Interrupt() {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&watched_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
}

Interrupt::~Interrupt() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupt::raised() {
  if (signal_ != 0) return true;
  const timespec at_once{};
  const int signal = sigtimedwait(&watched_, nullptr, &at_once);
  if (signal > 0) signal_ = signal;
  return signal_ != 0;
}

}  // namespace spillway

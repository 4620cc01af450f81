// How the program ends where a signal ends it, and how it waits to be ended.
#pragma once

#include <csignal>
#include <string>

namespace spillway {

/// First of all in main(). Streams 0 to 2 that are closed lead nowhere, so that no file takes their
/// place. SIGINT, SIGTERM, SIGHUP and SIGPIPE remove what is unfinished (sim/at_end.hpp), say the
/// last words, and end the program as they always do. A file that may not grow further (SIGXFSZ) is
/// a write that fails. A mapped file that somebody makes shorter (SIGBUS) is exit 7.
void prepare_ending();

/// Said on standard error where a signal ends the program while this lives. One at a time.
class LastWords {
 public:
  explicit LastWords(const std::string& line);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

/// SIGINT, SIGTERM and SIGHUP as a question: asked for while work is done, never in the middle of
/// it. They are blocked, in this thread and those it makes, and stay pending until asked about.
/// They act as before once the object is gone, those that nobody asked about as well.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether one has come. Of one thread only.
  bool raised();
  /// Its number; 0: none came.
  int signal() const { return signal_; }

 private:
  sigset_t watched_{};
  sigset_t before_{};
  int signal_ = 0;
};

}  // namespace spillway

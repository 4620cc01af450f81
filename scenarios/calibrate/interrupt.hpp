// SIGINT, SIGTERM and SIGHUP as a question: asked for while work is done, never in the middle of
// it.
//
// The signals are blocked, in this thread and those it makes, and stay pending until asked about;
// no handler runs. They act as before once the object is gone.
#pragma once

#include <csignal>

namespace spillway {

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

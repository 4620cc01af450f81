#include "scenarios/calibrate/interrupt.hpp"

#include <pthread.h>

#include <initializer_list>

namespace spillway {

Interrupt::Interrupt() {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // Who started us under nohup, or in the background, wants it ignored.
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&watched_, signal);
    }
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

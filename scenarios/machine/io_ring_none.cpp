// Where there is no ring.
#include <cerrno>

#include "scenarios/machine/io_ring.hpp"

namespace spillway {

struct IoRing::Kernel {};

IoRing::IoRing(std::uint32_t) : status_(-ENOSYS) {}
IoRing::~IoRing() = default;
void IoRing::queue(const Operation&) {}
void IoRing::submit() {}
int IoRing::wait(Done&) {
  return status_;
}
bool IoRing::peek(Done&) {
  return false;
}

}  // namespace spillway

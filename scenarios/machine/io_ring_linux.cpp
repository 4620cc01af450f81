// The ring of Linux, by liburing.
#include <liburing.h>

#include "scenarios/machine/io_ring.hpp"

namespace spillway {

struct IoRing::Kernel {
  io_uring ring{};
};

namespace {

IoRing::Done take(io_uring& ring, io_uring_cqe* cqe) {
  const IoRing::Done done{cqe->user_data, cqe->res};
  io_uring_cqe_seen(&ring, cqe);
  return done;
}

}  // namespace

IoRing::IoRing(std::uint32_t entries)
    : kernel_(std::make_unique<Kernel>()),
      status_(io_uring_queue_init(entries, &kernel_->ring, 0)) {}

IoRing::~IoRing() {
  if (status_ == 0) io_uring_queue_exit(&kernel_->ring);
}

void IoRing::queue(const Operation& o) {
  io_uring_sqe* sqe = io_uring_get_sqe(&kernel_->ring);
  if (o.write) {
    io_uring_prep_write(sqe, o.file, o.buffer, o.bytes, o.offset);
  } else {
    io_uring_prep_read(sqe, o.file, o.buffer, o.bytes, o.offset);
  }
  io_uring_sqe_set_data64(sqe, o.tag);
}

void IoRing::submit() {
  io_uring_submit(&kernel_->ring);
}

int IoRing::wait(Done& done) {
  io_uring_cqe* cqe = nullptr;
  const int status = io_uring_wait_cqe(&kernel_->ring, &cqe);
  if (status == 0) done = take(kernel_->ring, cqe);
  return status;
}

bool IoRing::peek(Done& done) {
  io_uring_cqe* cqe = nullptr;
  if (io_uring_peek_cqe(&kernel_->ring, &cqe) != 0) return false;
  done = take(kernel_->ring, cqe);
  return true;
}

}  // namespace spillway

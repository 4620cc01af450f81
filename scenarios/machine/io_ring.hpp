// Reads and writes that are queued to the kernel and complete in any order: io_uring.
// io_ring_linux.cpp is built on Linux; elsewhere io_ring_none.cpp, whose rings all refuse.
#pragma once

#include <cstdint>
#include <memory>

namespace spillway {

class IoRing {
 public:
  struct Operation {
    bool write = false;
    int file = -1;
    void* buffer = nullptr;
    std::uint32_t bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t tag = 0;  ///< of the caller
  };
  struct Done {
    std::uint64_t tag = 0;
    std::int32_t result = 0;  ///< bytes, or a negative errno
  };

  /// For so many operations in flight. status() tells whether there is one.
  explicit IoRing(std::uint32_t entries);
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  /// 0, or a negative errno: then nothing else may be called.
  int status() const { return status_; }
  /// Precondition: fewer than `entries` are in flight.
  void queue(const Operation& operation);
  void submit();
  /// The next that completes. 0, or a negative errno (-EINTR: ask again).
  int wait(Done& done);
  /// The next that has completed; false where none has.
  bool peek(Done& done);

 private:
  struct Kernel;
  std::unique_ptr<Kernel> kernel_;
  int status_;
};

}  // namespace spillway

// The simulated GPU harness (tests/support/fake_gpu_harness), with its switches.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace spillway::test {

/// It is built beside the program.
inline std::string fake_gpu_harness() {
  return (std::filesystem::path(SPILLWAY_BINARY).parent_path() / "fake_gpu_harness").string();
}

/// Sets the switches for harnesses started while it lives.
class FakeGpu {
 public:
  explicit FakeGpu(const std::string& switches) {
    setenv("SPILLWAY_FAKE_GPU", switches.c_str(), 1);
  }
  ~FakeGpu() { unsetenv("SPILLWAY_FAKE_GPU"); }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
};

}  // namespace spillway::test

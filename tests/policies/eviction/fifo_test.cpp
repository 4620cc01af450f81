// FIFO: age since storing, whatever happens later.
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;

TEST_CASE("FIFO: use does not count, and a pin does not renew", "[policies]") {
  PolicyRig fifo("fifo", 10);
  fifo.store({1, 2, 3});
  fifo.touch({1});
  fifo->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  fifo.store({4});
  fifo.store({2});  // back from a pin with its old age; 1 stays pinned
  CHECK(fifo.drain(3) == std::vector<std::uint32_t>{2, 3, 4});
  fifo.store({1});
  fifo.store({2});  // evicted meanwhile, so it is new
  CHECK(fifo.drain(2) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("FIFO: a block that was invalidated comes back as new", "[policies]") {
  PolicyRig fifo("fifo", 10);
  fifo.store({1, 2});
  fifo->remove(PolicyRig::slots({1}), RemoveCause::kInvalidated);
  fifo.store({1});
  CHECK(fifo.drain(2) == std::vector<std::uint32_t>{2, 1});
}

}  // namespace
}  // namespace spillway

// A tree of bits against a std::set.
#include "policies/containers/bit_tree.hpp"

#include <set>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("a bit tree holds what a set holds and knows the highest", "[policies]") {
  // One word, the edges between words, two levels and four.
  for (const std::uint32_t size : {1u, 63u, 64u, 65u, 4096u, 4097u, 300'000u}) {
    CAPTURE(size);
    Stream random(size, "bit-tree");
    BitTree tree(size);
    std::set<std::uint32_t> model;
    for (int step = 0; step < 4000; ++step) {
      const auto number = static_cast<std::uint32_t>(random.below(size));
      switch (random.below(4)) {
        case 0:
        case 1:
          tree.insert(number);
          model.insert(number);
          break;
        case 2:  // what is not there may be erased, too
          tree.erase(number);
          model.erase(number);
          break;
        default: {
          const auto end =
              static_cast<std::uint32_t>(number + random.below(std::min(size - number + 1, 200u)));
          tree.erase(number, end);
          model.erase(model.lower_bound(number), model.lower_bound(end));
        }
      }
      REQUIRE(tree.contains(number) == (model.count(number) > 0));
      REQUIRE(tree.empty() == model.empty());
      if (!model.empty()) REQUIRE(tree.highest() == *model.rbegin());
    }
    while (!tree.empty()) {
      REQUIRE(tree.highest() == *model.rbegin());
      tree.erase(tree.highest());
      model.erase(*model.rbegin());
    }
    CHECK(model.empty());
  }
}

TEST_CASE("a bit tree of no numbers is empty", "[policies]") {
  CHECK(BitTree(0).empty());
}

}  // namespace
}  // namespace spillway

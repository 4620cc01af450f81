// S3-FIFO after algorithm 1 of Yang et al., SOSP '23, step by step.
#include "tests/support/catch.hpp"
#include "tests/support/policy_cache.hpp"

namespace spillway::test {
namespace {

using Order = std::vector<std::uint32_t>;

TEST_CASE("S3-FIFO: algorithm 1 by hand", "[policies]") {
  // Capacity 4: small's share is 1, main's 3, and 3 ghosts. Queues oldest first, uses behind a
  // block's number; S small, M main, G ghosts. The paper's EVICTM inside EVICTS, where main has
  // become full, happens at the next eviction here.
  PolicyCache cache("s3fifo:small=0.25:ghost=0.75", 4, 20);
  enum : std::uint32_t { kA = 1, kB, kC, kD, kE, kF, kG, kH, kI, kJ };

  // READ of new blocks into a cache with room: INSERT puts all into small. S: A B C D
  CHECK(cache.refer({kA, kB, kC, kD}).empty());
  // Hits count and move nothing. S: A2 B1 C D
  CHECK(cache.refer({kA, kA, kB}).empty());
  // EVICTS for E: A was used more than once and moves to main, where it starts at none; B leaves
  // and is remembered. S: C D E, M: A, G: B
  CHECK(cache.refer({kE}) == Order{kB});
  // B is a ghost: it goes to main and its name is no ghost any more. S: D E, M: A B, G: C
  CHECK(cache.refer({kB}) == Order{kC});
  // So do C and D. S: -, M: A B C D, G: E
  CHECK(cache.refer({kC, kD}) == Order{kD, kE});
  // Main holds 4 where 3 are its share: EVICTM takes A, which is not remembered.
  // S: F, M: B C D, G: E
  CHECK(cache.refer({kF}) == Order{kA});
  // Main has no more than its share: small gives F. S: G, M: B1 C D, G: E F
  CHECK(cache.refer({kB, kG}) == Order{kF});
  // E returns from the ghosts for G. S: -, M: B1 C D E, G: F G
  CHECK(cache.refer({kE}) == Order{kG});
  // EVICTM spares B, which loses its use, and takes C. A comes back as new.
  // S: A, M: D E B, G: F G
  CHECK(cache.refer({kA}) == Order{kC});
  // H and I pass through small; the third ghost is followed by a fourth, so F is forgotten.
  // S: I, M: D E B, G: G A H
  CHECK(cache.refer({kH, kI}) == Order{kA, kH});
  // F is therefore new: into small, which gives it up for J. S: J, M: D E B, G: H I F
  CHECK(cache.refer({kF, kJ}) == Order{kI, kF});
  CHECK(cache.rig().drain(4) == Order{kJ, kD, kE, kB});
}

TEST_CASE("S3-FIFO: uses beyond the cap do not count", "[policies]") {
  PolicyRig rig("s3fifo:small=0", 8);  // small's share is 1 block at least
  rig.store({0, 1, 2, 3, 4, 5, 6, 7});
  for (int i = 0; i < 2; ++i) rig.touch({0, 1, 2, 3, 4, 5, 6, 7});
  // All move to main, which is then over its share: 0 leaves.
  CHECK(rig.drain(1) == Order{0});
  for (int i = 0; i < 9; ++i) rig.touch({1});  // three count
  for (int i = 0; i < 3; ++i) rig.touch({2});
  // Both are spared thrice, 1 still before 2.
  CHECK(rig.drain(7) == Order{3, 4, 5, 6, 7, 1, 2});
}

TEST_CASE("S3-FIFO: promotion after as many uses as asked for", "[policies]") {
  PolicyCache cache("s3fifo:small=0.5:promote=1", 2, 10);
  CHECK(cache.refer({1, 2, 1, 3}) == Order{2});
  PolicyCache twice("s3fifo:small=0.5", 2, 10);
  CHECK(twice.refer({1, 2, 1, 3}) == Order{1});
}

TEST_CASE("S3-FIFO: without ghosts what comes back is new", "[policies]") {
  PolicyCache with("s3fifo:small=0.5:ghost=1", 2, 10);
  // 1 leaves small for 3, and 2 for 1, which enters main: S: 3, M: 1. 4 takes 3.
  CHECK(with.refer({1, 2, 3, 1, 4, 5}) == Order{1, 2, 3, 4});
  PolicyCache without("s3fifo:small=0.5:ghost=0", 2, 10);
  // 1 enters small, and leaves it after 3.
  CHECK(without.refer({1, 2, 3, 1, 4, 5}) == Order{1, 2, 3, 1});
}

TEST_CASE("S3-FIFO: a ghost is found when its block is stored, if no sooner", "[policies]") {
  PolicyRig rig("s3fifo:small=0.25:ghost=1", 4);
  rig.store({0, 1, 2, 3});
  CHECK(rig.drain(1) == Order{0});  // for a block that has no name yet
  rig.store({0});                   // S: 1 2 3, M: 0
  CHECK(rig.drain(4) == Order{1, 2, 3, 0});
}

TEST_CASE("S3-FIFO: a pinned slot keeps its place and comes back used", "[policies]") {
  PolicyRig rig("s3fifo:promote=1", 10);
  rig.store({1, 2, 3});
  rig->remove(PolicyRig::slots({1, 2}), RemoveCause::kPinned);
  rig->add(PolicyRig::slots({2}), {});
  // 2 stands first and moves to main; 3 leaves. 1 is pinned, so main gives the next.
  CHECK(rig.drain(2) == Order{3, 2});
  rig->add(PolicyRig::slots({1}), {});
  CHECK(rig.drain(1) == Order{1});
}

TEST_CASE("S3-FIFO: an invalidated block leaves no ghost", "[policies]") {
  PolicyRig rig("s3fifo:small=0.25:ghost=1", 4);
  rig.store({0, 1, 2});
  rig->remove(PolicyRig::slots({0}), RemoveCause::kInvalidated);
  rig.store({0});
  CHECK(rig.drain(3) == Order{1, 2, 0});
}

TEST_CASE("S3-FIFO: a cap below the promotion is an error", "[policies]") {
  REQUIRE_THROWS_WITH(PolicyRig("s3fifo:promote=4", 4),
                      "s3fifo: expected cap to be at least promote (4), found 3");
}

}  // namespace
}  // namespace spillway::test

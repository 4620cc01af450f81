// vLLM v0's two pools: who may enter, go on, leave and come back. Blocks of 16 tokens.
#include "models/engine/stores/v0_block_manager.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr Handle kA{0};
constexpr Handle kB{1};

TEST_CASE("v0 admits what leaves the watermark, and never what cannot", "[models]") {
  V0BlockManager blocks(16, 200, 0, 0.01);  // watermark: 2 of 200 blocks
  CHECK(blocks.watermark_blocks() == 2);
  CHECK(blocks.can_allocate(198 * 16) == AllocStatus::kOk);             // 200 - 198 = 2
  CHECK(blocks.can_allocate(198 * 16 + 1) == AllocStatus::kNeverFits);  // 200 - 199 < 2
  blocks.allocate(kA, 100 * 16 - 5);
  CHECK(blocks.gpu().free == 100);
  CHECK(blocks.can_allocate(98 * 16) == AllocStatus::kOk);
  CHECK(blocks.can_allocate(98 * 16 + 1) == AllocStatus::kLater);
  blocks.free(kA);
  blocks.check_drained();
}

TEST_CASE("a share of a block is no watermark", "[models]") {
  V0BlockManager blocks(16, 99, 0, 0.01);
  CHECK(blocks.watermark_blocks() == 0);
  CHECK(blocks.can_allocate(99 * 16) == AllocStatus::kOk);
}

TEST_CASE("v0 wants a free block for each append, even where the last one has room", "[models]") {
  V0BlockManager blocks(16, 4, 0, 0);
  blocks.allocate(kA, 20);  // two blocks, the second with room for 12 tokens
  CHECK(blocks.can_append(kA, 21));
  blocks.allocate(kB, 32);
  CHECK(blocks.gpu().free == 0);
  CHECK_FALSE(blocks.can_append(kA, 21));
  CHECK_FALSE(blocks.can_append(kA, 20));  // nothing to append, and room: counts as touched
  CHECK(blocks.can_append(kB, 32));        // nothing to append, and no room: touches nothing
  blocks.free(kB);
  blocks.append(kA, 21);
  CHECK(blocks.gpu().free == 2);  // it took none
  blocks.free(kA);
}

TEST_CASE("the watermark holds on the way in, not on the way out", "[models]") {
  V0BlockManager blocks(16, 10, 4, 0.2);  // watermark: 2 blocks
  blocks.allocate(kA, 60);                // 4 blocks: 3 full ones and one of 12 tokens
  CHECK(blocks.needed_to_swap(kA, 61) == 4);
  CHECK(blocks.can_swap_out(kA, 61));  // fills the CPU pool to the last block
  CHECK(blocks.swap_out(kA) == 4);
  CHECK(blocks.cpu().free == 0);
  blocks.allocate(kB, 4 * 16);
  CHECK(blocks.can_swap_in(kA, 61) == AllocStatus::kOk);  // 6 free - 4 = 2
  blocks.append(kB, 4 * 16 + 1);
  CHECK(blocks.can_swap_in(kA, 61) == AllocStatus::kLater);  // 5 free - 4 < 2
  blocks.free(kB);
  CHECK(blocks.swap_in(kA) == 4);
  CHECK(blocks.cpu().free == 4);
  blocks.free(kA);
  blocks.check_drained();
}

TEST_CASE("a full last block needs one block more than is copied", "[models]") {
  V0BlockManager blocks(16, 10, 4, 0);
  blocks.allocate(kA, 64);
  CHECK(blocks.needed_to_swap(kA, 65) == 5);  // 4 full ones, and the next token's
  CHECK_FALSE(blocks.can_swap_out(kA, 65));   // though 4 would go where 4 are free
  CHECK(blocks.needed_to_swap(kA, 64) == 4);  // in the middle of a prompt nothing is to append
  CHECK(blocks.can_swap_out(kA, 64));
  blocks.free(kA);
}

TEST_CASE("what exceeds the whole pool never comes back", "[models]") {
  V0BlockManager blocks(16, 4, 8, 0);
  blocks.allocate(kA, 64);
  blocks.swap_out(kA);
  CHECK(blocks.can_swap_in(kA, 65) == AllocStatus::kNeverFits);  // 5 of 4
  blocks.free(kA);
  blocks.check_drained();
}

}  // namespace
}  // namespace spillway::test

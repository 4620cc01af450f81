// SHA-256 against published digests, and where the padding has just room or just none.
#include "sim/sha256.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("SHA-256 is the published one", "[sim]") {
  // FIPS 180-2, appendices B.1 to B.3: one block, two blocks, a million bytes.
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the length of a text that nearly fills a block finds its place", "[sim]") {
  // As coreutils' sha256sum has them: the length still fits behind 55 bytes, not behind 56.
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256(std::string(55, 'a')) ==
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  CHECK(sha256(std::string(56, 'a')) ==
        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  CHECK(sha256(std::string(63, '\xff')) ==
        "d12449c8124182545ae91924286cc6af13528bcf62a5ddbd5e00b891fffc1b48");
  CHECK(sha256(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

}  // namespace
}  // namespace spillway::test

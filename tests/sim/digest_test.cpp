// Digests: stable for ever, and sensitive to what was fed and in which order.
#include "sim/digest.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

template <class Feed>
std::uint64_t digest_of(Feed feed) {
  Digest digest;
  feed(digest);
  return digest.value();
}

TEST_CASE("golden: the digest of nothing is XXH3's", "[sim]") {
  CHECK(Digest().value() == 0x2d06800538d394c2);  // published test vector: length 0, seed 0
  CHECK(Digest().hex() == "2d06800538d394c2");
}

TEST_CASE("golden: a number, a real, a text and a column", "[sim]") {
  // Computed from the packed bytes by the reference library: 7 as u64, 0.35 as f64, (3, "abc"),
  // (2, [1, 2] as u32). It must never change: published results are cited by digest.
  const std::array<std::uint32_t, 2> column = {1, 2};
  const std::uint64_t value = digest_of([&](Digest& d) {
    d.number(7);
    d.real(0.35);
    d.text("abc");
    d.column(std::span<const std::uint32_t>(column));
  });
  CHECK(value == 0x2b20879db7232181);
}

TEST_CASE("the order of values matters", "[sim]") {
  CHECK(digest_of([](Digest& d) { d.number(1), d.number(2); }) !=
        digest_of([](Digest& d) { d.number(2), d.number(1); }));
}

TEST_CASE("texts carry their length, so cutting elsewhere is seen", "[sim]") {
  CHECK(digest_of([](Digest& d) { d.text("ab"), d.text("c"); }) !=
        digest_of([](Digest& d) { d.text("a"), d.text("bc"); }));
}

TEST_CASE("columns carry their length, so moving a value between them is seen", "[sim]") {
  const std::vector<std::uint32_t> v = {1, 2, 3};
  const std::span<const std::uint32_t> all(v);
  const auto cut = [&](std::size_t n) {
    return digest_of([&](Digest& d) { d.column(all.first(n)), d.column(all.subspan(n)); });
  };
  CHECK(cut(1) != cut(2));
  CHECK(cut(0) != cut(3));
}

TEST_CASE("minus zero counts as zero, neighbours of a real do not", "[sim]") {
  const auto real = [](double x) { return digest_of([x](Digest& d) { d.real(x); }); };
  CHECK(real(-0.0) == real(0.0));
  CHECK(real(0.1 + 0.2) != real(0.3));  // one bit apart
}

TEST_CASE("feeding in pieces equals feeding at once", "[sim]") {
  const std::string text(10'000, 'x');
  const std::uint64_t whole = digest_of([&](Digest& d) { d.bytes(text.data(), text.size()); });
  const std::uint64_t pieces = digest_of([&](Digest& d) {
    for (std::size_t i = 0; i < text.size(); i += 7) {
      d.bytes(text.data() + i, std::min<std::size_t>(7, text.size() - i));
    }
    d.bytes(nullptr, 0);  // nothing, at no address
  });
  CHECK(whole == pieces);
}

TEST_CASE("reading the value leaves the digest open", "[sim]") {
  Digest digest;
  digest.number(1);
  const std::uint64_t before = digest.value();
  CHECK(digest.value() == before);
  digest.number(2);
  CHECK(digest.value() != before);
}

TEST_CASE("a moved digest goes on where it was", "[sim]") {
  Digest a;
  a.number(1);
  Digest b = std::move(a);
  b.number(2);
  CHECK(b.value() == digest_of([](Digest& d) { d.number(1), d.number(2); }));
}

TEST_CASE("hexadecimal form has sixteen digits", "[sim]") {
  CHECK(hex16(0) == "0000000000000000");
  CHECK(hex16(0xabc) == "0000000000000abc");
  CHECK(hex16(~std::uint64_t{0}) == "ffffffffffffffff");
}

}  // namespace
}  // namespace spillway

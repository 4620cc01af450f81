// Names the user mistyped: the error lists what is known and guesses what was meant.
#include "sim/catalogue.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/input_error.hpp"

namespace spillway {
namespace {

constexpr std::array<std::string_view, 5> kPolicies = {"arc", "belady", "fifo", "lru", "s3fifo"};

TEST_CASE("the nearest name is the one that a slip of the fingers leads to", "[sim]") {
  CHECK(nearest_name("lruu", kPolicies) == "lru");  // one too many
  CHECK(nearest_name("lu", kPolicies) == "lru");    // one too few
  CHECK(nearest_name("lrv", kPolicies) == "lru");   // one changed
  CHECK(nearest_name("rlu", kPolicies) == "lru");   // two swapped: one slip, not two
  CHECK(nearest_name("beldy", kPolicies) == "belady");
  CHECK(nearest_name("s3-fifo", kPolicies) == "s3fifo");
  CHECK(nearest_name("lru", kPolicies) == "lru");
}

TEST_CASE("a swap counts once, so it beats two changes", "[sim]") {
  constexpr std::array<std::string_view, 2> names = {"axxd", "acbd"};
  CHECK(nearest_name("abcd", names) == "acbd");  // distance 1 by swap; axxd is at 2
}

TEST_CASE("nothing near gets no guess", "[sim]") {
  CHECK(nearest_name("clock-pro", kPolicies).empty());
  CHECK(nearest_name("random", kPolicies).empty());
  CHECK(nearest_name("lru", {}).empty());
  CHECK(nearest_name("", kPolicies).empty());
}

TEST_CASE("the beginning of a name leads to it when no slip of the fingers does", "[sim]") {
  const std::vector<std::string_view> names = {"mean_ttft_ms", "p99_ttft_ms"};
  CHECK(nearest_name("p99", names) == "p99_ttft_ms");
  CHECK(nearest_name("p9", names).empty());
}

TEST_CASE("an endless name is cut in the message and not guessed at", "[sim]") {
  const std::string message = unknown_name("policy", std::string(200'000, 'y'), kPolicies);
  CHECK(message.size() < 200);
  CHECK_THAT(message, ContainsSubstring("yyy...\"; known: "));
}

TEST_CASE("a guess among many stands alone, so that no list hides it", "[sim]") {
  std::vector<std::string> names;
  for (char c = 'a'; c <= 'm'; ++c) names.push_back(std::string(4, c));
  std::vector<std::string_view> known(names.begin(), names.end());
  CHECK(unknown_name("key", "aaab", known) == "unknown key \"aaab\"; did you mean \"aaaa\"?");
  known.pop_back();  // twelve
  CHECK_THAT(unknown_name("key", "aaab", known), ContainsSubstring("\"? known: aaaa, bbbb, "));
  CHECK_THAT(unknown_name("key", "zzzz", known), ContainsSubstring("\"; known: aaaa, bbbb, "));
}

TEST_CASE("long names may be mistyped more often", "[sim]") {
  // A third of 15 letters: up to five slips.
  constexpr std::array<std::string_view, 1> names = {"prefix_resident"};
  CHECK(nearest_name("prefixresidnt", names) == "prefix_resident");
  CHECK(nearest_name("prefix-residant", names) == "prefix_resident");
  CHECK(nearest_name("session_budgets", names).empty());
}

TEST_CASE("of equally near names the first known wins", "[sim]") {
  constexpr std::array<std::string_view, 2> names = {"aax", "aay"};
  CHECK(nearest_name("aaz", names) == "aax");
}

TEST_CASE("of equally near names the one that begins so wins", "[sim]") {
  constexpr std::array<std::string_view, 4> names = {"L4-24GB", "L4", "L40S", "L40S-48GB"};
  CHECK(nearest_name("L40", names) == "L40S");
  CHECK(nearest_name("L4", names) == "L4");
}

TEST_CASE("the text names the kind, the mistake, the guess and the known", "[sim]") {
  CHECK(unknown_name("eviction policy", "lruu", kPolicies) ==
        "unknown eviction policy \"lruu\"; did you mean \"lru\"? known: arc, belady, fifo, lru, "
        "s3fifo");
  CHECK(unknown_name("eviction policy", "random", kPolicies) ==
        "unknown eviction policy \"random\"; known: arc, belady, fifo, lru, s3fifo");
}

struct Row {
  std::string_view name;
  int value;
};
constexpr std::array<Row, 3> kRows = {{{"zeta", 1}, {"alpha", 2}, {"mid", 3}}};

TEST_CASE("a row is found by its name", "[sim]") {
  CHECK(find_row(std::span<const Row>(kRows), "letter", "alpha", {}).value == 2);
}

TEST_CASE("an unknown row is a usage error at its place, with the names sorted", "[sim]") {
  const InputError error = test::error_of([] {
    find_row(std::span<const Row>(kRows), "letter", "alpa", {"chat.json", 14, "engine.eviction"});
  });
  CHECK(error.fault() == Fault::kUsage);
  CHECK(std::string(error.what()) ==
        "chat.json:14: engine.eviction: unknown letter \"alpa\"; did you mean \"alpha\"? known: "
        "alpha, mid, zeta");
}

TEST_CASE("names match exactly, not by case or prefix", "[sim]") {
  CHECK_THROWS_AS(find_row(std::span<const Row>(kRows), "letter", "Alpha", {}), InputError);
  CHECK_THROWS_AS(find_row(std::span<const Row>(kRows), "letter", "", {}), InputError);
}

}  // namespace
}  // namespace spillway

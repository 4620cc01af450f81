// Sizes and rates: a unit, always; fractions exact; nothing that overflows.
#include "scenarios/scenario/config/quantities.hpp"

#include <limits>

#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

const SourceRef kWhere{"s.json", 7, "tiers.0.capacity"};

std::int64_t bytes(std::string_view text) {
  const Capacity capacity = parse_capacity(text, kWhere);
  REQUIRE(capacity.kind == Capacity::Kind::kBytes);
  CHECK(parse_bytes(text, kWhere).count() == capacity.count);
  return capacity.count;
}

std::int64_t blocks(std::string_view text) {
  const Capacity capacity = parse_capacity(text, kWhere);
  REQUIRE(capacity.kind == Capacity::Kind::kBlocks);
  return capacity.count;
}

TEST_CASE("sizes are powers of 1024 or of 1000 by their unit", "[scenarios]") {
  CHECK(bytes("17B") == 17);
  CHECK(bytes("1KiB") == 1024);
  CHECK(bytes("3MiB") == 3 * 1'048'576);
  CHECK(bytes("64GiB") == 68'719'476'736);    // 64 x 2^30
  CHECK(bytes("2TiB") == 2'199'023'255'552);  // 2 x 2^40
  CHECK(bytes("1KB") == 1000);
  CHECK(bytes("3MB") == 3'000'000);
  CHECK(bytes("64GB") == 64'000'000'000);
  CHECK(bytes("2TB") == 2'000'000'000'000);
  CHECK(bytes("0GiB") == 0);
  CHECK(bytes("64 GiB") == 68'719'476'736);
}

TEST_CASE("a unit of another kind is named", "[scenarios]") {
  const auto said = [](const auto& read) { return std::string(error_of(read).what()); };
  const std::string rate = said([] { parse_bandwidth("25GiB", kWhere); });
  CHECK(rate ==
        "s.json:7: tiers.0.capacity: expected a rate with a unit, such as 25GB/s, 20GiB/s or "
        "400Gbps, found \"25GiB\", a size");
  CHECK(said([] { parse_bytes("25GB/s", kWhere); }).ends_with("found \"25GB/s\", a rate"));
  CHECK(said([] { parse_bytes("7blocks", kWhere); }).ends_with("\"7blocks\", a number of blocks"));
  CHECK(said([] { parse_capacity("10min", kWhere); }).ends_with("found \"10min\", a time"));
  CHECK(said([] { parse_seconds("64GiB", kWhere); }).ends_with("found \"64GiB\", a size"));
  CHECK(said([] { parse_bandwidth("25G/s", kWhere); }).ends_with("found \"25G/s\""));
  CHECK(said([] { parse_bytes("64", kWhere); }).ends_with("found \"64\""));
}

TEST_CASE("fractions of a unit are exact and rounded down to a byte", "[scenarios]") {
  CHECK(bytes("1.5GiB") == 1'610'612'736);  // 1.5 x 2^30
  CHECK(bytes("0.1GB") == 100'000'000);     // although 0.1 is no double
  CHECK(bytes("0.3KB") == 300);
  CHECK(bytes("0.001KiB") == 1);   // 1.024
  CHECK(bytes("0.0009KiB") == 0);  // 0.9216
}

TEST_CASE("a capacity may be blocks or without a bound", "[scenarios]") {
  CHECK(blocks("1000blocks") == 1000);
  CHECK(blocks("0blocks") == 0);
  CHECK(blocks("1000000000000000blocks") == 1'000'000'000'000'000);
  CHECK(parse_capacity("inf", kWhere).kind == Capacity::Kind::kUnbounded);
}

TEST_CASE("a size without a known unit is refused where it stands", "[scenarios]") {
  for (const char* text :
       {"",         "64",      "64G",     "64gib",    "GiB",    "64 GiB ", " 64GiB", "64GiB/s",
        "64 G iB",  "64,5GiB", "64\tGiB", "0x40GiB",  "1e3GiB", "+1GiB",   "many",   "INF",
        "infinity", "inf GiB", "blocks",  "10 block", "1KIB",   "64GiBGiB"}) {
    INFO("text: " << text);
    const InputError error = error_of([&] { parse_capacity(text, kWhere); });
    CHECK(error.fault() == Fault::kUsage);
    const std::string message = error.what();
    CHECK(message.starts_with("s.json:7: tiers.0.capacity: expected a size with a unit: B, KiB"));
    CHECK_THAT(message, ContainsSubstring("found \"" + std::string(text) + "\""));
  }
}

TEST_CASE("negative and non-finite sizes are refused", "[scenarios]") {
  for (const char* text : {"-1GiB", "-0.5GiB", "nanGiB", "nan", "infGiB", "-inf", "-1blocks"}) {
    INFO("text: " << text);
    CHECK_THROWS_AS(parse_capacity(text, kWhere), InputError);
    CHECK_THROWS_AS(parse_bytes(text, kWhere), InputError);
  }
}

TEST_CASE("sizes from 2^62 bytes on are too large", "[scenarios]") {
  CHECK(bytes("4194303TiB") == 4'194'303 * (std::int64_t{1} << 40));  // 2^62 - 2^40
  for (const char* text : {"4194304TiB", "9223372036854775808B", "18446744073709551616B",
                           "99999999999999999999999999999999999999TiB"}) {
    INFO("text: " << text);
    CHECK_THAT(error_of([&] { parse_capacity(text, kWhere); }).what(),
               ContainsSubstring("\"" + std::string(text) + "\" is too large"));
  }
  CHECK_THROWS_AS(parse_bytes(fmt::format("{:9>400}GiB", ""), kWhere), InputError);
}

TEST_CASE("blocks are whole and countable", "[scenarios]") {
  for (const char* text : {"0.5blocks", "10.25blocks", "1000000000000001000blocks"}) {
    INFO("text: " << text);
    CHECK_THAT(error_of([&] { parse_capacity(text, kWhere); }).what(),
               ContainsSubstring("expected whole blocks"));
  }
}

TEST_CASE("bytes alone know neither blocks nor inf", "[scenarios]") {
  CHECK_THROWS_AS(parse_bytes("10blocks", kWhere), InputError);
  CHECK_THROWS_AS(parse_bytes("inf", kWhere), InputError);
}

TEST_CASE("bandwidths are bytes or bits per second", "[scenarios]") {
  CHECK(parse_bandwidth("25GB/s", kWhere) == 25'000'000'000);
  CHECK(parse_bandwidth("20GiB/s", kWhere) == 21'474'836'480);  // 20 x 2^30
  CHECK(parse_bandwidth("400Gbps", kWhere) == 50'000'000'000);  // 400e9 / 8
  CHECK(parse_bandwidth("100 Mbps", kWhere) == 12'500'000);     // 100e6 / 8
  CHECK(parse_bandwidth("0.5GB/s", kWhere) == 500'000'000);
  CHECK(parse_bandwidth("1B/s", kWhere) == 1);
}

TEST_CASE("bytes are written as they are read", "[scenarios]") {
  CHECK(bytes_text(std::int64_t{64} << 30) == "64GiB");
  CHECK(bytes_text(std::int64_t{1536} << 20) == "1536MiB");
  CHECK(bytes_text(1000) == "1000B");
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3} << 20}) {
    CHECK(parse_bytes(bytes_text(bytes), kWhere).count() == bytes);
  }
}

TEST_CASE("a bandwidth without a rate, or of nothing, is refused", "[scenarios]") {
  for (const char* text : {"", "25", "25GB", "25GBps", "25 GB / s", "25Gb/s", "0GB/s", "0.1B/s",
                           "-1GB/s", "nanGB/s", "inf", "infGB/s", "/s", "GB/s", "25GB/s/s"}) {
    INFO("text: " << text);
    CHECK_THAT(error_of([&] { parse_bandwidth(text, kWhere); }).what(),
               ContainsSubstring("expected a rate with a unit, such as 25GB/s"));
  }
  CHECK_THAT(error_of([&] { parse_bandwidth("9999999999TB/s", kWhere); }).what(),
             ContainsSubstring("is too large"));
}

TEST_CASE("times have a unit and are more than nothing", "[scenarios]") {
  CHECK(parse_seconds("500ms", kWhere) == 0.5);
  CHECK(parse_seconds("60s", kWhere) == 60);
  CHECK(parse_seconds("1.5min", kWhere) == 90);
  CHECK(parse_seconds("2 h", kWhere) == 7200);
  for (const char* text : {"", "60", "0s", "-1s", "nans", "infs", "s", "60sec", "1m"}) {
    INFO("text: " << text);
    CHECK_THAT(error_of([&] { parse_seconds(text, kWhere); }).what(),
               ContainsSubstring("expected a time above 0 with a unit: ms, s, min or h"));
  }
}

}  // namespace
}  // namespace spillway::test

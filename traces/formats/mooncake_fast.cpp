#include "traces/formats/mooncake_fast.hpp"

#include <bit>
#include <cstring>

#include "traces/byte_source.hpp"

namespace spillway {

static_assert(std::endian::native == std::endian::little, "digits are loaded little-endian");

namespace {

/// The value of eight bytes 0 to 9, the first the most significant.
std::uint64_t eight_digits(std::uint64_t bytes) {
  bytes = bytes * 10 + (bytes >> 8);
  return ((bytes & 0x000000ff000000ffULL) * 0x000f424000000064ULL +
          ((bytes >> 16) & 0x000000ff000000ffULL) * 0x0000271000000001ULL) >>
         32;
}

constexpr std::uint64_t kPowers[] = {1,       10,        100,        1'000,      10'000,
                                     100'000, 1'000'000, 10'000'000, 100'000'000};

/// A place in a line. A step that does not find what it wants returns false; a mark or a key has
/// then taken nothing. Numbers and keys may look past the end, by less than the padding.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}

  bool at_end() const { return at_ == end_; }
  /// Takes one character, and a space behind it.
  bool mark(char c) {
    if (at_ >= end_ || *at_ != c) return false;
    ++at_;
    if (*at_ == ' ') ++at_;
    return true;
  }
  template <std::size_t N>
  bool key(const char (&quoted)[N]) {
    static_assert(2 * N < LineReader::kPadding);
    if (at_ >= end_ || std::memcmp(at_, quoted, N - 1) != 0) return false;
    at_ += N - 1;
    if (mark(':')) return true;
    at_ -= N - 1;
    return false;
  }
  /// Digits that JSON takes for a whole number of at most 64 bits: no sign, no leading zero.
  bool number(std::uint64_t& value) {
    const char* const begin = at_;
    value = 0;
    int digits = run(value);
    if (digits == 8) digits += run(value);
    if (digits == 16) {
      std::uint64_t low = 0;
      const int more = run(low);
      if (more > 4 || __builtin_mul_overflow(value, kPowers[more], &value) ||
          __builtin_add_overflow(value, low, &value)) {
        return false;
      }
      digits += more;
    }
    return digits > 0 && (*begin != '0' || digits == 1);
  }
  /// A time in milliseconds, with up to six decimals.
  bool milliseconds(std::int64_t& ns) {
    std::uint64_t ms = 0;
    std::uint64_t decimals = 0;
    if (!number(ms)) return false;
    if (*at_ == '.') {
      ++at_;
      const int digits = run(decimals);
      if (digits == 0 || digits > 6) return false;
      decimals *= kPowers[6 - digits];
    }
    if (ms >= static_cast<std::uint64_t>(kMaxArrivalMs)) return false;
    ns = static_cast<std::int64_t>(ms * 1'000'000 + decimals);
    return true;
  }
  bool tokens(std::int64_t& count, std::uint64_t least) {
    std::uint64_t value = 0;
    if (!number(value) || value < least || value > kMaxTokens) return false;
    count = static_cast<std::int64_t>(value);
    return true;
  }

 private:
  /// Appends up to eight digits to `value`; says how many there were.
  int run(std::uint64_t& value) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at_, sizeof bytes);
    bytes ^= 0x3030303030303030ULL;
    // The high bit of each byte that is no digit; a carry reaches only bytes behind the first one.
    const std::uint64_t others = ((bytes + 0x7676767676767676ULL) | bytes) & 0x8080808080808080ULL;
    const int digits = std::countr_zero(others) / 8;
    if (digits == 0) return 0;
    value = value * kPowers[digits] + eight_digits(bytes << (64 - 8 * digits));
    at_ += digits;
    return digits;
  }

  const char* at_;
  const char* end_;
};

bool read_ids(Cursor& at, std::vector<std::uint64_t>& ids) {
  if (!at.mark('[')) return false;
  do {
    std::uint64_t id = 0;
    if (!at.number(id)) return false;
    ids.push_back(id);
  } while (at.mark(','));
  return at.mark(']');
}

}  // namespace

bool read_canonical_mooncake(std::string_view line, TraceRow& row) {
  Cursor at(line);
  TraceRow head;
  const bool fits = at.mark('{') && at.key("\"timestamp\"") && at.milliseconds(head.arrival_ns) &&
                    at.mark(',') && at.key("\"input_length\"") && at.tokens(head.input_tokens, 1) &&
                    at.mark(',') && at.key("\"output_length\"") &&
                    at.tokens(head.output_tokens, 0) && at.mark(',');
  if (!fits) return false;
  if (at.key("\"session_id\"")) {
    std::uint64_t session = 0;
    if (!at.number(session) || !at.mark(',')) return false;
    head.session = session;
  }
  if (!at.key("\"hash_ids\"") || !read_ids(at, row.blocks) || !at.mark('}') || !at.at_end()) {
    row.blocks.clear();
    return false;
  }
  row.arrival_ns = head.arrival_ns;
  row.input_tokens = head.input_tokens;
  row.output_tokens = head.output_tokens;
  row.session = head.session;
  return true;
}

}  // namespace spillway

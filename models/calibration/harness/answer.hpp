// One answer of the harness's protocol: a JSON object on a line, written member by member.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/harness/statistics.hpp"

namespace spillway_harness {

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += '?';  // names of devices and errors are ASCII; anything else is no loss
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Seven digits are more than any clock here resolves; what is not finite is no measurement.
inline std::string number_text(double value) {
  if (!std::isfinite(value)) return "0";
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 7);
  return std::string(text.data(), end.ptr);
}

/// A JSON object in the making.
class Answer {
 public:
  Answer& text(const std::string& key, const std::string& value) { return raw(key, quoted(value)); }
  Answer& number(const std::string& key, double value) { return raw(key, number_text(value)); }
  Answer& whole(const std::string& key, std::int64_t value) {
    return raw(key, std::to_string(value));
  }
  Answer& flag(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  Answer& numbers(const std::string& key, const std::vector<double>& values) {
    std::string list = "[";
    for (const double value : values) {
      if (list.size() > 1) list += ',';
      list += number_text(value);
    }
    return raw(key, list + "]");
  }
  Answer& spread(const std::string& key, const std::vector<double>& samples_us) {
    const Summary s = summary_of(samples_us);
    Answer inner;
    inner.number("med_us", s.median).number("p10_us", s.p10).number("p90_us", s.p90);
    inner.number("p99_us", s.p99).number("cv", s.cv);
    inner.whole("samples", static_cast<std::int64_t>(samples_us.size()));
    return raw(key, inner.line());
  }
  /// `json` is a value already.
  Answer& raw(const std::string& key, const std::string& json) {
    if (!members_.empty()) members_ += ',';
    members_ += quoted(key) + ":" + json;
    return *this;
  }
  std::string line() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace spillway_harness

// One request of the harness's protocol (models/calibration/protocol.md): `key=value` words on a
// line. C++17, standard library only: the harness includes no other header of the project.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace spillway_harness {

/// A request that makes no sense. It is answered, and the harness goes on.
class BadRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Copies that one contention cell makes beside others: `dir:gpu:bytes:n`.
struct Actor {
  std::string dir;
  int gpu = 0;
  std::int64_t bytes = 0;
  std::int64_t n = 1;
};

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::string part;
  std::istringstream in(text);
  while (std::getline(in, part, separator)) out.push_back(part);
  return out;
}

inline std::int64_t whole_number(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    throw BadRequest(key + ": expected a whole number, found \"" + text + "\"");
  }
  return value;
}

class Request {
 public:
  /// Throws BadRequest for a word without `=` and for a key given twice.
  explicit Request(const std::string& line) {
    std::istringstream in(line);
    for (std::string word; in >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == 0 || equals == std::string::npos) {
        throw BadRequest("expected key=value, found \"" + word + "\"");
      }
      const std::string key = word.substr(0, equals);
      if (!values_.emplace(key, word.substr(equals + 1)).second) {
        throw BadRequest(key + ": given twice");
      }
    }
  }

  bool has(const std::string& key) const { return values_.count(key) > 0; }
  const std::string& text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw BadRequest(key + ": missing");
    return found->second;
  }
  std::string text_or(const std::string& key, const std::string& otherwise) const {
    return has(key) ? text(key) : otherwise;
  }
  /// In [least, most].
  std::int64_t number(const std::string& key, std::int64_t least, std::int64_t most) const {
    const std::int64_t value = whole_number(key, text(key));
    if (value < least || value > most) {
      throw BadRequest(key + ": expected " + std::to_string(least) + " to " + std::to_string(most) +
                       ", found " + std::to_string(value));
    }
    return value;
  }
  std::int64_t number_or(const std::string& key, std::int64_t otherwise, std::int64_t least,
                         std::int64_t most) const {
    return has(key) ? number(key, least, most) : otherwise;
  }
  /// At least 0.
  double real_or(const std::string& key, double otherwise) const {
    if (!has(key)) return otherwise;
    const std::string& word = text(key);
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || !(value >= 0) || value > 1e15) {
      throw BadRequest(key + ": expected a number, 0 or more, found \"" + word + "\"");
    }
    return value;
  }
  /// `actors=h2d:0:2097152:64+d2h:0:65536:256`: two or more.
  std::vector<Actor> actors() const {
    std::vector<Actor> out;
    for (const std::string& part : split(text("actors"), '+')) {
      const std::vector<std::string> fields = split(part, ':');
      if (fields.size() != 4 || (fields[0] != "h2d" && fields[0] != "d2h")) {
        throw BadRequest("actors: expected dir:gpu:bytes:n, found \"" + part + "\"");
      }
      Actor actor;
      actor.dir = fields[0];
      actor.gpu = static_cast<int>(whole_number("actors", fields[1]));
      actor.bytes = whole_number("actors", fields[2]);
      actor.n = whole_number("actors", fields[3]);
      if (actor.gpu < 0 || actor.bytes < 1 || actor.n < 1) {
        throw BadRequest("actors: expected a device, bytes and a count, found \"" + part + "\"");
      }
      out.push_back(actor);
    }
    if (out.size() < 2) throw BadRequest("actors: expected two or more");
    return out;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace spillway_harness

// A JSON file (comments allowed) that remembers on which line each value stands.
//
// nlohmann/json 3.11 keeps no positions, so the text is parsed through its SAX interface over an
// iterator that counts lines; duplicate keys are errors. `--set key.path=value` changes the parsed
// tree; errors about such a value name the option instead of a line.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

class JsonSource {
 public:
  /// Throws InputError: exit 7 when the file cannot be read, `fault` when it is not JSON.
  static JsonSource from_file(const std::string& path, Fault fault = Fault::kUsage);
  static JsonSource from_text(const std::string& name, std::string_view text,
                              Fault fault = Fault::kUsage);

  /// Applies "a.b.0.c=value"; the value is JSON where it parses as such, else a string. Objects on
  /// the way are created. Throws InputError (exit 2) for a malformed assignment. `option` is what
  /// errors about it, now and when the value is read, name as its place.
  void set(std::string_view assignment, std::string_view option = "--set");

  /// The value at a JSON pointer as a source of its own, with its lines: a scenario inside another
  /// document. Precondition: there is one.
  JsonSource part(const std::string& pointer) const;

  const nlohmann::json& root() const { return root_; }
  const std::string& name() const { return name_; }
  Fault fault() const { return fault_; }
  /// Where the value at a JSON pointer stands, with the pointer as dotted field.
  SourceRef where(const std::string& pointer) const;

 private:
  JsonSource(std::string name, Fault fault) : name_(std::move(name)), fault_(fault) {}

  std::string name_;
  Fault fault_;
  nlohmann::json root_;
  std::map<std::string, std::int64_t> lines_;  ///< by JSON pointer
  struct Override {
    std::string pointer;
    std::string option;
  };
  std::vector<Override> overridden_;  ///< set from the command line
};

/// `key` as a part of a JSON pointer ("/" and "~" escaped).
std::string escaped_key(std::string_view key);

}  // namespace spillway

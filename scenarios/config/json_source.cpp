#include "scenarios/config/json_source.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace spillway {

namespace {

using nlohmann::json;

/// Reads characters and counts the lines it has passed.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::int64_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::int64_t* line_;
};

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// Builds the tree and notes the line of every value.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  TreeBuilder(std::string name, Fault fault, const std::int64_t& line, json& root,
              std::map<std::string, std::int64_t>& lines)
      : name_(std::move(name)), fault_(fault), line_(line), root_(root), lines_(lines) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t& text) override {
    if (!std::isfinite(v)) fail(fmt::format("the number {} is out of range", text));
    return value(v);
  }
  bool string(string_t& v) override { return value(v); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back().node->contains(name)) fail(fmt::format("the key \"{}\" appears twice", name));
    key_ = name;
    key_line_ = line_;
    return true;
  }

  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    const std::size_t detail = what.find(": syntax error");
    if (detail != std::string::npos) what = what.substr(detail + 2);
    const std::string near = token.size() > 40 ? token.substr(token.size() - 40) : token;
    fail(fmt::format("{} (near \"{}\")", what, near));
  }

 private:
  struct Open {
    json* node;
    std::string pointer;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fault_, {name_, line_, ""}, message);
  }

  json* place(json&& v, std::string& pointer) {
    if (open_.empty()) {
      pointer = "";
      lines_[pointer] = line_;
      root_ = std::move(v);
      return &root_;
    }
    json& parent = *open_.back().node;
    if (parent.is_object()) {
      pointer = open_.back().pointer + "/" + escaped(key_);
      lines_[pointer] = key_line_;
      return &(parent[key_] = std::move(v));
    }
    pointer = open_.back().pointer + "/" + std::to_string(parent.size());
    lines_[pointer] = line_;
    parent.push_back(std::move(v));
    return &parent.back();
  }
  bool value(json&& v) {
    std::string pointer;
    place(std::move(v), pointer);
    return true;
  }
  bool open(json&& v) {
    if (open_.size() > 64) fail("nested more than 64 deep");
    std::string pointer;
    json* node = place(std::move(v), pointer);
    open_.push_back({node, pointer});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string name_;
  Fault fault_;
  const std::int64_t& line_;
  json& root_;
  std::map<std::string, std::int64_t>& lines_;
  std::vector<Open> open_;
  std::string key_;
  std::int64_t key_line_ = 1;
};

}  // namespace

std::string read_text_file(const std::string& path) {
  const auto fail = [&](const char* what) { throw InputError(Fault::kIo, {path, 0, ""}, what); };
  if (std::filesystem::is_directory(path)) fail("is a directory; expected a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(Fault::kIo, {path, 0, ""},
                     fmt::format("cannot open: {}", std::strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) fail("cannot read");
  return text.str();
}

JsonSource JsonSource::from_file(const std::string& path, Fault fault) {
  return from_text(path, read_text_file(path), fault);
}

JsonSource JsonSource::from_text(const std::string& name, std::string_view text, Fault fault) {
  JsonSource source(name, fault);
  std::int64_t line = 1;
  TreeBuilder builder(name, fault, line, source.root_, source.lines_);
  json::sax_parse(CountingIterator(text.data(), &line),
                  CountingIterator(text.data() + text.size(), &line), &builder,
                  json::input_format_t::json, true, true);
  return source;
}

void JsonSource::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(Fault::kUsage, {"--set", 0, ""},
                     fmt::format("expected key.path=value, found \"{}\"", assignment));
  }
  const std::string value(assignment.substr(equals + 1));
  json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded()) parsed = value;

  std::string pointer;
  json* node = &root_;
  std::string_view path = assignment.substr(0, equals);
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string part(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    pointer += "/" + escaped(part);
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (node->is_array() && index && part.size() < 6 && std::stoul(part) < node->size()) {
      node = &(*node)[std::stoul(part)];
    } else if (node->is_object() || node->is_null()) {
      node = &(*node)[part];
    } else {
      throw InputError(Fault::kUsage, {"--set", 0, std::string(assignment.substr(0, equals))},
                       fmt::format("\"{}\" leads into {}, not an object", part, node->type_name()));
    }
  }
  *node = std::move(parsed);
  overridden_.push_back(pointer);
}

SourceRef JsonSource::where(const std::string& pointer) const {
  std::string field;
  for (const char c : pointer) field += c == '/' ? '.' : c;
  if (!field.empty()) field.erase(0, 1);
  for (const std::string& set : overridden_) {
    const bool inside =
        pointer.starts_with(set) && (pointer.size() == set.size() || pointer[set.size()] == '/');
    if (inside) return {"--set", 0, field};
  }
  std::string at = pointer;
  for (;;) {  // the nearest enclosing value that has a line
    const auto it = lines_.find(at);
    if (it != lines_.end()) return {name_, it->second, field};
    if (at.empty()) return {name_, 0, field};
    at.resize(at.rfind('/'));
  }
}

}  // namespace spillway

#include "scenarios/scenario/config/json_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/input_file.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// Reads characters and keeps the line of the last one read. A newline counts once something behind
/// it is read: the parser looks one character ahead to see where a number ends.
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
    if (newline_) ++*line_;
    newline_ = *at_ == '\n';
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::int64_t* line_;
  bool newline_ = false;  ///< the last character read was one
};

}  // namespace

std::string escaped_key(std::string_view key) {
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

namespace {

/// Those of an array, counted from 0.
std::string places(std::size_t size) {
  if (size == 0) return "the whole list, since it is empty";
  return size == 1 ? "0, its only one" : fmt::format("0 to {}", size - 1);
}

/// A JSON pointer as people read it: "tiers.0.name".
std::string dotted(std::string_view pointer) {
  std::string out;
  if (!pointer.empty()) pointer.remove_prefix(1);
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      out += '.';
    } else if (pointer[i] == '~') {
      out += pointer[++i] == '0' ? '~' : '/';
    } else {
      out += pointer[i];
    }
  }
  return out;
}

/// Builds the tree and notes the line of every value.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  TreeBuilder(std::string name, Fault fault, std::size_t size, const std::int64_t& line, json& root,
              std::map<std::string, std::int64_t>& lines)
      : name_(std::move(name)),
        fault_(fault),
        size_(size),
        line_(line),
        root_(root),
        lines_(lines) {}

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

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    if (position > size_) fail(cut_off());  // it read the end of the text, and wanted more
    std::string what = error.what();
    const std::size_t detail = what.find(": syntax error");
    if (detail != std::string::npos) what = what.substr(detail + 2);
    what = what.substr(0, what.find("; last read: "));  // the whole token, however long
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

  std::string cut_off() const {
    if (root_.is_null() && open_.empty()) return "holds no JSON: it ends before anything begins";
    const std::string inside = open_.empty() ? "" : dotted(open_.back().pointer);
    return fmt::format("the JSON ends early{}; cut off, or a bracket or quote is not closed",
                       inside.empty() ? "" : ", inside " + inside);
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
      pointer = open_.back().pointer + "/" + escaped_key(key_);
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
  std::size_t size_;
  const std::int64_t& line_;
  json& root_;
  std::map<std::string, std::int64_t>& lines_;
  std::vector<Open> open_;
  std::string key_;
  std::int64_t key_line_ = 1;
};

}  // namespace

JsonSource JsonSource::from_file(const std::string& path, Fault fault) {
  return from_text(path, read_text_file(path, fault), fault);
}

JsonSource JsonSource::from_text(const std::string& name, std::string_view text, Fault fault) {
  JsonSource source(name, fault);
  std::int64_t line = 1;
  const std::size_t nul = text.find('\0');  // where the parser would stop as if all were read
  if (nul != std::string_view::npos) {
    line += std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(fault, {name, line, ""}, "contains a NUL byte; expected JSON in UTF-8");
  }
  TreeBuilder builder(name, fault, text.size(), line, source.root_, source.lines_);
  json::sax_parse(CountingIterator(text.data(), &line),
                  CountingIterator(text.data() + text.size(), &line), &builder,
                  json::input_format_t::json, true, true);
  return source;
}

void JsonSource::set(std::string_view assignment, std::string_view option) {
  const std::string from(option);
  const std::size_t equals = assignment.find('=');
  std::string_view path = assignment.substr(0, std::min(equals, assignment.size()));
  const bool hollow = path.empty() || path.starts_with('.') || path.ends_with('.') ||
                      path.find("..") != std::string_view::npos;
  if (equals == std::string_view::npos || hollow) {
    throw InputError(Fault::kUsage, {from, 0, ""},
                     fmt::format("expected key.path=value, found \"{}\"", assignment));
  }
  const std::string field(path);
  const std::string text(assignment.substr(equals + 1));
  json value = text;
  try {
    value = from_text(from, text).root_;
  } catch (const InputError&) {  // not JSON: a string without its quotes
  }

  std::string pointer;
  std::string created;  // the first part of the path that the file does not have
  json* node = &root_;
  while (!path.empty()) {
    const std::size_t begin = field.size() - path.size();
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string part(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    if (node->is_string() && (pointer == "/model" || pointer == "/gpu")) {
      *node = json{{"name", *node}};  // which the name alone is short for
    }
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    if (node->is_array() && index && part.size() < 6 && std::stoul(part) < node->size()) {
      pointer += "/" + std::to_string(std::stoul(part));
      node = &(*node)[std::stoul(part)];
    } else if (node->is_null() && index && !pointer.empty()) {
      const std::string list = field.substr(0, begin - 1);
      throw InputError(Fault::kUsage, {from, 0, field},
                       fmt::format("the scenario gives no {0}, so there is no place {1} in it; "
                                   "expected the whole list, {0}=[...]",
                                   list, part));
    } else if (node->is_object() || node->is_null()) {
      pointer += "/" + escaped_key(part);
      if (created.empty() && !node->contains(part)) created = pointer;
      node = &(*node)[part];
    } else if (node->is_array()) {
      throw InputError(Fault::kUsage, {from, 0, field},
                       fmt::format("\"{}\" is no place in an array of {}; expected {}", part,
                                   node->size(), places(node->size())));
    } else {
      throw InputError(Fault::kUsage, {from, 0, field},
                       fmt::format("\"{}\" leads into {}, not an object", part, node->type_name()));
    }
  }
  *node = std::move(value);
  overridden_.push_back({created.empty() ? pointer : created, from});
}

JsonSource JsonSource::part(const std::string& pointer) const {
  JsonSource out(name_, fault_);
  out.root_ = root_.at(json::json_pointer(pointer));
  const auto inside = [&](const std::string& at) {
    return at.starts_with(pointer) && (at.size() == pointer.size() || at[pointer.size()] == '/');
  };
  for (const auto& [at, line] : lines_) {
    if (inside(at)) out.lines_[at.substr(pointer.size())] = line;
  }
  for (const Override& change : overridden_) {
    if (inside(change.pointer)) {
      out.overridden_.push_back({change.pointer.substr(pointer.size()), change.option});
    }
  }
  return out;
}

SourceRef JsonSource::where(const std::string& pointer) const {
  const std::string field = dotted(pointer);
  for (auto last = overridden_.rbegin(); last != overridden_.rend(); ++last) {  // the last counts
    const auto& [set, option] = *last;
    const bool inside =
        pointer.starts_with(set) && (pointer.size() == set.size() || pointer[set.size()] == '/');
    if (inside) return {option, 0, field};
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

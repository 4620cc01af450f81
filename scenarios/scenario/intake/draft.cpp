#include "scenarios/scenario/intake/draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

Json::json_pointer pointer_of(const std::string& key) {
  std::string out;
  std::size_t at = 0;
  while (at <= key.size()) {
    const std::size_t dot = std::min(key.find('.', at), key.size());
    out += "/" + escaped_key(key.substr(at, dot - at));
    at = dot + 1;
  }
  return Json::json_pointer(out);
}

/// Without what would end a comment.
std::string comment(const std::string& origin) {
  std::string out;
  for (const char c : origin) out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out;
}

class Writer {
 public:
  explicit Writer(const std::vector<std::pair<std::string, std::string>>& origins)
      : origins_(origins) {}

  std::string write(const Json& root) {
    open(root, "", 0);
    out_ += "\n";
    return std::move(out_);
  }

 private:
  const std::string* origin_of(const std::string& path) const {
    for (const auto& [key, origin] : origins_) {
      if (key == path) return &origin;
    }
    return nullptr;
  }
  bool origins_below(const std::string& path) const {
    return std::any_of(origins_.begin(), origins_.end(), [&](const auto& one) {
      return one.first.size() > path.size() && one.first.starts_with(path + ".");
    });
  }

  std::string remark_on(const std::string& path) const {
    const std::string* origin = origin_of(path);
    return origin == nullptr || origin->empty() ? "" : "  // " + comment(*origin);
  }
  /// A list whose texts take a line each.
  static bool sentences(const Json& value) {
    return value.is_array() && value.size() > 1 &&
           std::all_of(value.begin(), value.end(), [](const Json& one) {
             return one.is_string() &&
                    one.get_ref<const std::string&>().find(' ') != std::string::npos;
           });
  }

  void open(const Json& node, const std::string& path, int depth) {
    const bool list = node.is_array();
    const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
    out_ += list ? "[" : "{";
    out_ += remark_on(path) + "\n";
    std::size_t i = 0;
    for (const auto& [key, value] : node.items()) {
      const std::string inner = path.empty() ? key : path + "." + key;
      out_ += indent;
      if (!list) out_ += Json(key).dump() + ": ";
      const bool last = ++i == node.size();
      if (value.is_structured() && (origins_below(inner) || sentences(value))) {
        open(value, inner, depth + 1);
        if (!last) out_ += ",";
      } else {
        out_ += one_line(value);
        if (!last) out_ += ",";
        out_ += remark_on(inner);
      }
      out_ += "\n";
    }
    out_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + (list ? "]" : "}");
  }

  static std::string one_line(const Json& value) {
    if (!value.is_structured()) return value.dump();
    std::string out(1, value.is_array() ? '[' : '{');
    bool first = true;
    for (const auto& [key, inner] : value.items()) {
      out += first ? "" : ", ";
      first = false;
      if (value.is_object()) out += Json(key).dump() + ": ";
      out += one_line(inner);
    }
    return out + (value.is_array() ? ']' : '}');
  }

  const std::vector<std::pair<std::string, std::string>>& origins_;
  std::string out_;
};

}  // namespace

void Draft::set(const std::string& key, Json value, const std::string& origin) {
  root_[pointer_of(key)] = std::move(value);
  std::erase_if(origins_, [&](const auto& one) { return one.first == key; });
  origins_.emplace_back(key, origin);
}

void Draft::erase(const std::string& key) {
  const Json::json_pointer pointer = pointer_of(key);
  if (!root_.contains(pointer)) return;
  root_[pointer.parent_pointer()].erase(pointer.back());
  std::erase_if(origins_, [&](const auto& one) {
    return one.first == key || one.first.starts_with(key + ".");
  });
}

bool Draft::has(const std::string& key) const {
  return root_.contains(pointer_of(key));
}

Json Draft::at(const std::string& key) const {
  const Json::json_pointer pointer = pointer_of(key);
  return root_.contains(pointer) ? root_[pointer] : Json(nullptr);
}

void Draft::remark(Standing standing, std::string what, std::string why) {
  remarks_.push_back({standing, std::move(what), std::move(why)});
}

void Draft::forget(Standing standing, const std::string& what) {
  std::erase_if(remarks_,
                [&](const Remark& one) { return one.standing == standing && one.what == what; });
}

std::string Draft::text() const {
  return Writer(origins_).write(root_);
}

}  // namespace spillway

// What a vLLM server printed as it started: its arguments, its release and its pool.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/intake/engine_call.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

using PyJson = nlohmann::json;

/// Values as Python prints them, as JSON: dicts and lists, constructor calls as objects of their
/// keywords, anything else as its text.
class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  PyJson value() {
    blanks();
    const char c = peek();
    if (c == '{') return dict();
    if (c == '[' || c == '(') return list(c == '[' ? ']' : ')');
    if (c == '\'' || c == '"') return quoted();
    if (c == '<') return enumerator();
    return bare();
  }

  /// "key='value', ..." up to `end`.
  PyJson keywords(char end) {
    PyJson out = PyJson::object();
    while (at_ < text_.size()) {
      blanks();
      if (peek() == end) {
        ++at_;
        break;
      }
      const std::size_t equals = text_.find_first_of("=,)", at_);
      if (equals == std::string_view::npos || text_[equals] != '=') {
        value();
        comma();
        continue;
      }
      std::string key(text_.substr(at_, equals - at_));
      at_ = equals + 1;
      out[key] = value();
      comma();
    }
    return out;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  void comma() {
    blanks();
    if (peek() == ',') ++at_;
  }

  PyJson dict() {
    PyJson out = PyJson::object();
    ++at_;
    while (at_ < text_.size()) {
      blanks();
      if (peek() == '}') {
        ++at_;
        break;
      }
      const std::size_t before = at_;
      const PyJson key = value();
      blanks();
      if (peek() == ':') {
        ++at_;
        out[key.is_string() ? key.get<std::string>() : key.dump()] = value();
      }
      comma();
      if (at_ == before) ++at_;
    }
    return out;
  }

  PyJson list(char end) {
    PyJson out = PyJson::array();
    ++at_;
    while (at_ < text_.size()) {
      blanks();
      if (peek() == end) {
        ++at_;
        break;
      }
      const std::size_t before = at_;
      out.push_back(value());
      comma();
      if (at_ == before) ++at_;
    }
    return out;
  }

  PyJson quoted() {
    const char quote = peek();
    std::string out;
    for (++at_; at_ < text_.size() && peek() != quote; ++at_) {
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      out += peek();
    }
    ++at_;
    return out;
  }

  /// "<ConfigFormat.AUTO: 'auto'>".
  PyJson enumerator() {
    const std::size_t end = std::min(text_.find('>', at_), text_.size());
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    const std::size_t from = inside.find('\'');
    const std::size_t to = inside.rfind('\'');
    return std::string(to > from ? inside.substr(from + 1, to - from - 1) : inside);
  }

  PyJson bare() {
    const std::size_t end = std::min(text_.find_first_of(",()[]{}", at_), text_.size());
    std::string word(text_.substr(at_, end - at_));
    at_ = end;
    if (peek() == '(') {
      ++at_;
      return keywords(')');
    }
    while (word.ends_with(' ')) word.pop_back();
    if (word == "True") return true;
    if (word == "False") return false;
    if (word == "None") return nullptr;
    const PyJson number = PyJson::parse(word, nullptr, false);
    return number.is_number() ? number : PyJson(word);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Arguments as a command line has them.
void add_words(const PyJson& arguments, EngineCall& call) {
  const auto add = [&](std::string text) { call.words.push_back({std::move(text)}); };
  for (const auto& [key, value] : arguments.items()) {
    std::string flag = "--" + key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (value.is_null()) continue;
    if (value.is_boolean()) {
      // Of all arguments, those that are off say nothing.
      if (value.get<bool>()) {
        add(flag);
      } else if (!call.namespaced) {
        add("--no-" + flag.substr(2));
      }
      continue;
    }
    if ((value.is_array() || value.is_object() || value.is_string()) && value.empty()) continue;
    add(flag);
    if (value.is_string()) {
      add(value.get<std::string>());
    } else if (value.is_array()) {
      for (const PyJson& item : value)
        add(item.is_string() ? item.get<std::string>() : item.dump());
    } else {
      add(value.dump());
    }
  }
}

std::string version_behind(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return {};
  line.remove_prefix(found + label.size());
  if (line.starts_with("v")) line.remove_prefix(1);
  std::size_t end = 0;
  while (end < line.size() && ((line[end] >= '0' && line[end] <= '9') || line[end] == '.')) ++end;
  std::string out(line.substr(0, end));
  while (out.ends_with('.')) out.pop_back();
  return out.find('.') == std::string::npos ? std::string() : out;
}

std::optional<std::int64_t> count_behind(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  std::string digits;
  for (const char c : line.substr(found + label.size())) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (c != ',') {
      break;
    }
  }
  const auto value = parse_whole<std::int64_t>(digits);
  return value > 0 ? value : std::nullopt;
}

class LogReader {
 public:
  explicit LogReader(const std::string& name) {
    call_.where = {name, 0, ""};
    call_.place = "server log";
  }

  EngineCalls read(std::string_view text) {
    std::int64_t line = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line;
      read_line(text.substr(0, end), line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    EngineCalls out;
    if (!arguments_) {
      if (!model_.empty()) call_.words.push_back({model_});
      add_engine();
      out.notes.push_back(
          "the log has no line \"non-default args\" (it stands in the first lines of a start): "
          "flags that were given are not known; add them with --vllm 'vllm serve ...'");
    }
    out.calls.push_back(std::move(call_));
    return out;
  }

 private:
  void read_line(std::string_view line, std::int64_t number) {
    for (const std::string_view label :
         {"API server version ", "LLM engine (v", "  version ", "version "}) {
      if (!call_.version.empty()) break;
      if (label == "version " && line.find("vLLM") == std::string_view::npos) continue;
      call_.version = version_behind(line, label);
      call_.version_from = fmt::format("line {}", number);
    }
    constexpr std::string_view kArguments = "non-default args: ";
    constexpr std::string_view kNamespace = "args: Namespace(";
    if (const auto at = line.find(kArguments); at != std::string_view::npos && !arguments_) {
      take(PythonReader(line.substr(at + kArguments.size())).value(), number);
    } else if (const auto all = line.find(kNamespace); all != std::string_view::npos) {
      if (!arguments_) {
        call_.namespaced = true;
        take(PythonReader(line.substr(all + kNamespace.size())).keywords(')'), number);
      }
    }
    constexpr std::string_view kModel = "with config: model='";
    if (const auto at = line.find(kModel); at != std::string_view::npos && model_.empty()) {
      const std::string_view rest = line.substr(at + kModel.size());
      model_ = std::string(rest.substr(0, rest.find('\'')));
      if (arguments_ && !has_model_) call_.words.insert(call_.words.begin(), ShellWord{model_});
      constexpr std::string_view kLabel = "with config: ";
      engine_ = PythonReader(line.substr(line.find(kLabel) + kLabel.size())).keywords(')');
    }
    if (const auto tokens = count_behind(line, "GPU KV cache size: ")) call_.pool_tokens = tokens;
    for (const std::string_view label :
         {"# GPU blocks: ", "# cuda blocks: ", "num_gpu_blocks is: "}) {
      if (const auto blocks = count_behind(line, label)) call_.pool_blocks = blocks;
    }
    constexpr std::string_view kDevice = "device_name=";
    if (const auto at = line.find(kDevice); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kDevice.size());
      call_.gpu = std::string(rest.substr(0, rest.find_first_of(",. \n")));
    }
  }

  /// The engine's own line, which has all settings: those that are flags.
  void add_engine() {
    PyJson flags = PyJson::object();
    for (const auto& [key, flag] :
         {std::pair{"max_seq_len", "max_model_len"},
          std::pair{"tensor_parallel_size", "tensor_parallel_size"},
          std::pair{"pipeline_parallel_size", "pipeline_parallel_size"},
          std::pair{"kv_cache_dtype", "kv_cache_dtype"}, std::pair{"quantization", "quantization"},
          std::pair{"enforce_eager", "enforce_eager"},
          std::pair{"enable_prefix_caching", "enable_prefix_caching"}}) {
      if (engine_.is_object() && engine_.contains(key)) flags[flag] = engine_[key];
    }
    add_words(flags, call_);
  }

  void take(const PyJson& arguments, std::int64_t number) {
    if (!arguments.is_object()) return;
    arguments_ = true;
    call_.where.line = number;
    PyJson rest = arguments;
    for (const char* key : {"model", "model_tag"}) {
      if (!has_model_ && rest.contains(key) && rest[key].is_string()) {
        call_.words.push_back({rest[key].get<std::string>()});
        has_model_ = true;
      }
      rest.erase(key);
    }
    for (const char* key : {"subparser", "dispatch_function"}) rest.erase(key);
    if (!has_model_ && !model_.empty()) call_.words.push_back({model_});
    add_words(rest, call_);
  }

  EngineCall call_;
  std::string model_;
  PyJson engine_;
  bool arguments_ = false;
  bool has_model_ = false;
};

}  // namespace

EngineCalls calls_in_log(std::string_view text, const std::string& name) {
  return LogReader(name).read(text);
}

}  // namespace spillway

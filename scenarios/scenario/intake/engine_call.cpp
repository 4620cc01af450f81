#include "scenarios/scenario/intake/engine_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/scenario/intake/vllm_flags.hpp"

namespace spillway {

namespace {

struct OtherEngine {
  std::string_view word;  ///< program or module that starts it
  std::string_view name;
};
constexpr OtherEngine kOthers[] = {{"sglang", "SGLang"},
                                   {"dynamo.trtllm", "TensorRT-LLM by Dynamo"},
                                   {"tensorrt_llm", "TensorRT-LLM"},
                                   {"tritonserver", "Triton"},
                                   {"text-generation-launcher", "TGI"},
                                   {"text-generation-inference", "TGI"},
                                   {"lmdeploy", "LMDeploy"},
                                   {"llama-server", "llama.cpp"},
                                   {"ollama", "Ollama"},
                                   {"mlc_llm", "MLC"}};

/// Options of `docker run` that take no value; every other one does.
constexpr std::string_view kDockerSwitches[] = {"--detach",
                                                "--interactive",
                                                "--tty",
                                                "--rm",
                                                "--init",
                                                "--privileged",
                                                "--read-only",
                                                "--publish-all",
                                                "--quiet",
                                                "--no-healthcheck",
                                                "--oom-kill-disable",
                                                "--disable-content-trust",
                                                "--sig-proxy",
                                                "--replace"};

bool is_docker_switch(std::string_view option) {
  if (!option.starts_with("--")) {  // "-itd"
    return option.find_first_not_of("ditPq", 1) == std::string_view::npos;
  }
  return std::find(std::begin(kDockerSwitches), std::end(kDockerSwitches), option) !=
         std::end(kDockerSwitches);
}

bool is_container_tool(std::string_view base) {
  return base == "docker" || base == "podman" || base == "nerdctl";
}

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

const OtherEngine* other_engine(std::string_view word) {
  for (const OtherEngine& other : kOthers) {
    const bool module = word.starts_with(std::string(other.word) + ".");
    if (base_of(word) == other.word || module) return &other;
  }
  return nullptr;
}

bool is_sglang_module(std::string_view module) {
  return module == "sglang.launch_server" || module == "dynamo.sglang";
}

/// Subcommands of trtllm-serve other than "serve" (tensorrt_llm/commands/serve.py).
bool is_other_trtllm(std::string_view word) {
  return word.starts_with("disaggregated") || word == "mm_embedding_serve" || word == "grpc";
}

bool is_shell(std::string_view word) {
  const std::string_view base = base_of(word);
  return base == "sh" || base == "bash" || base == "ash" || base == "zsh";
}

/// Looks through the words of one command.
class CallFinder {
 public:
  CallFinder(const ShellCommand& command, const EngineCall& around, EngineCalls& out)
      : words_(command.words), around_(around), out_(out) {
    for (const auto& [name, value] : command.environment) around_.environment[name] = value;
    if (command.line > 0) around_.where.line = command.line;
  }

  void find() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (is_shell(word) && i + 2 < words_.size() && words_[i + 1].text.ends_with("c") &&
          words_[i + 1].text.starts_with("-")) {
        const ShellText inner =
            read_shell(words_[i + 2].text, around_.environment, around_.where.line);
        around_.files.insert(inner.files.begin(), inner.files.end());
        return find_calls(inner.commands, around_, out_);
      }
      const std::string_view base = base_of(word);
      if (is_container_tool(base) && i == begin_ && i + 1 < words_.size() &&
          words_[i + 1].text == "run") {
        return container(i + 2);
      }
      if (base == "vllm" && i + 1 < words_.size() && words_[i + 1].text == "serve") {
        return call(i + 2);
      }
      if (base == "vllm" && i == begin_ && i + 1 < words_.size()) {
        out_.notes.push_back(fmt::format("`vllm {}`", words_[i + 1].text));
        return;
      }
      const bool module = word == "-m" && i + 1 < words_.size();
      if (module && (words_[i + 1].text.starts_with("vllm.entrypoints") ||
                     words_[i + 1].text == "dynamo.vllm")) {
        return call(i + 2);
      }
      if ((module && is_sglang_module(words_[i + 1].text)) ||
          (base == "sglang" && i + 1 < words_.size() && words_[i + 1].text == "serve")) {
        return call(i + 2, "sglang");
      }
      const bool trtllm = module && words_[i + 1].text == "tensorrt_llm.commands.serve";
      if (base == "trtllm-serve" || trtllm) {
        const std::size_t from = trtllm ? i + 2 : i + 1;
        if (from >= words_.size() || !is_other_trtllm(words_[from].text)) {
          return call(from, "trtllm");
        }
        out_.notes.push_back("`trtllm-serve " + words_[from].text + "`");
        return;
      }
      if (const OtherEngine* other = other_engine(module ? words_[i + 1].text : word)) {
        if (module || i == begin_) {
          out_.notes.push_back(std::string(other->name));
          return;
        }
      }
      if (word == "sudo" || word == "exec" || word == "nohup" || word == "time" || word == "env" ||
          word == "uv" || word == "run") {
        if (i == begin_) ++begin_;
      }
    }
  }

  /// The words behind `from` are the engine's arguments.
  void call(std::size_t from, std::string_view engine = "vllm") {
    const auto marks_sglang = [](const ShellWord& word) {
      return word.text.starts_with("--mem-fraction-static") ||
             word.text.starts_with("--enable-hierarchical-cache") ||
             word.text.starts_with("--model-path");
    };
    if (engine == "vllm" && std::any_of(words_.begin(), words_.end(), marks_sglang)) {
      out_.notes.emplace_back("SGLang");
      return;
    }
    while (from < words_.size() && words_[from].text == "serve") ++from;
    EngineCall found = around_;
    found.engine = engine;
    found.words.assign(words_.begin() + static_cast<std::ptrdiff_t>(from), words_.end());
    out_.calls.push_back(std::move(found));
  }

 private:
  /// Behind `docker run`: options, the image, its arguments.
  void container(std::size_t i) {
    std::vector<ShellWord> entry;
    for (; i < words_.size() && words_[i].text.starts_with("-"); ++i) {
      const std::string& word = words_[i].text;
      const std::size_t equals = word.find('=');
      const bool value = equals == std::string::npos && !is_docker_switch(word);
      const std::string_view option = std::string_view(word).substr(0, equals);
      const std::string given = value && i + 1 < words_.size() ? words_[i + 1].text
                                : equals == std::string::npos  ? std::string()
                                                               : word.substr(equals + 1);
      if (option == "-e" || option == "--env") {
        const std::size_t at = given.find('=');
        if (at != std::string::npos)
          around_.environment[given.substr(0, at)] = given.substr(at + 1);
      }
      if (option == "--entrypoint") entry.push_back({given});
      if (value) ++i;
    }
    if (i >= words_.size()) return;
    const std::string image = words_[i].text;
    around_.image = image;
    if (std::string release = release_of_image(image); !release.empty()) {
      around_.version = std::move(release);
      around_.version_from = "image " + image;
    }
    ShellCommand inside;
    inside.environment = around_.environment;
    inside.line = around_.where.line;
    inside.words = entry;
    inside.words.insert(inside.words.end(), words_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        words_.end());
    const std::size_t before = out_.calls.size() + out_.notes.size();
    CallFinder(inside, around_, out_).find();
    if (out_.calls.size() + out_.notes.size() != before || !entry.empty()) return;
    if (is_vllm_image(image)) {
      CallFinder direct(inside, around_, out_);
      direct.call(0);
    } else if (image.find("sglang") != std::string::npos) {
      CallFinder(inside, around_, out_).call(0, "sglang");
    } else if (const OtherEngine* other = image_engine(image)) {
      out_.notes.push_back(std::string(other->name));
    }
  }

  static const OtherEngine* image_engine(const std::string& image) {
    for (const OtherEngine& other : kOthers) {
      if (image.find(other.word) != std::string::npos) return &other;
    }
    return nullptr;
  }

  std::vector<ShellWord> words_;
  EngineCall around_;
  EngineCalls& out_;
  std::size_t begin_ = 0;
};

/// "EOF" of "cat > file <<'EOF'"; empty: the line has none.
std::string here_word(std::string_view line) {
  const std::size_t mark = line.find("<<");
  if (mark == std::string_view::npos) return {};
  std::string out;
  for (const char c : line.substr(std::min(line.find_first_not_of("<-", mark), line.size()))) {
    const bool quote = c == '\'' || c == '"' || (c == ' ' && out.empty());
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && !quote) break;
    if (!quote) out += c;
  }
  return out;
}

[[noreturn]] void nothing_found(const EngineCalls& found, const SourceRef& where) {
  constexpr std::string_view kExpected =
      "expected \"vllm serve ...\", \"python -m vllm.entrypoints...\", \"docker run ... "
      "vllm/vllm-openai ...\", \"python -m sglang.launch_server ...\" or \"trtllm-serve ...\"";
  if (found.notes.empty()) {
    throw InputError(Fault::kUsage, where, fmt::format("starts no engine; {}", kExpected));
  }
  throw InputError(
      Fault::kUsage, where,
      fmt::format("starts {}, which is not modelled; {}", found.notes.front(), kExpected));
}

}  // namespace

bool is_vllm_image(std::string_view image) {
  return image.find("vllm") != std::string_view::npos;
}

std::string release_of_image(std::string_view image) {
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon == std::string_view::npos || !is_vllm_image(image)) return {};
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with("v")) tag.remove_prefix(1);
  // Tags of other publishers count their own releases; vLLM's begin with 0 so far.
  if (!tag.starts_with("0.")) return {};
  std::size_t end = 0;
  while (end < tag.size() &&
         (std::isdigit(static_cast<unsigned char>(tag[end])) != 0 || tag[end] == '.')) {
    ++end;
  }
  return std::string(tag.substr(0, end));
}

void start_by_arguments(const ShellCommand& command, const EngineCall& around, EngineCalls& out) {
  CallFinder(command, around, out).call(0);
}

void find_calls(const std::vector<ShellCommand>& commands, const EngineCall& around,
                EngineCalls& out) {
  for (const ShellCommand& command : commands) CallFinder(command, around, out).find();
}

EngineCalls calls_in_command(std::string_view text, const std::string& name) {
  EngineCall around;
  around.where = {name, 0, ""};
  const ShellText read = read_shell(text, {});
  around.files = read.files;
  EngineCalls out;
  find_calls(read.commands, around, out);
  if (!read.fault.empty()) {
    throw InputError(Fault::kUsage, around.where, read.fault + "; expected a whole command");
  }
  if (!out.calls.empty()) {
    for (const std::string& variable : read.reassigned) {
      out.notes.push_back(fmt::format(
          "{} has several values in the script: the last one was used, whatever branch it is in",
          variable));
    }
    return out;
  }
  // Arguments alone: what somebody copied behind "vllm serve".
  if (read.commands.size() == 1 && out.notes.empty()) {
    const std::vector<ShellWord>& words = read.commands.front().words;
    const bool tool = words.empty() || is_container_tool(base_of(words.front().text));
    const bool flags = !tool && std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
      const std::string_view flag = std::string_view(word.text).substr(0, word.text.find('='));
      return find_vllm_flag(flag) != nullptr;
    });
    if (flags) {
      around.words = words;
      around.environment = read.commands.front().environment;
      out.calls.push_back(std::move(around));
      return out;
    }
  }
  nothing_found(out, around.where);
}

IntakeKind intake_kind(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return IntakeKind::kCommand;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (text[first] == '{' && (has("\"hidden_size\"") || has("\"model_type\"") ||
                             has("\"architectures\"") || has("\"num_hidden_layers\""))) {
    return IntakeKind::kModelConfig;
  }
  for (const std::string_view line :
       {"non-default args", "vLLM API server version", "LLM engine (v",
        "GPU KV cache size:", "# GPU blocks:", "args: Namespace("}) {
    if (has(line)) return IntakeKind::kLog;
  }
  // A manifest or values: some line is "key:" with nothing, or a list, below it, and belongs to no
  // file that a script writes.
  std::size_t at = 0;
  std::string file_ends;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    if (!file_ends.empty()) {
      if (line.ends_with(file_ends)) file_ends.clear();
      continue;
    }
    file_ends = here_word(line);
    if (line.starts_with("apiVersion:") || line.starts_with("kind:")) return IntakeKind::kManifest;
    const std::size_t key = line.find_first_not_of(" -");
    if (key == std::string_view::npos || line.find_first_of(" \"'$", key) != std::string_view::npos)
      continue;
    if (line.ends_with(":") && line.find_first_of("/()\\", key) == std::string_view::npos) {
      return IntakeKind::kManifest;
    }
  }
  return IntakeKind::kCommand;
}

}  // namespace spillway

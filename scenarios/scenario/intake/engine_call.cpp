#include "scenarios/scenario/intake/engine_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/scenario/intake/mooncake_master.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"

namespace spillway {

namespace {

struct OtherEngine {
  std::string_view word;  ///< program or module that starts it
  std::string_view name;
};
constexpr OtherEngine kOthers[] = {{"sglang", "SGLang"},
                                   {"tensorrt_llm", "TensorRT-LLM"},
                                   {"tritonserver", "Triton"},
                                   {"text-generation-launcher", "TGI"},
                                   {"text-generation-inference", "TGI"},
                                   {"lmdeploy", "LMDeploy"},
                                   {"llama-server", "llama.cpp"},
                                   {"ollama", "Ollama"},
                                   {"mlc_llm", "MLC"}};

/// Python modules that start an engine. Dynamo's workers take the engine's own flags, and some of
/// theirs (ai-dynamo/dynamo, components/src/dynamo/{vllm,sglang,trtllm}).
struct StartModule {
  std::string_view module;  ///< or its beginning, with a dot at the end
  std::string_view engine;
};
constexpr StartModule kStarts[] = {{"vllm.entrypoints.", "vllm"},
                                   {"dynamo.vllm", "vllm"},
                                   {"sglang.launch_server", "sglang"},
                                   {"dynamo.sglang", "sglang"},
                                   {"tensorrt_llm.commands.serve", "trtllm"},
                                   {"dynamo.trtllm", "trtllm"}};

const StartModule* start_of(std::string_view module) {
  for (const StartModule& row : kStarts) {
    const bool family = row.module.ends_with('.') && module.starts_with(row.module);
    if (family || module == row.module) return &row;
  }
  return nullptr;
}

/// Publishers whose images with vLLM count their own releases.
constexpr std::string_view kOwnReleases[] = {"lmcache/", "ai-dynamo/", "llm-d/"};

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
      if (module && words_[i + 1].text == "dynamo.frontend") return front_end(i + 2);
      if (i == begin_ && (base == kMooncakeMaster || base == kMooncakeClient)) {
        return store(i + 1, base);
      }
      if (module && words_[i + 1].text == kMooncakeService) return store(i + 2, kMooncakeService);
      const StartModule* start = module ? start_of(words_[i + 1].text) : nullptr;
      if (start != nullptr && start->engine != "trtllm") return call(i + 2, start->engine);
      if (base == "sglang" && i + 1 < words_.size() && words_[i + 1].text == "serve") {
        return call(i + 2, "sglang");
      }
      if (base == "trtllm-serve" || start != nullptr) {
        const std::size_t from = start != nullptr ? i + 2 : i + 1;
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
    if (engine == "vllm" && marks_sglang()) {
      out_.notes.emplace_back("SGLang");
      return;
    }
    while (from < words_.size() && words_[from].text == "serve") ++from;
    EngineCall found = around_;
    found.engine = engine;
    found.words.assign(words_.begin() + static_cast<std::ptrdiff_t>(from), words_.end());
    out_.calls.push_back(std::move(found));
  }

  /// Arguments alone: the flags tell whose they are.
  void arguments() { call(0, marks_sglang() ? "sglang" : "vllm"); }

 private:
  bool marks_sglang() const {
    return std::any_of(words_.begin(), words_.end(), [](const ShellWord& word) {
      return word.text.starts_with("--mem-fraction-static") ||
             word.text.starts_with("--enable-hierarchical-cache") ||
             word.text.starts_with("--model-path");
    });
  }

  /// A process of Mooncake Store.
  void store(std::size_t from, std::string_view program) {
    EngineCall found = around_;
    found.engine = program;
    found.words.assign(words_.begin() + static_cast<std::ptrdiff_t>(from), words_.end());
    out_.stores.push_back(std::move(found));
  }

  /// How requests find the workers.
  void front_end(std::size_t from) {
    const auto variable = around_.environment.find("DYN_ROUTER_MODE");
    if (variable != around_.environment.end()) out_.routing = variable->second;
    for (std::size_t i = from; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (word.starts_with("--router-mode=")) out_.routing = word.substr(14);
      if (word == "--router-mode" && i + 1 < words_.size()) out_.routing = words_[i + 1].text;
    }
  }

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
      CallFinder(inside, around_, out_).call(0);
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
  for (const std::string_view publisher : kOwnReleases) {
    if (image.find(publisher) != std::string_view::npos) return {};
  }
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
  CallFinder(command, around, out).arguments();
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
    for (EngineCall& call : out.calls) {
      if (out.routing.empty()) break;
      call.routing = out.routing;
      call.routing_from = "--router-mode " + out.routing;
    }
    for (const std::string& variable : read.reassigned) {
      out.notes.push_back(fmt::format(
          "{} has several values in the script: the last one was used, whatever branch it is in",
          variable));
    }
    return out;
  }
  if (!out.stores.empty()) return out;
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

}  // namespace spillway

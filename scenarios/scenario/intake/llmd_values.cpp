// llm-d: values of its modelservice chart. The chart starts vLLM for the model itself, or leaves
// that to the container's own command or image (llm-d-incubation/llm-d-modelservice,
// charts/llm-d-modelservice/values.yaml and templates/_helpers.tpl; llm-d/llm-d,
// guides/inference-scheduling/ms-inference-scheduling/values.yaml @ 126f65d6).
#include <fmt/format.h>

#include "scenarios/scenario/intake/manifest_kinds.hpp"

namespace spillway {

namespace {

class ValuesReader {
 public:
  ValuesReader(const YAML::Node& root, const EngineCall& around, EngineCalls& out)
      : root_(root), around_(around), out_(out) {}

  void read() {
    const YAML::Node artifacts = root_["modelArtifacts"];
    expect_map(artifacts, file(), "modelArtifacts");
    model_ = model_of_uri(scalar(child(artifacts, "uri")));
    const std::string name = scalar(child(artifacts, "name"));
    if (model_.empty() || model_.find("://") != std::string::npos) model_ = name;
    name_ = name;
    for (const char* part : {"decode", "prefill"}) role(part);
  }

 private:
  const std::string& file() const { return around_.where.file; }

  void role(const std::string& part) {
    const YAML::Node node = root_[part];
    if (!node) return;
    expect_map(node, file(), part);
    if (!truth_at(child(node, "create"), file(), part + ".create").value_or(true)) return;
    EngineCall call = around_;
    call.place = part;
    call.where.line = node.Mark().line + 1;
    take_surroundings(root_, call);
    take_surroundings(node, call);
    call.replicas = whole_at(child(node, "replicas"), file(), part + ".replicas");
    const YAML::Node containers = child(node, "containers");
    if (!containers || !containers.IsSequence() || containers.size() == 0) return;
    container(containers[0], node, part, std::move(call));
  }

  void container(const YAML::Node& one, const YAML::Node& role, const std::string& part,
                 EngineCall call) {
    take_surroundings(one, call);
    take_container(one, call);
    const std::string start = scalar(one["modelCommand"]);
    ShellCommand command;
    command.line = one.Mark().line + 1;
    for (const char* key : {"command", "args"}) {
      for (const std::string& word : texts(one[key])) {
        command.words.push_back(resolved_word(word, call));
      }
    }
    if (start == "custom") return find_calls({command}, call, out_);
    if (!start.empty() && start != "vllmServe" && start != "imageDefault") {
      throw InputError(
          Fault::kUsage, place_of(one["modelCommand"], file(), "modelCommand"),
          fmt::format("expected vllmServe, imageDefault or custom, found \"{}\"", start));
    }
    if (start == "vllmServe") call.words.push_back({model_});
    call.words.insert(call.words.end(), command.words.begin(), command.words.end());
    if (start == "vllmServe" && !name_.empty() && !has(call, "--served-model-name")) {
      call.words.push_back({"--served-model-name"});
      call.words.push_back({name_});
    }
    const YAML::Node ranks = child(role, "parallelism");
    expect_map(ranks, file(), part + ".parallelism");
    for (const char* key : {"tensor", "data"}) {
      const std::string at = fmt::format("{}.parallelism.{}", part, key);
      const auto size = whole_at(child(ranks, key), file(), at);
      const std::string flag = fmt::format("--{}-parallel-size", key);
      if (!size || *size < 2) continue;
      check_ranks(call, flag, *size, child(ranks, key), at);
      if (start != "vllmServe" || has(call, flag)) continue;
      call.words.push_back({flag});
      call.words.push_back({std::to_string(*size)});
    }
    out_.calls.push_back(std::move(call));
  }

  static bool has(const EngineCall& call, std::string_view flag) {
    for (const ShellWord& word : call.words) {
      if (word.text == flag || word.text.starts_with(std::string(flag) + "=")) return true;
    }
    return false;
  }

  /// The chart and the arguments may name different numbers of ranks.
  void check_ranks(const EngineCall& call, const std::string& flag, std::int64_t size,
                   const YAML::Node& node, const std::string& key) const {
    for (std::size_t i = 0; i < call.words.size(); ++i) {
      const std::string& word = call.words[i].text;
      std::string other;
      if (word.starts_with(flag + "=")) other = word.substr(flag.size() + 1);
      if (word == flag && i + 1 < call.words.size()) other = call.words[i + 1].text;
      if (other.empty() || other == std::to_string(size)) continue;
      throw InputError(
          Fault::kUsage, place_of(node, file(), key),
          fmt::format("is {}, and args have {} {}; expected the same", size, flag, other));
    }
  }

  YAML::Node root_;
  const EngineCall& around_;
  EngineCalls& out_;
  std::string model_;
  std::string name_;
};

}  // namespace

bool is_llmd_values(const YAML::Node& node) {
  return node["modelArtifacts"] && (node["decode"] || node["prefill"]);
}

void read_llmd_values(const YAML::Node& node, const EngineCall& around, EngineCalls& out) {
  ValuesReader(node, around, out).read();
}

}  // namespace spillway

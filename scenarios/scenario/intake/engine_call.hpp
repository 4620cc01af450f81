// Where in what somebody has an engine is started: command lines, manifests, logs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario/intake/draft.hpp"
#include "scenarios/scenario/intake/shell.hpp"
#include "sim/error.hpp"

namespace spillway {

/// Storage that a container sees: it bounds a tier that lies on it.
struct Volume {
  std::optional<std::int64_t> bytes{};
  bool shared = false;  ///< by all instances
  std::string from{};   ///< "emptyDir kv-cache"
};
using Volumes = std::map<std::string, Volume, std::less<>>;

/// One start of an engine, as words of its own command line, with what stands around it.
struct EngineCall {
  std::string engine = "vllm";  ///< or "sglang", "trtllm"; "mooncake": its processes alone
  SourceRef where;
  std::string place;  ///< "Deployment decode, container modelserver"; empty: a command line
  std::vector<ShellWord> words;  ///< behind "vllm serve"
  ShellVariables environment;
  ShellVariables files{};    ///< by name, that stand beside the command in the same text
  std::string version;       ///< "0.9.1", where an image or a log says it
  std::string version_from;  ///< "image vllm/vllm-openai:v0.9.1"
  std::string image;
  std::string gpu;                          ///< as a node selector or a log calls it
  std::string memory;                       ///< of its container, as the manifest has it
  std::string mig;                          ///< "3g.40gb"
  std::optional<std::int64_t> gpus;         ///< of one instance
  std::optional<std::int64_t> replicas;     ///< of the instance
  std::optional<std::int64_t> pool_tokens;  ///< that a log's KV cache holds
  std::optional<std::int64_t> pool_blocks;
  bool namespaced = false;  ///< a log's Namespace(...): all arguments, defaults too
  Volumes volumes{};        ///< by the path where they are mounted
  Volumes pod_volumes{};    ///< by name, as the pod has them
  /// Of keys of --kv-transfer-config that a resource says otherwise: "spec.x.cpu: 10Gi".
  ShellVariables origins{};
  std::string routing{};  ///< the router's own name of its policy
  std::string routing_from{};
  std::string settings{};  ///< the file that is all there is of it, e.g. LMCache's
  std::map<std::string, SourceRef, std::less<>> places{};  ///< of variables
  /// Processes of Mooncake Store that the same inputs start: the master, clients (`engine` is the
  /// program).
  std::vector<EngineCall> stores{};
  std::vector<Remark> remarks{};  ///< on parts of the input that its kind's reader leaves out
};

/// What a text holds, and what of it was left aside.
struct EngineCalls {
  std::vector<EngineCall> calls;
  std::vector<std::string> notes;
  std::vector<EngineCall> stores{};  ///< processes of Mooncake Store beside them
  std::string routing{};             ///< of the front end that the same text starts
};

/// The volume that holds `path`; nullptr where none of them does.
const Volume* volume_of(const EngineCall& call, std::string_view path);

/// All throw InputError (exit 2) where the text cannot be read, and where it starts none of vLLM,
/// SGLang and TensorRT-LLM, naming what it starts instead. `name` of the file, or "--vllm".
/// input_kinds.hpp tells which of them reads a text.
EngineCalls calls_in_command(std::string_view text, const std::string& name);
EngineCalls calls_in_manifest(std::string_view text, const std::string& name);
EngineCalls calls_in_log(std::string_view text, const std::string& name);
/// Settings alone, without a command: LMCache's, vLLM's --config, TensorRT-LLM's options.
EngineCalls calls_in_settings(std::string_view text, const std::string& name);

/// The starts of an engine among commands of a shell; for containers, whose words need no shell,
/// `commands` has one. An image's own start (`entry`) goes in front of words that are none.
void find_calls(const std::vector<ShellCommand>& commands, const EngineCall& around,
                EngineCalls& out);
/// The words are arguments of an image that starts the engine itself.
void start_by_arguments(const ShellCommand& command, const EngineCall& around, EngineCalls& out);
/// The release in the tag of a vLLM image, e.g. "0.9.1" of "vllm/vllm-openai:v0.9.1".
std::string release_of_image(std::string_view image);
bool is_vllm_image(std::string_view image);

}  // namespace spillway

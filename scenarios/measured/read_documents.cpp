// Measured files that are one JSON document: engine arguments.
#include "scenarios/config/object_reader.hpp"
#include "scenarios/measured/measured_parts.hpp"

namespace spillway {

namespace {

constexpr double kMost = 4e9;

std::optional<std::uint32_t> count(const ObjectReader& object, std::string_view key) {
  const auto value = object.number(key, 0, kMost);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

template <class T>
void take(std::optional<T>& to, std::optional<T> value) {
  if (value) to = std::move(value);
}

/// What an engine was started with, and what it made of it.
void read_engine(const ObjectReader& top, MeasuredParts& parts) {
  MeasuredFacts& facts = parts.facts;
  facts.engine = "vllm";
  facts.source = top.where().file;
  take(facts.model, top.text("model"));
  take(facts.version, top.text("vllm_version"));
  if (const auto requests = top.integer("num_requests"); requests && *requests > 0) {
    parts.expected.push_back({top.where("num_requests"), static_cast<std::uint64_t>(*requests)});
  }
  if (const auto args = top.open_object("engine_kwargs")) {
    take(facts.max_num_seqs, count(*args, "max_num_seqs"));
    take(facts.max_num_batched_tokens, count(*args, "max_num_batched_tokens"));
    take(facts.max_model_len, count(*args, "max_model_len"));
    take(facts.tensor_parallel_size, count(*args, "tensor_parallel_size"));
    take(facts.num_gpu_blocks, count(*args, "num_gpu_blocks_override"));
  }
  if (const auto cache = top.open_object("kv_cache")) {
    take(facts.num_gpu_blocks, count(*cache, "num_gpu_blocks"));
  }
}

}  // namespace

void read_measured_json(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  std::string text;
  std::string_view line;
  while (lines->next(line)) text.append(line).push_back('\n');
  const JsonSource source = JsonSource::from_text(lines->path(), text, Fault::kTrace);
  const ObjectReader top(source, "", "measured run");
  if (top.has("engine_kwargs")) return read_engine(top, parts);
  throw InputError(Fault::kTrace, {lines->path(), 0, ""},
                   "expected engine arguments (engine_kwargs), found neither");
}

}  // namespace spillway

// What a vLLM server prints: every ten seconds its counters, and at the start what it found to
// work with. Any line may have anything in front.
//
//   INFO 05-19 10:13:31 [loggers.py:271] Engine 000: Avg prompt throughput: 12068.8 tokens/s, Avg
//   generation throughput: 734.9 tokens/s, Running: 18 reqs, Waiting: 33 reqs, GPU KV cache usage:
//   87.7%, Prefix cache hit rate: 0.0%

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/numbers.hpp"

namespace spillway {

namespace {

/// The number behind `label`, with commas between its digits or without.
std::optional<double> number_behind(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  std::string digits;
  for (const char c : line.substr(found + label.size())) {
    if ((c >= '0' && c <= '9') || c == '.') {
      digits += c;
    } else if (c != ',') {
      break;
    }
  }
  if (digits.ends_with('.')) digits.pop_back();  // the end of a sentence
  return parse_real(digits);
}

std::string text_between(std::string_view line, std::string_view before, char after) {
  const std::size_t found = line.find(before);
  if (found == std::string_view::npos) return {};
  line.remove_prefix(found + before.size());
  return std::string(line.substr(0, line.find(after)));
}

int two_digits(std::string_view text, std::size_t at) {
  return 10 * (text[at] - '0') + (text[at + 1] - '0');
}

/// Seconds since new year of "MM-DD hh:mm:ss", the first such text on the line. A leap year's
/// calendar, so that every date has a place.
std::optional<double> time_of(std::string_view line) {
  constexpr std::string_view kShape = "00-00 00:00:00";
  constexpr int kDaysBefore[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  for (std::size_t at = 0; at + kShape.size() <= line.size(); ++at) {
    const std::string_view text = line.substr(at, kShape.size());
    bool fits = true;
    for (std::size_t i = 0; i < kShape.size() && fits; ++i) {
      fits = kShape[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == kShape[i];
    }
    if (!fits) continue;
    const int month = two_digits(text, 0);
    if (month < 1 || month > 12) continue;
    const int days = kDaysBefore[month - 1] + two_digits(text, 3) - 1;
    return 86400.0 * days + 3600.0 * two_digits(text, 6) + 60.0 * two_digits(text, 9) +
           two_digits(text, 12);
  }
  return std::nullopt;
}

/// What no machine has is no figure of one.
template <class Count>
void take(std::optional<Count>& to, std::optional<double> value) {
  constexpr double kMostOfAny = sizeof(Count) > 4 ? 1e15 : 4e9;
  if (value && *value > 0 && *value < kMostOfAny) to = static_cast<Count>(*value);
}

void read_facts(std::string_view line, MeasuredFacts& facts) {
  for (const std::string_view label : {"# GPU blocks: ", "# cuda blocks: ", "num_gpu_blocks is: ",
                                       "num_gpu_blocks=\"", "num_gpu_blocks_override="}) {
    take(facts.num_gpu_blocks, number_behind(line, label));
  }
  take(facts.block_tokens, number_behind(line, "block_size=\""));
  take(facts.kv_tokens, number_behind(line, "GPU KV cache size: "));
  take(facts.max_model_len, number_behind(line, "Maximum concurrency for "));
  take(facts.max_num_batched_tokens, number_behind(line, "max_num_batched_tokens="));
  take(facts.tensor_parallel_size, number_behind(line, "tensor_parallel_size="));
  take(facts.data_parallel_size, number_behind(line, "data_parallel_size="));
  if (line.find("enable_expert_parallel=True") != std::string_view::npos) {
    facts.enable_expert_parallel = true;
  }
  const std::string version = text_between(line, "LLM engine (v", ')');
  if (!version.empty()) facts.version = version;
  const std::string model = text_between(line, "with config: model='", '\'');
  if (!model.empty()) facts.model = model;
  if (line.find("enforce_eager=True") != std::string_view::npos) facts.enforce_eager = true;
}

/// The number behind `label`, as Python prints one: 1.5e-05 too.
double float_behind(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return 0;
  return leading_real(line.substr(found + label.size())).value;
}

/// What OffloadingConnector copied one way, by its "KV Transfer metrics" lines.
struct Copied {
  double bytes = 0;
  double seconds = 0;

  void add(std::string_view line, const std::string& direction) {
    bytes += float_behind(line, direction + "_total_bytes=");
    seconds += float_behind(line, direction + "_total_time=");
  }
  std::optional<double> gbs() const {
    return bytes > 0 && seconds > 0 ? std::optional(bytes / seconds / 1e9) : std::nullopt;
  }
};

/// Several engines log one line each, one after another: their sums, and the mean of usage.
struct Tick {
  MeasuredCounters sum;
  double engines = 0;
  double engine = 0;  ///< number of the last one added
};

void close(std::optional<Tick>& tick, CounterFile& counters) {
  if (!tick) return;
  if (tick->sum.kv_usage != kUnknownTime) tick->sum.kv_usage /= tick->engines;
  counters.rows.push_back(tick->sum);
  tick.reset();
}

}  // namespace

void read_server_log(std::unique_ptr<LineReader> lines, MeasuredParts& parts) {
  CounterFile counters;
  counters.path = lines->path();
  counters.wall_clock = true;
  std::optional<Tick> tick;
  bool reused = false;
  Copied stored;
  Copied loaded;
  std::string_view line;
  while (lines->next(line)) {
    read_facts(line, parts.facts);
    if (line.find("KV Transfer metrics: ") != std::string_view::npos) {
      stored.add(line, "GPU_to_CPU");
      loaded.add(line, "CPU_to_GPU");
    }
    const auto prompt = number_behind(line, "Avg prompt throughput: ");
    if (!prompt) continue;
    const auto where = [&](const char* field) {
      return SourceRef{lines->path(), lines->line(), field};
    };
    const auto at = time_of(line);
    if (!at) throw InputError(Fault::kTrace, where("time"), "expected MM-DD hh:mm:ss, found none");
    const auto running = number_behind(line, "Running: ");
    auto waiting = number_behind(line, "Waiting: ");
    if (!waiting) waiting = number_behind(line, "Pending: ");  // v0
    if (!running || !waiting) {
      throw InputError(Fault::kTrace, where("Running"),
                       "expected numbers of running and waiting requests, found none");
    }
    const double engine = number_behind(line, "Engine ").value_or(0);
    if (tick && engine <= tick->engine) close(tick, counters);
    if (!tick) {
      tick = Tick{};
      tick->sum.at_s = *at;
    }
    tick->engine = engine;
    tick->engines += 1;
    tick->sum.running += *running;
    tick->sum.waiting += *waiting;
    tick->sum.prompt_tokens_per_s += *prompt;
    tick->sum.output_tokens_per_s += number_behind(line, "Avg generation throughput: ").value_or(0);
    if (const auto usage = number_behind(line, "GPU KV cache usage: ")) {
      if (tick->sum.kv_usage == kUnknownTime) tick->sum.kv_usage = 0;
      tick->sum.kv_usage += *usage / 100;
    }
    reused = reused || number_behind(line, "Prefix cache hit rate: ").value_or(0) > 0;
  }
  close(tick, counters);
  if (stored.gbs()) parts.facts.d2h_gbs = stored.gbs();
  if (loaded.gbs()) parts.facts.h2d_gbs = loaded.gbs();
  parts.facts.engine = "vllm";
  parts.facts.source = lines->path();
  for (std::size_t i = 1; i < counters.rows.size(); ++i) {
    if (counters.rows[i].at_s > counters.rows[i - 1].at_s) continue;
    throw InputError(Fault::kTrace, {lines->path(), 0, "time"},
                     fmt::format("expected counters in the order of time, found sample {} no later "
                                 "than the one before: the log of more than one server?",
                                 i + 1));
  }
  if (reused) {
    parts.notes.push_back(fmt::format(
        "{}: the engine found prompts in its prefix cache; a request log does not say which, so "
        "what is simulated from it computes more",
        lines->path()));
  }
  if (!counters.rows.empty()) parts.counters.push_back(std::move(counters));
}

}  // namespace spillway

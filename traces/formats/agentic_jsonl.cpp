#include "traces/formats/agentic_jsonl.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/decimal.hpp"
#include "sim/rng.hpp"
#include "traces/formats/json_row.hpp"
#include "traces/interner.hpp"

namespace spillway {

namespace {

enum SessionKey : std::size_t { kId, kBlockSize, kRequests, kScope };
constexpr std::array<std::string_view, 4> kSessionNames = {"id", "block_size", "requests",
                                                           "hash_id_scope"};
constexpr JsonKeys kSessionKeys = {kSessionNames, kScope};

enum RequestKey : std::size_t { kStart, kType, kInput, kOutput, kHashes, kApiTime, kThinkTime };
constexpr std::array<std::string_view, 7> kRequestNames = {
    "t", "type", "in", "out", "hash_ids", "api_time", "think_time"};
constexpr JsonKeys kRequestKeys = {kRequestNames, kApiTime};

enum AgentKey : std::size_t { kAgentEnd, kAgentType, kDuration, kAgentRequests };
constexpr std::array<std::string_view, 4> kAgentNames = {"t", "type", "duration_ms", "requests"};
constexpr JsonKeys kAgentKeys = {kAgentNames, kAgentNames.size()};

constexpr std::uint32_t kUsualBlockTokens = 64;

std::int64_t session_interval_ns(const ReaderOptions& options) {
  return floor_scaled(decimal_of(options.session_interval_s.value_or(kSessionIntervalS)), kSeconds);
}

/// A request that others wait for; without an end where the trace does not record it.
struct Answer {
  std::uint64_t id = 0;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

/// What a request's entry says, beside its blocks.
struct Entry {
  std::int64_t start_ns = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<std::int64_t> api_ns;
  std::optional<std::int64_t> think_ns;
};

/// One request of the session being read; its lists are parts of the reader's.
struct Turn {
  std::int64_t start_ns = 0;  ///< from the session's start
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t think_ns = kThinkUnknown;
  std::size_t after_end = 0;   ///< behind its last entry in `after_`
  std::size_t blocks_end = 0;  ///< behind its last block in `blocks_`
};

class AgenticReader final : public TraceReader {
 public:
  AgenticReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : json_(std::move(lines)), interval_ns_(session_interval_ns(options)) {
    // The first line tells the block size of all; next() tells what is wrong with it, if it does
    // not.
    block_tokens_ = options.block_tokens > 0 ? options.block_tokens : kUsualBlockTokens;
    try {
      json_.each(
          json_.parse(json_.peek_line()), kSessionKeys,
          [&](std::size_t which, const JsonValue& value) {
            if (which == kBlockSize) block_tokens_ = json_.block_size(kSessionNames[which], value);
          },
          [](std::string_view) {});
    } catch (const RowError&) {
      return;
    }
    json_.check_given(kSessionNames[kBlockSize], block_tokens_, options.block_tokens);
  }

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    row.clear();
    if (next_turn_ == turns_.size() && !read_session()) return false;
    const Turn& turn = turns_[next_turn_];
    row.line = json_.line();
    row.arrival_ns = session_start_ns_ + turn.start_ns;
    row.input_tokens = turn.input_tokens;
    row.output_tokens = turn.output_tokens;
    row.think_ns = turn.think_ns;
    row.session = sessions_ - 1;
    row.id = first_id_ + next_turn_;
    const Turn none;
    const Turn& before = next_turn_ == 0 ? none : turns_[next_turn_ - 1];
    append(row.after, after_, before.after_end, turn.after_end);
    append(row.blocks, blocks_, before.blocks_end, turn.blocks_end);
    ++next_turn_;
    return true;
  }

  std::vector<std::string> notes() const override {
    return {
        fmt::format("{}: sessions have no common clock; session k starts at {} s x k, which is "
                    "the simulator's choice (session_interval_s)",
                    json_.path(), static_cast<double>(interval_ns_) / 1e9)};
  }

 private:
  /// Copies from[begin, end) behind `to`.
  static void append(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from,
                     std::size_t begin, std::size_t end) {
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
              from.begin() + static_cast<std::ptrdiff_t>(end));
  }

  /// Reads the next line into `turns_`; a fault anywhere in it leaves the whole session out.
  bool read_session() {
    first_id_ += turns_.size();
    turns_.clear();
    after_.clear();
    blocks_.clear();
    next_turn_ = 0;
    std::string_view line;
    if (!json_.next_line(line)) return false;
    std::uint64_t name = 0;
    bool shared_ids = false;
    JsonValue requests;
    json_.each(
        json_.parse(line), kSessionKeys,
        [&](std::size_t which, const JsonValue& value) {
          if (which == kId) name = json_.name(kSessionNames[which], value);
          if (which == kBlockSize) check_block_size(value);
          if (which == kRequests) requests = value;
          if (which == kScope) shared_ids = global_scope(value);
        },
        [](std::string_view) {});
    if (names_.find(name)) json_.fail(kSessionNames[kId], "is the id of a session above");
    session_start_ns_ = static_cast<std::int64_t>(sessions_) * interval_ns_;
    try {
      read_list(requests, 0, std::nullopt);
      if (turns_.empty()) json_.fail(kSessionNames[kRequests], "expected at least one request");
    } catch (...) {
      turns_.clear();
      throw;
    }
    // Ids of another session are other blocks.
    if (!shared_ids) {
      for (std::uint64_t& id : blocks_) id ^= mix64(name);
    }
    names_.intern(name);
    ++sessions_;
    return true;
  }

  void check_block_size(const JsonValue& value) const {
    const std::uint32_t tokens = json_.block_size(kSessionNames[kBlockSize], value);
    if (tokens != block_tokens_) {
      json_.fail(kSessionNames[kBlockSize],
                 fmt::format("expected {} as in the whole file, found {}", block_tokens_, tokens));
    }
  }

  bool global_scope(const JsonValue& value) const {
    const std::string_view scope = json_.text(kSessionNames[kScope], value);
    if (scope != "local" && scope != "global") {
      json_.fail(
          kSessionNames[kScope],
          fmt::format("expected \"local\" or \"global\", found \"{}\"", scope.substr(0, 40)));
    }
    return scope == "global";
  }

  /// Reads a list of requests whose times count from `origin_ns`, the first of which waits for
  /// `before`. Returns the answers that whoever follows the list waits for.
  std::vector<Answer> read_list(const JsonValue& value, std::int64_t origin_ns,
                                std::optional<Answer> before) {
    bool first = true;
    std::vector<Answer> agents;  // the last answers of the sub-agents since `before`
    std::size_t index = 0;
    for (const JsonValue item : json_.array("requests", value, "requests")) {
      json_.enter("requests", index++);
      const JsonObject object = json_.object("", item);
      std::string_view type;
      if (object["type"].get(type) == simdjson::SUCCESS && type == "subagent") {
        const auto last = read_agent(object, origin_ns, before);
        agents.insert(agents.end(), last.begin(), last.end());
      } else {
        Entry entry = read_entry(object);
        entry.start_ns += origin_ns;
        // The recorded pause counts from the request before in this list.
        if (first || !agents.empty()) entry.think_ns.reset();
        if (before) agents.insert(agents.begin(), *before);
        before = add_turn(entry, agents);
        agents.clear();
        first = false;
      }
      json_.leave();
    }
    if (!first) agents.push_back(*before);
    return agents;
  }

  std::vector<Answer> read_agent(const JsonObject& object, std::int64_t origin_ns,
                                 const std::optional<Answer>& before) {
    std::int64_t start_ns = origin_ns;
    JsonValue requests;
    json_.each(
        object, kAgentKeys,
        [&](std::size_t which, const JsonValue& value) {
          if (which == kAgentEnd) start_ns += json_.time(kAgentNames[which], value, kSeconds);
          if (which == kDuration) start_ns -= json_.time(kAgentNames[which], value, kMilliseconds);
          if (which == kAgentRequests) requests = value;
        },
        [](std::string_view) {});
    start_ns = std::max(start_ns, before ? before->end_ns.value_or(before->start_ns) : origin_ns);
    check_start(start_ns);
    return read_list(requests, start_ns, before);
  }

  Entry read_entry(const JsonObject& object) {
    Entry out;
    const std::size_t blocks_begin = blocks_.size();
    json_.each(
        object, kRequestKeys,
        [&](std::size_t which, const JsonValue& value) {
          const std::string_view key = kRequestNames[which];
          switch (which) {
            case kStart:
              out.start_ns = json_.time(key, value, kSeconds);
              break;
            case kInput:
              out.input_tokens = json_.tokens(key, value, 1);
              break;
            case kOutput:
              out.output_tokens = json_.tokens(key, value, 0);
              break;
            case kHashes:
              json_.ids(key, value, blocks_);
              break;
            case kApiTime:
              out.api_ns = json_.time(key, value, kSeconds);
              break;
            case kThinkTime:
              out.think_ns = json_.time(key, value, kSeconds);
              break;
            default:  // whether the answer was streamed changes nothing here
              break;
          }
        },
        [](std::string_view) {});
    const auto found = static_cast<std::int64_t>(blocks_.size() - blocks_begin);
    if (found != out.input_tokens / block_tokens_) {
      json_.fail(
          "hash_ids",
          fmt::format("expected {} ids, floor({} tokens / {} per block), found {}",
                      out.input_tokens / block_tokens_, out.input_tokens, block_tokens_, found));
    }
    return out;
  }

  void check_start(std::int64_t start_ns) const {
    if (start_ns <= kMaxArrivalNs - session_start_ns_) return;
    json_.fail("t",
               fmt::format("the request arrives after {} s; expected a shorter trace or session "
                           "interval",
                           kMaxArrivalNs / 1'000'000'000));
  }

  Answer add_turn(const Entry& entry, const std::vector<Answer>& waits) {
    Turn turn{entry.start_ns, entry.input_tokens, entry.output_tokens};
    check_start(entry.start_ns);
    std::int64_t latest_ns = 0;
    bool known = !waits.empty();
    for (const Answer& answer : waits) {
      after_.push_back(answer.id);
      known = known && answer.end_ns.has_value();
      latest_ns = std::max(latest_ns, answer.end_ns.value_or(0));
    }
    if (entry.think_ns && !waits.empty()) {
      turn.think_ns = *entry.think_ns;
    } else if (known) {
      turn.think_ns = std::max<std::int64_t>(0, turn.start_ns - latest_ns);
    }
    turn.after_end = after_.size();
    turn.blocks_end = blocks_.size();
    Answer answer{first_id_ + turns_.size(), turn.start_ns, std::nullopt};
    if (entry.api_ns) answer.end_ns = turn.start_ns + *entry.api_ns;
    turns_.push_back(turn);
    return answer;
  }

  JsonRows json_;
  std::int64_t interval_ns_;
  std::uint32_t block_tokens_ = 0;
  Interner names_;  ///< of the sessions read
  std::uint64_t sessions_ = 0;
  std::int64_t session_start_ns_ = 0;
  std::uint64_t first_id_ = 0;  ///< of the session's first request, over the whole file
  std::vector<Turn> turns_;
  std::size_t next_turn_ = 0;
  std::vector<std::uint64_t> after_;
  std::vector<std::uint64_t> blocks_;
};

}  // namespace

bool looks_like_agentic(std::string_view first_line) {
  return has_json_key(first_line, "block_size") && has_json_key(first_line, "requests");
}

std::unique_ptr<TraceReader> make_agentic_reader(std::unique_ptr<LineReader> lines,
                                                 const ReaderOptions& options) {
  return std::make_unique<AgenticReader>(std::move(lines), options);
}

}  // namespace spillway

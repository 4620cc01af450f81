#include "scenarios/run/measured_warnings.hpp"

#include <algorithm>
#include <cmath>

#include "models/link/defaults.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr double kTolerance = 0.02;

/// (value - other) / other.
double off_by(double value, double other) {
  return other == 0 ? (value == 0 ? 0 : 1) : (value - other) / other;
}

struct MeanLengths {
  double input = 0;
  double output = 0;
};

MeanLengths mean_lengths(const Workload& workload) {
  MeanLengths out;
  const WorkloadColumns& c = workload.columns();
  for (const std::uint32_t n : c.input_tokens) out.input += n;
  for (const std::uint32_t n : c.output_tokens) out.output += n;
  const auto count = static_cast<double>(std::max<std::size_t>(1, c.input_tokens.size()));
  return {out.input / count, out.output / count};
}

/// "the pool holds 1,952 fewer tokens, about 1.2 requests of the workload's mean length (1,510
/// tokens) fewer at once".
std::string pool_consequence(const Scenario& s, double blocks, const MeanLengths& mean) {
  const double tokens = std::abs(blocks) * s.engine.block_tokens;
  const double length = mean.input + mean.output;
  const char* change = blocks < 0 ? "fewer" : "more";
  std::string out =
      fmt::format("the pool holds {} {} tokens",
                  format_count(static_cast<std::uint64_t>(std::llround(tokens))), change);
  if (length > 0) {
    out += fmt::format(
        ", about {:.1f} requests of the workload's mean length ({} tokens) {} at once",
        tokens / length, format_count(static_cast<std::uint64_t>(std::llround(length))), change);
  }
  return out;
}

void warn_of_pool(const Scenario& s, const MeanLengths& mean, std::vector<std::string>& out) {
  const auto measured = measured_blocks(s);
  const double used = s.engine.num_gpu_blocks;
  if (measured && s.pool_given) {
    const double off = off_by(used, *measured);
    if (std::abs(off) > kTolerance) {
      out.push_back(fmt::format(
          "num_gpu_blocks {} given, {} measured in {} ({:+.1f}%): {}; the given count is used",
          s.engine.num_gpu_blocks, *measured, s.measured->source, 100 * off,
          pool_consequence(s, used - *measured, mean)));
    }
  }
  if (!s.budget) return;
  const std::int64_t estimate = s.budget->kv / s.engine.block_bytes;
  if (estimate <= 0 || (!measured && !s.pool_given)) return;
  const double off = off_by(used, static_cast<double>(estimate));
  if (std::abs(off) <= kTolerance) return;
  const char* how = s.pool_given ? "given" : "measured";
  out.push_back(fmt::format(
      "num_gpu_blocks {} {}, {} estimated from model and GPU ({:+.1f}%): {}; the {} count is used",
      s.engine.num_gpu_blocks, how, estimate, 100 * off,
      pool_consequence(s, used - static_cast<double>(estimate), mean), how));
}

/// A decode step of one request in the middle of its answer.
double decode_us(const Scenario& s, const MeanLengths& mean) {
  StepShape shape;
  shape.decodes = shape.sampled = 1;
  shape.decode_context = static_cast<std::uint64_t>(mean.input + mean.output / 2) + 1;
  return static_cast<double>(s.make_cost()->step_time(shape).count()) / 1e3;
}

void warn_of_host(const Scenario& s, const MeanLengths& mean, std::vector<std::string>& out) {
  if (s.compute.kind == ComputeChoice::Kind::kLinear) return;
  const double used = s.compute.host_overhead_us;
  const auto& fact = s.measured ? s.measured->host_overhead_us : std::nullopt;
  const bool from_fact = fact && std::abs(off_by(used, *fact)) <= kTolerance;
  const bool profile = s.compute.kind == ComputeChoice::Kind::kProfile;
  const char* what = from_fact ? "measured" : profile ? "of the profile or given" : "given";
  const char* winner = from_fact ? "measured value"
                       : profile ? "value of the profile or given"
                                 : "given value";
  const auto say = [&](double other, const std::string& which) {
    if (std::abs(off_by(used, other)) <= kTolerance) return;
    const double step = decode_us(s, mean);
    const double without = step - used + other;  // the step with the other value
    out.push_back(fmt::format(
        "host_overhead_us {:.0f} {}, {:.0f} {} ({:+.1f}%): each step is {:.0f} us {}, which is "
        "{:+.1f}% of TPOT at batch 1 ({:.2f} ms); the {} is used",
        used, what, other, which, 100 * off_by(used, other), std::abs(used - other),
        used > other ? "longer" : "shorter", 100 * (step - without) / without, step / 1e3, winner));
  };
  if (fact) say(*fact, fmt::format("measured in {}", s.measured->source));
  say(kDefaultHostOverheadUs, "by default");
}

/// How long a prefix of 10,000 tokens takes over a link, against the rate of the run.
void warn_of_copies(const Scenario& s, std::vector<std::string>& out) {
  if (!s.measured) return;
  constexpr std::uint32_t kPrefix = 10'000;
  const std::int64_t blocks = ceil_div(kPrefix, s.engine.block_tokens);
  const double bytes =
      static_cast<double>(s.rank_block_bytes().count()) * static_cast<double>(blocks);
  const auto say = [&](const std::optional<LinkChoice>& lane, const std::optional<double>& gbs,
                       const char* verb) {
    if (!lane || !gbs || *gbs <= 0) return;
    const bool scaled = lane->source.find("; scaled to the ") != std::string::npos;
    double model = lane->make()->capacity().value() / 1e9;
    if (scaled) {  // what it would have been
      const HostLinkDefault defaults = default_host_link(
          *s.gpu, s.engine.family == EngineFamily::kVllmV0 ? CopyMethod::kDma : CopyMethod::kBatch);
      model =
          make_table_link(lane->from == "hbm" ? defaults.down : defaults.up)->capacity().value() /
          1e9;
    }
    const double off = off_by(*gbs, model);
    if (std::abs(off) <= kTolerance) return;
    out.push_back(fmt::format(
        "copies {} to {}: {:.1f} GB/s measured, {:.1f} GB/s by the link's model ({:+.1f}%): to {} "
        "a prefix of 10,000 tokens ({}) takes {:.1f} ms instead of {:.1f}; the {} rate is used",
        lane->from, lane->to, *gbs, model, 100 * off, verb, format_bytes(bytes), bytes / *gbs / 1e6,
        bytes / model / 1e6, scaled ? "measured" : "link's own"));
  };
  say(s.down, s.measured->d2h_gbs, "store");
  say(s.up, s.measured->h2d_gbs, "load");
}

/// The model of this name, or null where the catalogue does not have it.
const ModelSpec* known_model(const std::string& name) {
  try {
    return &find_model(name, {});
  } catch (const InputError&) {
    return nullptr;
  }
}

/// Settings under which the measured engine was another one.
void warn_of_settings(const Scenario& s, std::vector<std::string>& out) {
  if (!s.measured) return;
  const MeasuredFacts& f = *s.measured;
  const auto differ = [&](const char* key, std::uint32_t used,
                          const std::optional<std::uint32_t>& fact, const char* consequence) {
    if (!fact || *fact == 0 || *fact == used) return;
    out.push_back(fmt::format("{} {} in this scenario, {} in the measured run ({}): {}", key, used,
                              *fact, f.source, consequence));
  };
  differ("max_num_seqs", s.engine.max_num_seqs, f.max_num_seqs,
         "another number of requests runs at once, so queueing is not the measured one");
  differ("max_num_batched_tokens", s.engine.max_num_batched_tokens, f.max_num_batched_tokens,
         "prompts are cut into other steps, and the measured block count left other room");
  differ("tensor_parallel_size", s.engine.tensor_parallel, f.tensor_parallel_size,
         "steps and the pool are of another number of GPUs than was measured");
  if (f.model && s.model.spec != nullptr) {
    const ModelSpec* ran = known_model(*f.model);
    if (ran == nullptr) {
      out.push_back(fmt::format(
          "the measured run ({}) was of {}, which the catalogue does not have: if that is not {}, "
          "its facts are those of another model",
          f.source, *f.model, s.model.spec->name));
    } else if (ran != s.model.spec) {
      out.push_back(fmt::format(
          "the measured run ({}) was of {}, not of {}: its facts are those of another model",
          f.source, *f.model, s.model.spec->name));
    }
  }
}

}  // namespace

std::vector<std::string> measured_warnings(const Scenario& scenario, const Workload& workload) {
  std::vector<std::string> out;
  const MeanLengths mean = mean_lengths(workload);
  warn_of_pool(scenario, mean, out);
  warn_of_host(scenario, mean, out);
  warn_of_copies(scenario, out);
  warn_of_settings(scenario, out);
  return out;
}

}  // namespace spillway

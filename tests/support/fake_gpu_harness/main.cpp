// Speaks the protocol of the GPU harness (models/calibration/protocol.md) without a GPU: times come
// from a small known model, so that tests know what must come out. It says that it is simulated.
//
// SPILLWAY_FAKE_GPU holds switches, `name=value,...`:
//   gpus=2               devices, each on a node of its own
//   missing=no_driver    or no_device
//   trained_down=1       links at generation 3 of 5
//   lost_after=N         after N answers the GPU is lost: {"lost": ...} and exit code 3
//   die_after=N          after N answers it ends without a word, by SIGKILL
//   hang_after=N         after N answers it goes on reading and says nothing
//   garbage_after=N      after N answers it answers what is no JSON
//   corrupt=1            contents differ after every copy
//   lacking=1            answers lack their times
//   noise=0.01           relative, uniform, seeded by the request
//   replay_us, replay_gbs    the link of a replay: 10 us and 25 GB/s per transfer
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "models/calibration/harness/answer.hpp"
#include "models/calibration/harness/layout.hpp"
#include "models/calibration/harness/request.hpp"

namespace {

using spillway_harness::Actor;
using spillway_harness::Answer;
using spillway_harness::BadRequest;
using spillway_harness::Draws;
using spillway_harness::Request;

// The model of copies: what a call costs, what a copy costs beside its bytes, the link's rate.
constexpr double kCallUs = 8;
constexpr double kCopyUs = 2;
constexpr double kBatchedCopyUs = 0.3;
constexpr double kKernelUs = 12;
constexpr double kLinkBytesPerUs = 50'000;  // 50 GB/s
constexpr double kCliffBytesPerUs = 5'000;  // a batched copy below 28 KiB
constexpr double kCliffBytes = 28 * 1024;
constexpr double kDuplex = 0.83;
constexpr double kSubmitUs = 5;

class Switches {
 public:
  Switches() {
    const char* text = std::getenv("SPILLWAY_FAKE_GPU");
    std::string line = text == nullptr ? "" : text;
    std::replace(line.begin(), line.end(), ',', ' ');
    values_ = Request(line);
  }
  double value(const std::string& name, double otherwise) const {
    return values_.real_or(name, otherwise);
  }
  std::string text(const std::string& name) const { return values_.text_or(name, ""); }
  /// Whether `name` is given and `answers` have reached it.
  bool reached(const std::string& name, int answers) const {
    return values_.has(name) && answers >= static_cast<int>(values_.real_or(name, 0));
  }

 private:
  Request values_{""};
};

double copy_us(const std::string& api, double bytes, double n) {
  if (api == "memcpy_batch" || api == "memcpy_batch_overlap") {
    const double rate = bytes < kCliffBytes ? kCliffBytesPerUs : kLinkBytesPerUs;
    return kCallUs + n * (kBatchedCopyUs + bytes / rate);
  }
  if (api.rfind("kernel_", 0) == 0) {
    const double blocks = std::stod(api.substr(7));
    return kKernelUs + n * bytes / std::min(kLinkBytesPerUs, 6'000 * blocks);
  }
  return kCallUs + n * (kCopyUs + bytes / kLinkBytesPerUs);
}

std::vector<double> samples(double us, const Switches& switches, const Request& request) {
  Draws draws(static_cast<std::uint64_t>(request.number_or("seed", 1, 0, 1LL << 60)));
  const double noise = switches.value("noise", 0);
  std::vector<double> out;
  for (int i = 0; i < 20; ++i) {
    out.push_back(us * (1 + noise * (static_cast<double>(draws.below(2001)) - 1000) / 1000));
  }
  return out;
}

void hello(Answer& answer, const Switches& switches) {
  answer.whole("protocol", 1).text("harness", "fake").flag("simulated", true);
  if (!switches.text("missing").empty()) {
    answer.text("missing", switches.text("missing") == "no_driver" ? "no driver" : "no device");
    answer.text("what", "as the test asked");
    return;
  }
  answer.text("driver", "simulated").text("runtime", "13.0").text("library", "built-in");
  answer.text("dtype", "bf16").flag("batch", true);
  answer.whole("gpus", static_cast<std::int64_t>(switches.value("gpus", 1)));
}

void device(Answer& answer, const Switches& switches, const Request& request) {
  const std::int64_t gpu = request.number("gpu", 0, 63);
  answer.text("uuid", "SIMULATED-" + std::to_string(gpu)).text("name", "Simulated GPU");
  answer.text("pci", "0000:0" + std::to_string(gpu) + ":00.0").whole("numa", gpu);
  answer.whole("memory_bytes", 80LL << 30).whole("sm_count", 132);
  answer.whole("link_gen", switches.value("trained_down", 0) > 0 ? 3 : 5).whole("link_width", 16);
  answer.whole("link_gen_max", 5).whole("link_width_max", 16);
  answer.whole("sm_mhz", 1980).whole("memory_mhz", 2619);
}

void copy(Answer& answer, const Switches& switches, const Request& request) {
  const std::int64_t bytes = request.number("bytes", 1, 1LL << 40);
  const std::int64_t n = request.number("n", 1, 1 << 20);
  const std::string api = request.text("api");
  const bool gated = request.number("gated", 0, 1) == 1;
  // Throws for a pattern that does not exist.
  spillway_harness::offsets_of(request.text("pattern"), bytes, std::min<std::int64_t>(n, 64), 1);
  if (switches.value("lacking", 0) == 0) {
    double us = copy_us(api, static_cast<double>(bytes), static_cast<double>(n));
    const double submit = api == "memcpy_async" ? kSubmitUs * static_cast<double>(n) : kSubmitUs;
    if (!gated) us = std::max(us, submit);
    answer.spread("time", samples(us, switches, request)).number("submit_us", gated ? 0 : submit);
  }
  if (switches.value("corrupt", 0) > 0) {
    answer.flag("valid", false).text("problem", "contents differ at offset 4096 of copy 0");
  }
}

void contention(Answer& answer, const Request& request) {
  std::vector<double> alone;
  std::vector<double> together;
  const std::vector<Actor> actors = request.actors();
  for (const Actor& actor : actors) {
    const auto bytes = static_cast<double>(actor.bytes);
    const auto n = static_cast<double>(actor.n);
    alone.push_back(bytes * n / copy_us("memcpy_async", bytes, n) / 1000);
    bool opposite = false;
    double sharers = 0;
    for (const Actor& other : actors) {
      opposite = opposite || (other.gpu == actor.gpu && other.dir != actor.dir);
      sharers += other.gpu == actor.gpu && other.dir == actor.dir ? 1 : 0;
    }
    together.push_back(alone.back() * (opposite ? kDuplex : 1) / sharers);
  }
  answer.numbers("alone_gbs", alone).numbers("together_gbs", together);
}

/// Each direction serves its transfers in order; they do not disturb each other.
void replay(Answer& answer, const Switches& switches, const Request& request) {
  const std::int64_t count = request.number("transfers", 1, 1 << 20);
  const double fixed_us = switches.value("replay_us", 10);
  const double bytes_per_us = switches.value("replay_gbs", 25) * 1000;
  std::vector<double> submitted;
  std::vector<double> started;
  std::vector<double> ended;
  double free_us[2] = {0, 0};
  for (std::int64_t i = 0; i < count; ++i) {
    std::string line;
    std::getline(std::cin, line);
    const std::vector<std::string> words = spillway_harness::split(line, ' ');
    if (words.size() != 4) throw BadRequest("replay: expected four words, found \"" + line + "\"");
    double& free = free_us[words[3] == "h2d" ? 0 : 1];
    submitted.push_back(std::stod(words[0]));
    started.push_back(std::max(submitted.back(), free));
    free = started.back() + fixed_us + std::stod(words[1]) / bytes_per_us;
    ended.push_back(free);
  }
  answer.numbers("submitted_us", submitted).numbers("started_us", started);
  answer.numbers("ended_us", ended).number("late_us", 0);
}

void measure(const std::string& command, Answer& answer, const Switches& switches,
             const Request& request) {
  const auto size = [&](const char* key) {
    return static_cast<double>(request.number(key, 0, 1LL << 40));
  };
  if (command == "hello") {
    hello(answer, switches);
  } else if (command == "device") {
    device(answer, switches, request);
  } else if (command == "copy") {
    copy(answer, switches, request);
  } else if (command == "contention") {
    contention(answer, request);
  } else if (command == "interference") {
    answer.number("copy_factor", 1.1).number("kernel_factor", 1.02);
  } else if (command == "hbm") {
    answer.number("gbs", 3000).spread("time", samples(size("bytes") / 3e6, switches, request));
  } else if (command == "gemm") {
    const double us = 4 + 2 * size("m") * size("n") * size("k") / 600e6;
    answer.text("library", "built-in").spread("time", samples(us, switches, request));
  } else if (command == "attention") {
    const double keys = size("sequences") * (size("cached") + size("q_tokens"));
    answer.text("kernel", "simulated").spread("time", samples(10 + keys / 500, switches, request));
  } else if (command == "registration") {
    answer.number("seconds", size("bytes") * 1e-10);
  } else if (command == "replay") {
    replay(answer, switches, request);
  } else {
    throw BadRequest("cmd: unknown command \"" + command + "\"");
  }
}

}  // namespace

int main() {
  const Switches switches;
  int answers = 0;
  for (std::string line; std::getline(std::cin, line);) {
    Answer answer;
    try {
      const Request request(line);
      answer.whole("id", request.number("id", 0, 1LL << 60));
      const std::string command = request.text("cmd");
      if (command == "quit") return 0;
      if (switches.reached("hang_after", answers)) continue;
      if (switches.reached("die_after", answers)) kill(getpid(), SIGKILL);
      if (switches.reached("garbage_after", answers)) {
        std::cout << "}{ not an answer\n" << std::flush;
        continue;
      }
      if (switches.reached("lost_after", answers)) {
        answer.text("lost", "cudaErrorDeviceUnavailable").text("what", "as the test asked");
        std::cout << answer.line() << "\n" << std::flush;
        return 3;
      }
      measure(command, answer, switches, request);
    } catch (const BadRequest& error) {
      answer.text("error", "bad request").text("what", error.what());
    }
    std::cout << answer.line() << "\n" << std::flush;
    ++answers;
  }
  return 0;
}

// Schedules of transfers: read, cut to a window, played by the simulated harness and compared.
#include "scenarios/machine/gpu_replay.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::FakeGpu;
using test::Scratch;

constexpr const char* kHeader = "link,direction,submitted_s,started_s,ended_s,bytes,copies\n";

/// A transfer of 1 MB through a link of 10 us + 25 GB/s takes 50 us; here `count` of them in each
/// direction, `every_us` apart from `from_us` on.
std::string rows(int count, int every_us, int from_us = 0) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    const int at = from_us + i * every_us;
    for (const char* direction : {"h2d", "d2h"}) {
      out += fmt::format("{0},{0},0.{1:09},0.{1:09},0.{2:09},1000000,4\n", direction, 1000 * at,
                         1000 * (at + 50));
    }
  }
  return out;
}

GpuReplayOptions options_of(const std::string& schedule) {
  GpuReplayOptions out;
  out.schedule = schedule;
  out.harness = {test::fake_gpu_harness(), 20};
  return out;
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// ---- reading

TEST_CASE("a schedule is read exactly, by submission, without hops of the host", "[scenarios]") {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", std::string(kHeader) +
                                                     "\"a, b\",h2d,2.000000001,2.1,2.2,4096,2\n"
                                                     "nvme,host,1.0,1.5,1.6,4096,1\n"
                                                     "down,d2h,1.0,1.0,1.000000007,16,1\n");
  const TransferSchedule schedule = read_transfer_schedule(path);
  REQUIRE(schedule.transfers.size() == 2);
  CHECK(schedule.host_hops == 1);
  CHECK(schedule.transfers[0].link == "down");
  CHECK_FALSE(schedule.transfers[0].to_device);
  CHECK(schedule.transfers[0].ended_ns == 1'000'000'007);
  CHECK(schedule.transfers[1].link == "a, b");
  CHECK(schedule.transfers[1].submitted_ns == 2'000'000'001);
  CHECK(schedule.transfers[1].copies == 2);
}

TEST_CASE("a schedule that makes no sense is refused with line and column", "[scenarios]") {
  const Scratch scratch;
  const auto said = [&](const std::string& content) {
    const std::string path = scratch.file("t.csv", content);
    const std::string message = message_of([&] { read_transfer_schedule(path); });
    return message.substr(message.rfind('/') + 1);
  };
  const std::string header = kHeader;
  CHECK(said("") == "t.csv: is empty; expected a schedule of transfers");
  CHECK_THAT(said("request_id,b,c,d,e,f,g\n"), StartsWith("t.csv:1: link: expected this column"));
  CHECK(said(header + "a,h2d,1\n") == "t.csv:2: expected 7 cells, found 3");
  CHECK(said(header + "a,up,1,1,1,1,1\n") ==
        "t.csv:2: direction: expected h2d, d2h or host, found \"up\"");
  CHECK(said(header + "a,h2d,1,1,2,0,1\n") ==
        "t.csv:2: bytes: expected a number, 1 or more, found \"0\"");
  CHECK(said(header + "a,h2d,1,0.5,2,9,1\n") ==
        "t.csv:2: started_s: expected a number, 1000000000 or more, found \"0.5\"");
  CHECK(said(header + "a,h2d,1,1,2,4,5\n") ==
        "t.csv:2: copies: expected no more copies than bytes");
  CHECK_THAT(message_of([] { read_transfer_schedule("/nowhere/t.csv"); }),
             ContainsSubstring("/nowhere/t.csv"));
}

TEST_CASE("a result names its schedule, wherever the two lie together", "[scenarios]") {
  const Scratch scratch;
  scratch.file("t.csv", std::string(kHeader) + rows(1, 100));
  const auto result = [&](const std::string& inputs) {
    return scratch.file("r.json", "{\"kind\": \"run\", \"inputs\": " + inputs + "}");
  };
  CHECK(read_transfer_schedule(result("{\"transfers\": \"elsewhere/t.csv\"}")).transfers.size() ==
        2);
  CHECK_THAT(message_of([&] { read_transfer_schedule(result("{}")); }),
             ContainsSubstring("expected the schedule of its transfers; write one with spillway "
                               "run ... --output kind=transfers,path=FILE"));
}

// ---- windows

TEST_CASE("windows are lengths, or beginnings and lengths", "[scenarios]") {
  CHECK(parse_window("500ms", {}).length_s == 0.5);
  CHECK_FALSE(parse_window("30s", {}).from_s);
  CHECK(parse_window("2min+30s", {}).from_s == 120.0);
  CHECK(parse_window("0s+1s", {}).from_s == 0.0);
  for (const char* wrong : {"", "30", "1s+", "+1s", "-1s", "a+b"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_window(wrong, {}), InputError);
  }
}

TEST_CASE("the window lies where most bytes move, and begins with an idle link", "[scenarios]") {
  TransferSchedule schedule;
  const auto add = [&](std::int64_t at, std::int64_t end, std::int64_t bytes) {
    ScheduledTransfer t;
    t.submitted_ns = t.started_ns = at;
    t.ended_ns = end;
    t.bytes = bytes;
    schedule.transfers.push_back(t);
  };
  add(0, 10, 1);
  add(1'000'000'000, 1'900'000'000, 5);    // in flight when the next ones come
  add(1'500'000'000, 2'100'000'000, 100);  // so the window cannot begin with these
  add(1'950'000'000, 2'200'000'000, 100);
  add(9'000'000'000, 9'000'000'010, 50);
  const auto window = choose_window(schedule, {std::nullopt, 1.0});
  REQUIRE(window.size() == 3);  // from 1 s up to, not including, 2 s
  CHECK(window.front().bytes == 5);
  CHECK(choose_window(schedule, {8.5, 1.0}).front().bytes == 50);
  CHECK(choose_window(schedule, {0.0, 100.0}).size() == 5);
  CHECK_THAT(message_of([&] {
               choose_window(schedule, {3.0, 1.0});
             }),
             ContainsSubstring("no transfer is submitted within the window; the first is at 0.000 "
                               "s, the last at 9.000 s"));
  CHECK_THAT(message_of([&] {
               choose_window(schedule, {0.0, 100.0}, 4);
             }),
             ContainsSubstring("the window holds 5 transfers; expected at most 4"));
  CHECK_THAT(message_of([] {
               choose_window({}, {std::nullopt, 1.0});
             }),
             ContainsSubstring("holds no transfer"));
}

// ---- comparison

TEST_CASE("errors are of the simulation, in percent of what was measured", "[scenarios]") {
  std::vector<ScheduledTransfer> simulated(3);
  std::vector<MeasuredTransfer> measured(3);
  for (std::size_t i = 0; i < 3; ++i) {
    simulated[i].submitted_ns = simulated[i].started_ns = static_cast<std::int64_t>(i) * 1'000'000;
    simulated[i].ended_ns = simulated[i].started_ns + 100'000;
    simulated[i].bytes = 10;
    measured[i].submitted_us = measured[i].started_us = static_cast<double>(i) * 1000;
  }
  // 100 us were simulated; 100, 125 and 80 us measured: 0%, -20% and +25%.
  measured[0].ended_us = 100;
  measured[1].ended_us = 1125;
  measured[2].ended_us = 2080;
  const ReplayComparison r = compare_replay(simulated, measured);
  CHECK(r.service.median == Approx(20));
  CHECK(r.service.worst == Approx(25));
  CHECK(r.service.p95 == Approx(24.5));  // 20 + 0.9 x 5
  CHECK(r.service.median_bias == Approx(0).margin(1e-9));
  CHECK(r.worst[0].measured_us == Approx(80));
  // The window: 2,100 us simulated, 2,080 us measured.
  CHECK(r.window.error_percent == Approx(100 * 20.0 / 2080));
  // Busy: 300 us against 305.
  CHECK(r.directions[1].error_percent == Approx(-100 * 5.0 / 305));
  CHECK(r.directions[0].transfers == 0);
}

TEST_CASE("a link that is as simulated replays without error", "[scenarios]") {
  const Scratch scratch;
  const FakeGpu fake("");
  const GpuReplay replay =
      replay_on_gpu(options_of(scratch.file("t.csv", std::string(kHeader) + rows(20, 100))));
  CHECK(replay.results.service.worst < 0.01);
  CHECK(replay.results.window.transfers == 40);
  CHECK(std::abs(replay.results.window.error_percent) < 0.01);
  CHECK(replay.results.gpu_name == "Simulated GPU");
  REQUIRE_FALSE(replay.warnings.empty());
  CHECK(replay.warnings[0] == "simulated harness: not a measurement");
}

TEST_CASE("a slower link shows by how much", "[scenarios]") {
  // 10 us + 1 MB / 20 GB/s is 60 us, where 50 us were simulated: -1/6.
  const Scratch scratch;
  const FakeGpu fake("replay_gbs=20");
  const std::string path = scratch.file("t.csv", std::string(kHeader) + rows(20, 100));
  const GpuReplay replay = replay_on_gpu(options_of(path));
  CHECK(replay.results.service.median_bias == Approx(-100.0 / 6).epsilon(1e-4));
  // Submitted every 55 us, a transfer of 60 us makes the next one wait: 5 us more each time.
  const std::string busy = scratch.file("busy.csv", std::string(kHeader) + rows(21, 55));
  const TransferErrors queued = replay_on_gpu(options_of(busy)).results.with_queueing;
  CHECK(queued.worst == Approx(100 * 110.0 / 160).epsilon(1e-4));
}

TEST_CASE("a replay that cannot be played says what is missing", "[scenarios]") {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", std::string(kHeader) + rows(2, 100));
  {
    const FakeGpu fake("missing=no_driver");
    CHECK(message_of([&] { replay_on_gpu(options_of(path)); }) ==
          "--replay: needs a GPU to play the schedule on: GPU: no driver (as the test asked)");
  }
  const FakeGpu fake("lost_after=2");
  CHECK_THAT(message_of([&] { replay_on_gpu(options_of(path)); }),
             ContainsSubstring("the GPU is gone: cudaErrorDeviceUnavailable during `replay`"));
}

}  // namespace
}  // namespace spillway

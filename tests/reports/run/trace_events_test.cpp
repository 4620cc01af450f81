// Trace events: what is outside the window is cut off, the size is never exceeded, names are inert.
#include "reports/run/trace_events.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/run/perfetto.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

std::string text_of(TraceEvents& events) {
  std::string out;
  events.write([&](std::string_view piece) { out += piece; });
  return out;
}

/// Those that are no names.
json events_of(const std::string& text) {
  json out = json::array();
  const json document = json::parse(text);
  for (const json& event : document.at("traceEvents")) {
    if (event.at("ph") != "M") out.push_back(event);
  }
  return out;
}

TraceLimits window(std::int64_t from, std::int64_t to) {
  return {time_at(from), time_at(to), 1'000'000};
}

TEST_CASE("slices are cut to the window, those outside are left out", "[reports]") {
  TraceEvents events(window(1'000, 5'000));
  const auto process = events.add_process().value();
  const auto track = events.add_track(process).value();
  events.slice(track, "before", time_at(0), time_at(999), "");
  events.slice(track, "begins before", time_at(500), time_at(2'001), R"("a":1)");
  events.slice(track, "ends behind", time_at(4'000), time_at(9'000), "");
  events.slice(track, "behind", time_at(5'001), time_at(6'000), "");
  const json found = events_of(text_of(events));
  REQUIRE(found.size() == 2);
  CHECK(found[0]["ts"] == 1.0);
  CHECK(found[0]["dur"] == 1.001);  // microseconds: 1,001 ns
  CHECK(found[0]["args"]["a"] == 1);
  CHECK(found[1]["ts"] == 4.0);
  CHECK(found[1]["dur"] == 1.0);
}

TEST_CASE("a counter has its value where the window begins", "[reports]") {
  TraceEvents events(window(1'000, 5'000));
  const auto process = events.add_process().value();
  const auto changes = events.add_counter(process, "changes").value();
  const auto steady = events.add_counter(process, "steady").value();
  events.count(changes, time_at(100), 7);
  events.count(steady, time_at(100), 9);
  events.count(changes, time_at(2'000), 8);
  events.count(changes, time_at(2'500), 8);  // no change
  events.count(changes, time_at(7'000), 1);  // behind the window
  const json found = events_of(text_of(events));
  REQUIRE(found.size() == 3);
  CHECK(found[0]["ts"] == 1.0);
  CHECK(found[0]["args"]["value"] == 7);
  CHECK(found[1]["ts"] == 2.0);
  CHECK(found[1]["args"]["value"] == 8);
  CHECK(found[2]["name"] == "steady");
  CHECK(found[2]["ts"] == 1.0);
}

TEST_CASE("the parts of an async slice lie within it", "[reports]") {
  TraceEvents events(window(0, 5'000));
  const auto process = events.add_process().value();
  events.async(process, "request", 12, {"request 12", time_at(1'000), time_at(9'000)},
               {{"queue", time_at(1'000), time_at(2'000)},
                {"nothing", time_at(2'000), time_at(2'000)},
                {"step", time_at(2'000), time_at(6'000)},
                {"decode", time_at(6'000), time_at(9'000)}},
               "");
  std::vector<std::string> found;
  for (const json& event : events_of(text_of(events))) {
    CHECK(event["id"] == "12");
    found.push_back(event["ph"].get<std::string>() + " " + event["name"].get<std::string>() + " " +
                    event["ts"].dump());
  }
  CHECK(found == std::vector<std::string>{"b request 12 1.0", "b queue 1.0", "e queue 2.0",
                                          "b step 2.0", "e step 5.0", "e request 12 5.0"});
}

TEST_CASE("the file never exceeds its cap, and says where it ends", "[reports]") {
  for (const std::uint64_t cap :
       {kLeastTraceBytes, std::uint64_t{70'001}, std::uint64_t{200'000}}) {
    INFO(cap);
    TraceEvents events({Time(), Time::max(), cap});
    const auto process = events.add_process().value();
    events.name(process, std::string(1000, '\x01'));  // six bytes each, were it not cut
    Lanes lanes;
    std::uint64_t asked = 0;
    for (std::int64_t i = 0; i < 3'000; ++i) {
      const Time from = time_at(i * 1'000);
      const auto track = lanes.take(events, process, from, from + Duration(5'500));
      if (!track) continue;
      events.slice(*track, "x", from, from + Duration(5'500), R"("bytes":123456)");
      ++asked;
    }
    for (const auto track : lanes.tracks())
      events.name(track, "\"<script>" + std::string(200, '"'));
    const std::string text = text_of(events);
    CHECK(text.size() <= cap);
    const json other = json::parse(text).at("otherData");
    CHECK(other["events"] == events_of(text).size());
    CHECK(events.written() + events.left_out() == asked);
    CHECK((events.left_out() > 0) == other["cut_at_s"].is_number());
    if (cap < 100'000) CHECK(events.left_out() > 0);
  }
}

TEST_CASE("slices that run side by side get tracks of their own", "[reports]") {
  TraceEvents events(window(0, 1'000'000));
  const auto process = events.add_process().value();
  Lanes lanes;  // told as they end: [0, 10), [5, 20), [10, 30), [4, 40)
  const auto first = lanes.take(events, process, time_at(0), time_at(10)).value();
  const auto second = lanes.take(events, process, time_at(5), time_at(20)).value();
  const auto third = lanes.take(events, process, time_at(10), time_at(30)).value();
  const auto fourth = lanes.take(events, process, time_at(4), time_at(40)).value();
  CHECK(first != second);
  CHECK(third == first);
  CHECK(fourth != first);
  CHECK(fourth != second);
}

TEST_CASE("a result's trace has its series and its slowest requests", "[reports]") {
  std::ostringstream text;
  write_perfetto(sample_run(), text);
  const json found = events_of(text.str());
  // Three values of running, of which 3.5 is 4; three of hbm; request 812 with five stages, 7 with
  // one, each a begin and an end.
  CHECK(found.size() == 3 + 3 + 12 + 4);
  std::ostringstream none;
  write_perfetto(RunResult{}, none);
  CHECK(events_of(none.str()).empty());
}

}  // namespace
}  // namespace spillway::test

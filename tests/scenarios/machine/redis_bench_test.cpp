// A key-value server as calibrate measures it, against a server in this process: what is sent, what
// every wrong answer leads to, and that nothing stays.
#include "scenarios/machine/redis_bench.hpp"

#include <cstdlib>

#include "models/calibration/fit.hpp"
#include "scenarios/machine/resp.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_redis.hpp"

namespace spillway::test {
namespace {

using Kind = RespReply::Kind;

RedisAddress address_of(const FakeRedis& server) {
  return parse_redis_address(server.address(), {});
}

BenchLimits limits_of(double budget_s) {
  BenchLimits out;
  out.budget_s = budget_s;
  out.memory_bytes = std::int64_t{1} << 30;
  return out;
}

std::string refused(const std::string& text) {
  try {
    parse_redis_address(text, {"--redis", 0, ""});
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kUsage);
    return error.what();
  }
  return "taken";
}

/// What plan() says of a server that cannot be measured.
std::string plan_error(const std::string& server, double patience_s = 2) {
  RedisBench bench({server, patience_s});
  std::vector<std::string> missing;
  try {
    bench.plan(limits_of(3), missing);
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kIo);
    return error.what();
  }
  return "planned";
}

/// The message of a RespError; empty where there is none.
template <class F>
std::string resp_error(const F& f) {
  try {
    f();
  } catch (const RespError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("an address is HOST, HOST:PORT or an IPv6 address in brackets", "[scenarios]") {
  const auto name = [](const std::string& text) { return parse_redis_address(text, {}).name(); };
  CHECK(name("localhost") == "localhost:6379");
  CHECK(name("10.0.0.5:7000") == "10.0.0.5:7000");
  CHECK(name("[::1]") == "[::1]:6379");
  CHECK(name("[fe80::1]:65535") == "[fe80::1]:65535");
  CHECK(parse_redis_address("[::1]:1", {}).host == "::1");
  for (const char* wrong : {"", ":6379", "a:", "a:0", "a:65536", "a:b", "a:1:2", "::1", "[::1",
                            "[::1]x", "redis://a", "a b", "[]:1", "a:-1"}) {
    INFO(wrong);
    CHECK_THAT(refused(wrong), ContainsSubstring("--redis: expected HOST or HOST:PORT"));
  }
}

TEST_CASE("a connection sends commands as RESP2 and reads every kind of answer", "[scenarios]") {
  FakeRedis server;
  RespConnection c(address_of(server), "", 2);
  CHECK(c.local());
  CHECK(c.call({"PING"}).text == "PONG");
  server.answer("A", ":-12\r\n");
  CHECK(c.call({"A"}).integer == -12);
  server.answer("A", "$-1\r\n");
  CHECK(c.call({"A"}).kind == Kind::kNothing);
  server.answer("A", "$0\r\n\r\n");
  CHECK(c.call({"A"}).kind == Kind::kText);
  server.answer("A", "*3\r\n$3\r\na\r\n\r\n:7\r\n*1\r\n-ERR x\r\n");
  const RespReply list = c.call({"A"});
  REQUIRE(list.items.size() == 3);
  CHECK(list.items[0].text == "a\r\n");
  CHECK(list.items[1].integer == 7);
  CHECK(list.items[2].items[0].kind == Kind::kError);
  server.answer("A", "-ERR no\r\n");
  CHECK(c.call({"A"}).text == "ERR no");

  // Small and large values, with the bytes that end lines.
  for (const std::size_t size : {std::size_t{2}, std::size_t{100'000}}) {
    std::string value(size, '\n');
    value[size / 2] = '\r';
    c.set("k", value, 77);
    CHECK(server.last_set() == std::vector<std::string>{"SET", "k", "", "EX", "77"});
    std::vector<char> read(size);
    c.get("k", read);
    CHECK(std::string(read.begin(), read.end()) == value);
  }
  CHECK(c.expect(Kind::kInteger, {"EXISTS", "k"}).integer == 1);
  CHECK(info_field("# M\r\nused_memory_rss:5\r\nused_memory:12\r\n", "used_memory") == "12");
  CHECK(info_field("used_memory:12", "maxmemory").empty());
}

TEST_CASE("wrong answers are one sentence with host, port and what was expected", "[scenarios]") {
  FakeRedis server;
  const std::string name = server.address();
  const auto said = [&](const std::string& command, const std::string& reply) {
    server.answer(command, reply);
    RespConnection c(address_of(server), "", 0.3);
    std::vector<char> into(4);
    const std::string out = resp_error([&] {
      if (command == "SET") return c.set("k", "four", 9);
      if (command == "GET") return c.get("k", into);
      c.expect(Kind::kStatus, {command});
    });
    CHECK(out.starts_with(name + " "));
    return out.substr(std::min(out.size(), name.size() + 1));
  };
  const std::string expected = "; expected a Redis or Valkey server";
  CHECK(said("PING", "SSH-2.0-x") == "answers PING with \"SSH-2.0-x\"" + expected);
  CHECK(said("PING", "$x\r\n") == "answers PING with \"$x\"" + expected);
  CHECK(said("PING", "$-7\r\n") == "answers PING with \"$-7\"" + expected);
  CHECK(said("PING", "*99999999\r\n") == "answers PING with \"*99999999\"" + expected);
  CHECK(said("PING", ":1\r\n") == "answers PING with something else than RESP2 says" + expected);
  CHECK(said("PING", "close") == "closed the connection at PING" + expected);
  CHECK(said("PING", "+PON") == "did not answer PING within 0.3 s" + expected);
  CHECK(said("SET", "-OOM command not allowed\r\n") ==
        "refuses SET (\"OOM command not allowed\"); expected a server that this user may read and "
        "write");
  CHECK(said("GET", "$-1\r\n") ==
        "answers GET with \"$-1\"; expected a value of 4 bytes, as it was set");
  CHECK(said("GET", "$5\r\nfiver\r\n") ==
        "answers GET with \"$5\"; expected a value of 4 bytes, as it was set");
  CHECK(said("GET", "$4\r\nfo") == "did not answer GET within 0.3 s" + expected);
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "*1\r\n";
  CHECK(said("PING", deep) == "answers PING with \"*1\"" + expected);
}

TEST_CASE("a server that cannot be measured is refused before anything is written", "[scenarios]") {
  FakeRedis server;
  const std::string name = "--redis: " + server.address() + " ";
  server.set_memory(50 << 20, 100 << 20);
  CHECK(plan_error(server.address()) ==
        name +
            "has too little room: maxmemory is 100.00 MiB, and 50.00 MiB are in use; expected "
            "128.00 MiB free. Nothing was written");
  server.set_memory(50 << 20, 178 << 20);
  CHECK(plan_error(server.address()) == "planned");
  server.set_password("geheim");
  CHECK(plan_error(server.address()) ==
        name + "asks for a password; expected it in the environment variable REDISCLI_AUTH");
  setenv("REDISCLI_AUTH", "falsch", 1);
  CHECK_THAT(plan_error(server.address()),
             ContainsSubstring("refuses the password in the environment variable REDISCLI_AUTH"));
  setenv("REDISCLI_AUTH", "geheim", 1);
  CHECK(plan_error(server.address()) == "planned");
  unsetenv("REDISCLI_AUTH");
  server.answer("PING", "-NOPERM this user has no permissions\r\n");
  CHECK_THAT(plan_error(server.address()), ContainsSubstring("refuses PING (\"NOPERM"));
  CHECK(server.commands().count("SET") == 0);

  std::string nobody;
  {
    const FakeRedis gone;
    nobody = gone.address();
  }
  CHECK_THAT(plan_error(nobody), ContainsSubstring("--redis: cannot connect to " + nobody) &&
                                     ContainsSubstring("expected a Redis or Valkey server there"));
  CHECK_THAT(plan_error("nowhere.invalid"), ContainsSubstring("nowhere.invalid:6379"));

  RedisBench bench({server.address(), 2});
  server.answer("PING", "+PONG\r\n");
  server.set_password("");
  BenchLimits little = limits_of(3);
  little.memory_bytes = 48 << 20;
  std::vector<std::string> missing;
  CHECK(bench.plan(little, missing).empty());
  CHECK(missing == std::vector<std::string>{
                       "kv: its clients need 72.00 MiB of host memory, --memory allows 48.00 MiB"});
}

TEST_CASE("a bench measures each cell, and its keys are gone afterwards", "[scenarios]") {
  FakeRedis server;
  server.put("theirs", "stays");
  HardwareProfile profile;
  {
    RedisBench bench({server.address(), 5});
    std::vector<std::string> missing;
    const std::vector<CellPlan> cells = bench.plan(limits_of(3), missing);
    CHECK(cells.size() == 21);
    CHECK(missing.empty());
    double seconds = 0;
    for (const CellPlan& cell : cells) {
      seconds += cell.expected_s;
      CHECK(cell.section == "kv");
      const nlohmann::json row = bench.measure(cell);
      CHECK(add_row(profile, "kv", row, "row").empty());
      CHECK(row.dump().find("127.0.0.1") == std::string::npos);
    }
    CHECK(seconds < 4);
    const std::vector<std::string> keys = server.keys();
    CHECK(keys.size() == 17);
    CHECK_THAT(keys[0], StartsWith("spillway:calibrate:"));
    CHECK(server.last_set().back() == "900");
  }
  CHECK(server.keys() == std::vector<std::string>{"theirs"});
  CHECK(server.commands().count("FLUSHALL") == 0);
  REQUIRE(profile.kv.size() == 21);
  for (const KvCell& cell : profile.kv) {
    INFO(cell.op << " " << cell.bytes << " x " << cell.clients);
    CHECK(cell.server == "redis 9.9.9");
    CHECK(cell.place == "local");
    CHECK(cell.state.valid);
    CHECK(cell.values > 0);
    CHECK(cell.lat_p50_us > 0);
    CHECK((cell.gbs > 0) == (cell.bytes > 0));
  }
  const FitReport report = fit_profile(profile);
  for (const char* target : {"kv/read", "kv/write", "kv/mixed", "kv/lookup", "kv/ping"}) {
    CHECK(find_fit(report.fits, target) != nullptr);
  }
}

TEST_CASE("a server that goes away or mixes values up is told", "[scenarios]") {
  FakeRedis server;
  RedisBench bench({server.address(), 2});
  std::vector<std::string> missing;
  const std::vector<CellPlan> cells = bench.plan(limits_of(3), missing);
  const auto cell = [&](const char* op) {
    for (const CellPlan& plan : cells) {
      if (plan.request.at("op") == op) return plan;
    }
    return cells[0];
  };
  server.answer("GET", "$1048576\r\n" + std::string(1 << 20, 'x') + "\r\n");
  const nlohmann::json row = bench.measure(cell("read"));
  CHECK_FALSE(row["state"]["valid"].get<bool>());
  CHECK(row["state"]["problem"] == "read other than what was written");
  server.answer("SET", "close");
  CHECK_THROWS_AS(bench.measure(cell("write")), BenchLost);
}

TEST_CASE("a stop ends a cell between two values", "[scenarios]") {
  FakeRedis server;
  RedisBench bench({server.address(), 2});
  BenchLimits limits = limits_of(600);  // cells of 2 s
  limits.stop = [] { return true; };
  std::vector<std::string> missing;
  for (const CellPlan& cell : bench.plan(limits, missing)) bench.measure(cell);
  CHECK(server.commands()["GET"] < 200);
}

}  // namespace
}  // namespace spillway::test

// `spillway calibrate --redis` through the real program, against a server in this process.
#include "tests/cli/scene.hpp"
#include "tests/support/fake_redis.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::FakeRedis;
using test::json;
using test::Scratch;

TEST_CASE("calibrate --redis measures a server and leaves nothing on it", "[cli]") {
  FakeRedis server;
  server.put("theirs", "stays");
  const Scratch scratch;
  const std::string profile = scratch.path("redis.json");
  const Args call = {"calibrate", "--redis", server.address(), "--only", "kv",
                     "--budget",  "5s",      "--out",          profile};
  const CliResult plan = test::spillway(call + Args{"--dry-run"});
  CHECK(plan.code == 0);
  CHECK_THAT(plan.out, ContainsSubstring("kv") && ContainsSubstring("21"));
  CHECK(server.commands().count("SET") == 0);

  const CliResult result = test::spillway(call);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("Key-value server: redis 9.9.9 (local)"));
  CHECK(server.keys() == std::vector<std::string>{"theirs"});
  const std::string text = test::read_file(profile);
  CHECK(text.find(server.address()) == std::string::npos);
  const json document = json::parse(text);
  CHECK(document["results"]["command"] == "spillway calibrate --budget 5s --redis HOST --only kv");
  CHECK_FALSE(document["results"]["kv"].empty());
  CHECK(document["results"]["dram"].empty());
  CHECK_FALSE(test::has_null(document));
  const CliResult report = test::spillway({"report", profile, "--format", "md"});
  CHECK(report.code == 0);
  CHECK_THAT(report.out, ContainsSubstring("Key-value server"));
}

TEST_CASE("calibrate --redis says in a sentence what is wrong with a server", "[cli]") {
  FakeRedis server;
  const auto call = [&](const Args& more) {
    return test::spillway(Args{"calibrate", "--only", "kv", "--json", "-"} + more);
  };
  const CliResult none = call({});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, ContainsSubstring("--only: kv needs a server: expected --redis"));
  const CliResult wrong = call({"--redis", "host:port"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("--redis: expected HOST or HOST:PORT"));
  server.set_password("geheim");
  const CliResult closed = call({"--redis", server.address()});
  CHECK(closed.code == 7);
  CHECK_THAT(closed.err, ContainsSubstring(server.address() + " asks for a password"));
  server.set_password("");
  server.set_memory(1, 1000);
  const CliResult full = call({"--redis", server.address()});
  CHECK(full.code == 7);
  CHECK_THAT(full.err, ContainsSubstring("too little room"));
  CHECK(server.commands().count("SET") == 0);
}

}  // namespace
}  // namespace spillway

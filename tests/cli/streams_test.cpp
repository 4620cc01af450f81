// What every verb shares: documents, streams, common flags, and outputs that cannot be written.
#include <set>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;
using test::Verb;

bool is_schema(const Verb& verb) {
  return verb.name == "schema";  // prints a schema, which is no result document
}

TEST_CASE("every verb prints results on stdout and nothing but notes on stderr", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    const CliResult result = test::spillway(verb.call);
    INFO(verb.name << ": " << result.err);
    CHECK(result.code == 0);
    CHECK_FALSE(result.out.empty());
    CHECK((result.err.empty() || result.err.rfind("note: ", 0) == 0));
    CHECK(result.out.find('\x1b') == std::string::npos);  // no terminal, no escapes
    CHECK(result.err.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("--json - leaves exactly one document on stdout", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    if (is_schema(verb)) {
      CHECK(json::accept(test::spillway(verb.call + Args{"--json", "-"}).out));
    } else {
      test::document_of(verb.call);
    }
  }
}

TEST_CASE("--json FILE writes the same document and leaves the text on stdout", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    const std::string path = scene.path("document.json");
    const CliResult plain = test::spillway(verb.call);
    const CliResult result = test::spillway(verb.call + Args{"--json", path});
    REQUIRE(result.code == 0);
    if (is_schema(verb)) {
      CHECK(result.out.empty());
      CHECK(test::read_file(path) == plain.out);
      continue;
    }
    CHECK(result.out == plain.out);
    const json document = test::parse_document(test::read_file(path));
    CHECK(document["digest"] == test::document_of(verb.call)["digest"]);
  }
}

TEST_CASE("--out DIR takes the document, and makes the directory", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    if (out_is_file(verb)) continue;
    INFO(verb.name);
    const test::Scratch scratch;
    const std::string directory = scratch.path("made/on the way");
    REQUIRE(test::spillway(verb.call + Args{"--out", directory}).code == 0);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      names.insert(entry.path().filename().string());
    }
    const bool report = verb.name == "run" || verb.name == "plan" || verb.name == "report" ||
                        verb.name == "compare" || verb.name == "trace stats" ||
                        verb.name == "mrc" || verb.name == "replay";
    CHECK(names.count("report.html") == (report ? 1 : 0));
    CHECK(names.erase("runs") == (verb.name == "plan" ? 1 : 0));  // for the next plan
    CHECK(names.size() == (report && verb.name != "report" ? 2 : 1));
    for (const std::string& name : names) {
      if (name == "report.html") continue;
      const std::string text = test::read_file(directory + "/" + name);
      if (is_schema(verb)) {
        CHECK(text == test::spillway(verb.call).out);
      } else {
        test::parse_document(text);
      }
    }
  }
}

TEST_CASE("the digest is the same on every run and at every number of threads", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    if (is_schema(verb)) continue;
    INFO(verb.name);
    std::set<std::string> digests;
    std::set<std::string> texts;
    for (const char* threads : {"1", "4", "1", "4"}) {
      digests.insert(test::document_of(verb.call + Args{"--threads", threads})["digest"]);
      texts.insert(test::spillway(verb.call + Args{"--threads", threads}).out);
    }
    CHECK(digests.size() == 1);
    CHECK(texts.size() == 1);
  }
}

TEST_CASE("--quiet silences notes and changes nothing else", "[cli]") {
  const Scene scene;
  CHECK_THAT(test::spillway({"run", scene.scenario}).err, ContainsSubstring("note: "));
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    const CliResult quiet = test::spillway(verb.call + Args{"--quiet"});
    CHECK(quiet.code == 0);
    CHECK(quiet.err.empty());
    CHECK(quiet.out == test::spillway(verb.call).out);
  }
}

TEST_CASE("--quiet does not silence errors", "[cli]") {
  refused({"run", "no-such-file.json", "--quiet"}, 7, "no-such-file.json: cannot open");
}

TEST_CASE("--color always marks the text, auto and never do not without a terminal", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    const bool table = !is_schema(verb) && verb.name != "trace convert" &&
                       verb.name != "trace generate" && verb.name != "trace merge" &&
                       verb.name != "trace import" && verb.name != "flags" &&
                       verb.name != "sweep emit" && verb.name != "completion" &&
                       verb.name != "man" && verb.name != "init" && verb.name != "scenario from";
    Args call = verb.call;
    if (verb.name == "report") call = call + Args{"--format", "text"};
    INFO(verb.name);
    const auto escapes = [&](const char* when) {
      const CliResult result = test::spillway(call + Args{"--color", when});
      CHECK(result.code == 0);
      return result.out.find("\x1b[") != std::string::npos;
    };
    CHECK(escapes("always") == table);
    CHECK_FALSE(escapes("auto"));
    CHECK_FALSE(escapes("never"));
  }
}

TEST_CASE("colour never reaches a file or a document", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("summary.txt");
  const Args call = {"run",      scene.scenario,           "--color", "always",
                     "--output", "kind=text,path=" + path, "--json",  "-"};
  CHECK(test::spillway(call).out.find('\x1b') == std::string::npos);
  CHECK(test::read_file(path).find('\x1b') == std::string::npos);
}

TEST_CASE("--seed is taken by every verb, --set by those that read a scenario", "[cli]") {
  const std::set<std::string> settable = {"run", "plan",     "compare", "flags",
                                          "fit", "validate", "demo"};
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    CHECK(test::spillway(verb.call + Args{"--seed", "7"}).code == 0);
    const std::string name = verb.name;
    if (settable.contains(name) || name.starts_with("sweep")) {
      CHECK(test::spillway(verb.call + Args{"--set", "seed=7"}).code == 0);
    } else {
      refused(verb.call + Args{"--set", "seed=7"}, 2, "--set: ");
    }
  }
}

// ---- outputs that cannot be written

TEST_CASE("an unwritable --json is exit 7 with nothing on stdout", "[cli]") {
  const Scene scene;
  const std::string directory = scene.path("");
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    refused(verb.call + Args{"--json", scene.path("missing/d.json")}, 7,
            scene.path("missing/d.json") + ": cannot open for writing: No such file or directory");
    refused(verb.call + Args{"--json", directory}, 7, "is a directory; expected a file to write");
    // Quiet: a slow machine shows progress before it comes to writing.
    refused(verb.call + Args{"--quiet", "--json", "/dev/full"}, 7,
            "/dev/full: cannot write: No space left");
    refused(verb.call + Args{"--json", scene.trace + "/d.json"}, 7, "Not a directory");
  }
}

TEST_CASE("an --out that is a file is exit 7 with nothing on stdout", "[cli]") {
  const Scene scene;
  const std::string before = test::read_file(scene.trace);
  for (const Verb& verb : verbs(scene)) {
    if (out_is_file(verb)) continue;
    INFO(verb.name);
    const std::string says = "cannot write to " + scene.trace + "; expected a directory";
    refused(verb.call + Args{"--out", scene.trace}, 7, says);
    refused(verb.call + Args{"--out", scene.trace + "/below"}, 7, says);
  }
  CHECK(test::read_file(scene.trace) == before);
}

TEST_CASE("a full standard output is exit 7", "[cli]") {
  const Scene scene;
  for (const Verb& verb : verbs(scene)) {
    INFO(verb.name);
    CHECK(test::code_on_full_disk(verb.call) == 7);
    CHECK(test::code_on_full_disk(verb.call + Args{"--json", "-"}) == 7);
  }
}

TEST_CASE("a path longer than the system takes is an I/O error, not a defect", "[cli]") {
  const std::string path(5000, 'a');
  for (const Args& call : {Args{"run", path}, Args{"plan", path}, Args{"report", path},
                           Args{"trace", "stats", path}, Args{"replay", "--trace", path}}) {
    refused(call, 7, "File name too long");
  }
}

TEST_CASE("a failing verb leaves no file and touches none", "[cli]") {
  const Scene scene;
  const std::string bad = scene.file("bad.jsonl", "{\"input_length\": 1, \"hash_ids\": []}\n");
  const std::string kept = scene.file("kept.json", "kept");
  const std::string before = scene.listing();
  const std::vector<Args> calls = {
      {"run", scene.scenario, "--set", "workload.trace=" + bad},
      {"plan", scene.scenario, "--set", "workload.trace=" + bad},
      {"replay", "--trace", bad},
      {"trace", "stats", bad},
      {"trace", "convert", bad, scene.path("new.bin")},
      {"trace", "convert", bad, scene.path("new.jsonl.gz")},
  };
  for (const Args& call : calls) {
    refused(call + Args{"--json", kept, "--out", scene.path("new")}, 3, "bad.jsonl:1: timestamp: ");
    CHECK(scene.listing() == before);
  }
  CHECK(test::read_file(kept) == "kept");
}

}  // namespace
}  // namespace spillway

// Completion: what `spillway __complete` offers, and that each shell's script asks it.
#include <algorithm>
#include <sstream>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Scene;

bool installed(const std::string& shell) {
  return std::system((shell + " -c true >/dev/null 2>&1").c_str()) == 0;
}

/// The script of a shell, in a file of the scene.
std::string script(const Scene& scene, const std::string& shell) {
  const auto result = test::spillway({"completion", shell});
  REQUIRE(result.code == 0);
  return scene.file("completion." + shell, result.out);
}

/// What `shell` prints when it runs `program` in the scene's folder.
std::vector<std::string> lines_from(const Scene& scene, const std::string& shell,
                                    const std::string& program) {
  const std::string file = scene.file("program", program);
  const std::string out = scene.path("printed");
  const std::string call =
      fmt::format("cd '{}' && PATH='{}':$PATH {} '{}' >'{}' 2>&1 </dev/null", scene.path(""),
                  std::filesystem::path(SPILLWAY_BINARY).parent_path().string(), shell, file, out);
  CHECK(std::system(call.c_str()) == 0);
  std::vector<std::string> lines;
  std::istringstream text(test::read_file(out));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// What bash puts in place of the last word of `line`.
std::vector<std::string> completed(const Scene& scene, const std::string& line) {
  return lines_from(scene, "bash --norc",
                    fmt::format("source '{}'\nCOMP_LINE='{}'\nCOMP_POINT=${{#COMP_LINE}}\n"
                                "_spillway\n[[ ${{#COMPREPLY[@]}} -eq 0 ]] || "
                                "printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                                script(scene, "bash"), line));
}

using Lines = std::vector<std::string>;

bool has(const Lines& lines, const std::string& wanted) {
  return std::find(lines.begin(), lines.end(), wanted) != lines.end();
}

/// What `spillway __complete` says of these words: its rule and what stands before, then the words.
Lines offered(test::Args words) {
  words.insert(words.begin(), "__complete");
  const auto result = test::spillway(words);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  Lines lines;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) {
    const std::size_t tab = line.find('\t');
    REQUIRE(tab != std::string::npos);
    lines.push_back(lines.empty() ? line : line.substr(0, tab));
  }
  return lines;
}

TEST_CASE("what fits is offered in the order of the help, whatever of it is typed", "[cli]") {
  CHECK(offered({"trace", "st"}) ==
        Lines{":words\t", "stats", "check", "convert", "generate", "sample", "merge", "import"});
  CHECK(offered({"sweep", "run", "camp", "--runner", ""}) == Lines{":words\t", "local", "slurm"});
  CHECK(offered({"replay", "--semantics="}) ==
        Lines{":words\t--semantics=", "--semantics=block", "--semantics=prefix"});
  CHECK(offered({"list"}) == offered({"sw"}));  // the last word is what is being typed
  CHECK(offered({}) == offered({""}));
}

TEST_CASE("a word of a list and an option that was given are not offered again", "[cli]") {
  CHECK(offered({"fit", "--weights", "bf16,"}) == Lines{":list\tbf16,", "bf16,fp8"});
  CHECK(has(offered({"run", "--"}), "--quiet"));
  CHECK_FALSE(has(offered({"run", "--quiet", "--"}), "--quiet"));
  CHECK(has(offered({"run", "--set", "seed=1", "--"}), "--set"));
  CHECK_FALSE(has(offered({"sweep", "run", "camp", "--"}), "--engine"));  // of earlier releases
}

TEST_CASE("paths are left to the shell", "[cli]") {
  CHECK(offered({"run", "s.json", "--json=r"}) == Lines{":files\t--json="});
  CHECK(offered({"run", "--out", ""}) == Lines{":folders\t"});
  CHECK(offered({"fit", "a.csv", "b.csv", ""}) == Lines{":files\t"});
  CHECK(offered({"plan", "s.json", ""}).front() == ":words\t");  // options: there is no second one
}

TEST_CASE("completion says nothing of what it does not know", "[cli]") {
  CHECK(offered({"run", "--no-such="}).empty());
  CHECK(offered({"run", "--quiet="}).empty());
  CHECK(offered({"calibrate", "--budget", ""}) == Lines{":words\t"});
  CHECK(test::code_on_full_disk({"__complete", ""}) == 0);
}

TEST_CASE("completion is a script that its shell can read", "[cli]") {
  const Scene scene;
  CHECK(std::system(("bash -n '" + script(scene, "bash") + "'").c_str()) == 0);
  if (installed("zsh")) CHECK(std::system(("zsh -n '" + script(scene, "zsh") + "'").c_str()) == 0);
  if (installed("fish"))
    CHECK(std::system(("fish -n '" + script(scene, "fish") + "'").c_str()) == 0);
  test::refused({"completion", "csh"}, 2, "unknown shell \"csh\"");
}

TEST_CASE("bash completes verbs, options and values", "[cli]") {
  const Scene scene;
  CHECK(completed(scene, "spillway pl") == Lines{"plan"});
  CHECK(completed(scene, SPILLWAY_BINARY " comp") == Lines{"compare", "completion"});
  CHECK(completed(scene, "spillway trace st") == Lines{"stats"});
  CHECK(completed(scene, "spillway plan --obj") == Lines{"--objective"});
  CHECK(completed(scene, "spillway plan --objective least-c") == Lines{"least-cost"});
  CHECK(completed(scene, "spillway plan s.json --recipe nv") == Lines{"nvme-worth-it"});
  CHECK(completed(scene, "spillway replay --semantics p") == Lines{"prefix"});
  CHECK(has(completed(scene, "spillway replay --policy "), "s3fifo"));
  CHECK(completed(scene, "spillway replay --policy lru,bel") == Lines{"lru,belady"});
  CHECK(completed(scene, "spillway list pol") == Lines{"policies"});
  CHECK(completed(scene, "spillway schema compute") == Lines{"compute-profile"});
  CHECK(completed(scene, "spillway kvsize --gpu RTX4") == Lines{"RTX4090-24GB"});
  CHECK(has(completed(scene, "spillway kvsize --model Lla"), "Llama-3.1-8B"));
  CHECK(has(completed(scene, "spillway kvsize --model meta-llama/Meta-Llama-3.1-8"),
            "meta-llama/Meta-Llama-3.1-8B"));
  CHECK(has(completed(scene, "spillway report r.json --format "), "html"));
  CHECK(completed(scene, "spillway sweep run camp --runner s") == Lines{"slurm"});
  CHECK(completed(scene, "spillway report r.json --format alerts,graf") == Lines{"alerts,grafana"});
  CHECK(completed(scene, "spillway run s.json --output kind=req") == Lines{"requests,path="});
  CHECK(completed(scene, "spillway run --quiet --colo") == Lines{"--color"});
}

TEST_CASE("bash completes behind =, : and @, where it cuts words", "[cli]") {
  const Scene scene;
  // Readline replaces what is behind the last of these.
  CHECK(completed(scene, "spillway run --color=al") == Lines{"always"});
  CHECK(completed(scene, "spillway flags s.json --engine vllm@0.2") == Lines{"0.23", "0.25"});
  CHECK(completed(scene, "spillway run s.json --set engine.max_num_seq") ==
        Lines{"engine.max_num_seqs="});
  CHECK(completed(scene, "spillway run s.json --set tiers.0.eviction=siev") == Lines{"sieve"});
  CHECK(completed(scene, "spillway run s.json --set engine.residency=str") == Lines{"streaming"});
}

TEST_CASE("bash completes files and scenarios", "[cli]") {
  const Scene scene;
  std::filesystem::create_directories(scene.path("scenarios/library"));
  scene.file("scenarios/library/quickstart.json", "{}");
  CHECK(completed(scene, "spillway replay --trace t.j") == Lines{"t.jsonl"});
  CHECK(completed(scene, "spillway plan s.") == Lines{"s.json"});  // and not t.jsonl
  CHECK(completed(scene, "spillway plan quick") == Lines{"scenarios/library/quickstart.json"});
  CHECK(has(completed(scene, "spillway run "), "scenarios/library/quickstart.json"));
  CHECK(completed(scene, "spillway run s.json --out scen") == Lines{"scenarios"});
}

TEST_CASE("zsh completes verbs, options and values", "[cli]") {
  if (!installed("zsh")) return;
  const Scene scene;
  // A shell of its own, in which completion is asked for as from a keyboard.
  const std::string program =
      "zmodload zsh/zpty\n"
      "zpty z zsh -f -i\n"
      "zpty -w z \"PS1=; autoload -U compinit; compinit -u -D; source '" +
      script(scene, "zsh") +
      "'\"\n"
      "zpty -w z 'show() { print -r -- \"DONE: $BUFFER\"; BUFFER= }; zle -N show; bindkey \"^X\" "
      "show'\n"
      "zpty -w z 'print REA\"\"DY'\n"
      "while zpty -r z line; do [[ $line == *READY* ]] && break; done\n"
      "for typed in 'spillway pl' 'spillway trace conv' 'spillway plan --objective least-c' "
      "'spillway replay --policy lru,bel'; do\n"
      "  zpty -w -n z \"$typed\"$'\\t\\x18'\n"
      "  while zpty -r z line; do\n"
      "    line=${line//[[:cntrl:]]/}\n"
      "    [[ $line == *'DONE: '* ]] && { print -r -- \"${${line##*DONE: }% }\"; break }\n"
      "  done\n"
      "done\n";
  const Lines lines = lines_from(scene, "timeout 60 zsh -f", program);
  CHECK(lines == Lines{"spillway plan", "spillway trace convert",
                       "spillway plan --objective least-cost",
                       "spillway replay --policy lru,belady,"});
}

TEST_CASE("fish completes verbs, options and values", "[cli]") {
  if (!installed("fish")) return;
  const Scene scene;
  const auto words = [&](const std::string& line) {
    Lines out = lines_from(scene, "fish --no-config",
                           fmt::format("source '{}'\ncomplete -C '{}' | string replace -r '\\t.*' "
                                       "''; true\n",
                                       script(scene, "fish"), line));
    return out;
  };
  CHECK(words("spillway pl") == Lines{"plan"});
  CHECK(words("spillway trace conv") == Lines{"convert"});
  CHECK(words("spillway plan --objec") == Lines{"--objective"});
  CHECK(words("spillway plan --objective least-c") == Lines{"least-cost"});
  CHECK(words("spillway list pol") == Lines{"policies"});
  CHECK(words("spillway replay --policy lru,bel") == Lines{"lru,belady"});
  CHECK(words("spillway run s.json --set tiers.0.eviction=siev") ==
        Lines{"tiers.0.eviction=sieve"});
}

}  // namespace
}  // namespace spillway

// What product code must not use, because a result would depend on the machine, the compiler or the
// time of day, or because the house style has a better way.
#include <cctype>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/source_tree.hpp"

namespace spillway::test {
namespace {

struct Ban {
  std::vector<std::string> words;
  bool only_calls;                  ///< only where "(" follows, e.g. exit but not exit_code
  std::vector<std::string> spared;  ///< paths that start so may use it
  std::string why;
};

const std::vector<Ban> kBans = {
    {{"rand", "srand", "random_device", "default_random_engine", "random_shuffle", "drand48"},
     false,
     {},
     "draws come from the scenario's seed, through sim/rng.hpp"},
    {{"uniform_int_distribution", "uniform_real_distribution", "normal_distribution",
      "lognormal_distribution", "exponential_distribution", "poisson_distribution",
      "bernoulli_distribution", "discrete_distribution", "geometric_distribution", "mt19937",
      "mt19937_64", "minstd_rand"},
     false,
     {},
     "the standard's distributions differ between libraries; use sim/rng.hpp"},
    {{"std::shuffle", "std::sample"}, false, {}, "they differ between libraries"},
    {{"log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "pow", "sin", "cos", "tan", "cbrt",
      "hypot", "erf", "tgamma", "lgamma", "fma"},
     true,
     {"sim/det_math", "reports/charts/"},
     "libm differs by CPU; use det:: of sim/det_math.hpp"},
    {{"system_clock", "steady_clock", "high_resolution_clock", "gettimeofday", "clock_gettime",
      "localtime", "gmtime"},
     false,
     {"scenarios/"},
     "only scenarios/ may look at the wall clock"},
    {{"time", "clock"}, true, {"scenarios/"}, "only scenarios/ may look at the wall clock"},
    {{"getenv", "secure_getenv", "setenv", "environ"},
     false,
     {"scenarios/"},
     "only scenarios/ may read the environment"},
    {{"std::thread", "std::jthread", "std::async", "thread_local", "std::execution"},
     false,
     {"scenarios/"},
     "one thread per simulation; only scenarios/ makes threads"},
    // CLI11 keeps its callbacks in std::function, which copies, so their options are shared. Copies
    // of a scenario share the model and the GPU that it describes itself, which never change.
    {{"shared_ptr", "make_shared"},
     false,
     {"scenarios/commands/", "scenarios/scenario/sections/", "scenarios/scenario/scenario.hpp"},
     "own through unique_ptr"},
    {{"std::regex", "std::endl", "goto", "std::hash", "const_cast"},
     false,
     {"scenarios/", "traces/"},
     "slow, or a sign of a simpler way; see the house style"},
    {{"printf", "fprintf", "sprintf", "snprintf", "puts", "fputs", "putchar"}, true, {}, "use fmt"},
    {{"std::cout", "std::cerr", "std::clog", "stdout", "stderr"},
     false,
     {"scenarios/", "sim/error.cpp", "sim/output_file.cpp"},
     "only scenarios/ talks to the terminal"},
    {{"fmt::print(stderr", "std::ifstream"},
     false,
     {"scenarios/machine/", "scenarios/sweep/slurm_sweep.cpp"},
     "one way to say (commands/terminal.hpp), one to read (sim/input_file.hpp): a full log disk "
     "and "
     "a disk that fails in the middle are met there"},
    {{"exit", "_exit", "quick_exit", "abort", "terminate", "system", "popen"},
     true,
     {"scenarios/main.cpp", "scenarios/commands/ending.cpp"},
     "throw InputError or use KV_ASSERT; only main ends the program"},
    {{"catch (const InputError", "catch (const spillway::InputError"},
     false,
     {"scenarios/", "traces/stats/trace_check.cpp"},
     "bad input is answered in main; scenarios/ may add where it came from, a check lists it"},
    {{"using namespace std"}, false, {}, "name what is used"},
    {{"__DATE__", "__TIME__", "__TIMESTAMP__"}, false, {}, "builds must be repeatable"},
};

bool is_product(const SourceFile& file) {
  static const std::set<std::string> kFolders = {"sim",    "traces",  "policies",
                                                 "models", "reports", "scenarios"};
  return file.is_code() && kFolders.contains(file.folder());
}

bool starts_with_any(const std::string& path, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    if (path.starts_with(prefix)) return true;
  }
  return false;
}

/// Whether the word at `at` is called: a member, a function of another namespace than std and the
/// variable in `Type name(...)` are not.
bool is_call(std::string_view code, std::size_t at, std::size_t length) {
  const std::size_t next = code.find_first_not_of(" \n", at + length);
  if (next == std::string_view::npos || code[next] != '(') return false;
  std::string_view before = code.substr(0, at);
  if (before.ends_with('.') || before.ends_with("->")) return false;
  if (before.ends_with(' ') && !before.ends_with("return ") && before.size() > 1) {
    const char last = before[before.size() - 2];
    return std::isalnum(static_cast<unsigned char>(last)) == 0 && last != '>';
  }
  if (!before.ends_with("::")) return true;
  before.remove_suffix(2);
  return before.ends_with("std") || before.ends_with(' ') || before.ends_with('(');
}

std::vector<std::string> banned(const SourceFile& file) {
  std::vector<std::string> out;
  if (!is_product(file)) return out;
  for (const Ban& ban : kBans) {
    if (starts_with_any(file.path, ban.spared)) continue;
    for (const std::string& word : ban.words) {
      for (const std::size_t at : find_word(file.code, word)) {
        if (ban.only_calls && !is_call(file.code, at, word.size())) continue;
        out.push_back(place(file, at) + ": " + word + ": " + ban.why);
      }
    }
  }
  return out;
}

std::vector<std::string> banned_headers(const SourceFile& file) {
  static const std::vector<std::string> kHeaders = {"<random>",   "<regex>",    "<ctime>",
                                                    "<time.h>",   "<cstdio>",   "<sys/time.h>",
                                                    "<iostream>", "<execution>"};
  std::vector<std::string> out;
  if (!is_product(file)) return out;
  for (const std::string& header : kHeaders) {
    const std::size_t at = file.text.find("#include " + header);
    const bool terminal = header == "<cstdio>" || header == "<iostream>";
    if (at == std::string::npos) continue;
    if (terminal && starts_with_any(file.path, {"scenarios/", "sim/"})) continue;
    out.push_back(place(file, at) + ": includes " + header);
  }
  return out;
}

/// Names of variables and members of type unordered_map or unordered_set in `code`.
std::vector<std::string> hash_containers(const std::string& code) {
  std::vector<std::string> out;
  for (const char* type : {"unordered_map", "unordered_set", "unordered_multimap"}) {
    for (std::size_t at : find_word(code, type)) {
      at = code.find_first_of("<;", at);
      if (at == std::string::npos || code[at] != '<') continue;
      int depth = 0;
      do {
        depth += code[at] == '<' ? 1 : code[at] == '>' ? -1 : 0;
      } while (++at < code.size() && depth > 0);
      at = code.find_first_not_of("& \n", at);
      const std::size_t end = code.find_first_of(" ;,({=)", at);
      if (at != std::string::npos && end > at) out.push_back(code.substr(at, end - at));
    }
  }
  return out;
}

/// Iteration over hash containers, whose order is the implementation's. A member declared in a
/// header counts in the .cpp of the same name as well.
std::vector<std::string> hash_iteration(const SourceFile& file, const std::string& header) {
  std::vector<std::string> out;
  for (const std::string& name : hash_containers(header + file.code)) {
    for (const std::string& use : {": " + name + ")", name + ".begin(", name + ".cbegin("}) {
      for (const std::size_t at : find_word(file.code, use)) {
        out.push_back(place(file, at) + ": iterates over the hash container " + name);
      }
    }
  }
  return out;
}

TEST_CASE("product code uses nothing that is banned", "[tidy]") {
  CHECK(listed(complaints_about_project(banned)) == "");
  CHECK(listed(complaints_about_project(banned_headers)) == "");
}

TEST_CASE("nothing depends on the order of a hash container", "[tidy]") {
  const auto rule = [](const SourceFile& file) {
    if (!is_product(file)) return std::vector<std::string>();
    std::string header;
    const std::string stem = file.path.substr(0, file.path.rfind('.'));
    for (const SourceFile& other : project_files()) {
      if (other.path == stem + ".hpp" && file.ends_with(".cpp")) header = other.code;
    }
    return hash_iteration(file, header);
  };
  CHECK(listed(complaints_about_project(rule)) == "");
}

TEST_CASE("canary: each banned word is found in code", "[tidy]") {
  for (const Ban& ban : kBans) {
    for (const std::string& word : ban.words) {
      INFO(word);
      const SourceFile planted("models/x.cpp", "// X.\nint f() { return " + word + "(1); }\n");
      CHECK(!banned(planted).empty());
    }
  }
  CHECK(listed(banned(SourceFile("sim/x.cpp", "// X.\nint i = std::rand();\n"))) ==
        "sim/x.cpp:2: rand: draws come from the scenario's seed, through sim/rng.hpp\n");
  CHECK(banned_headers(SourceFile("models/x.cpp", "#include <random>\n")).size() == 1);
}

TEST_CASE("canary: comments, strings, members and longer names are not calls", "[tidy]") {
  const auto said = [](const char* text) { return listed(banned(SourceFile("sim/x.cpp", text))); };
  CHECK(said("// rand() and exit()\n/* std::endl\n printf() */\n") == "");
  CHECK(said("auto a = \"rand() \\\" exit(1)\"; char c = '\"'; auto b = \"exit()\";\n") == "");
  CHECK(said("auto a = R\"x(exit(1) \" )x\"; int n = 1'000;\n") == "");
  CHECK(said("int operand = brand(); app.exit(1); det::exp2(1.0); exit_code(); q->time();\n") ==
        "");
  CHECK(said("int n = 1'000; exit(1); int m = 2'000;\n") != "");
  CHECK(said("double f() { return log(3); }\n") != "");
  CHECK(said("double d = ::pow(2, 3) + std::exp2 (1);\n") != "");
}

TEST_CASE("canary: what a folder is spared is banned elsewhere", "[tidy]") {
  const std::string text = "auto t = std::chrono::steady_clock::now();\n";
  CHECK(banned(SourceFile("scenarios/x.cpp", text)).empty());
  CHECK(banned(SourceFile("reports/x.cpp", text)).size() == 1);
  CHECK(banned(SourceFile("tests/x.cpp", text)).empty());
}

TEST_CASE("canary: iteration over a hash container is found", "[tidy]") {
  const std::string declared = "std::unordered_map<int, std::vector<int>> seen_;\n";
  const auto said = [&](const std::string& use) {
    return hash_iteration(SourceFile("sim/x.cpp", use), declared).size();
  };
  CHECK(said("for (const auto& [k, v] : seen_) use(k);\n") == 1);
  CHECK(said("auto it = seen_.begin();\n") == 1);
  CHECK(said("auto it = seen_.find(3);\n") == 0);
  CHECK(said("for (int k : unseen_) use(k);\n") == 0);
}

}  // namespace
}  // namespace spillway::test

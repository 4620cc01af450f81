// The parallel map: results by index, and the first failure by index, whatever the threads do.
#include "scenarios/machine/parallel.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("each item is visited once and lands at its index", "[scenarios]") {
  for (const unsigned threads : {1u, 2u, 7u, 64u}) {
    for (const std::size_t count : {0u, 1u, 2u, 63u, 1000u}) {
      std::vector<std::size_t> out(count, 0);
      parallel_for(count, threads, [&](std::size_t i) { out[i] += i + 1; });
      std::vector<std::size_t> expected(count);
      std::iota(expected.begin(), expected.end(), std::size_t{1});
      CHECK(out == expected);
    }
  }
}

TEST_CASE("no threads asked for means the caller's own", "[scenarios]") {
  std::set<std::thread::id> seen;
  parallel_for(10, 0, [&](std::size_t) { seen.insert(std::this_thread::get_id()); });
  CHECK(seen == std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_CASE("one thread goes through the items in order and stops at the failure", "[scenarios]") {
  std::vector<std::size_t> seen;
  const auto body = [&](std::size_t i) {
    seen.push_back(i);
    if (i == 3) throw std::runtime_error("item 3");
  };
  CHECK_THROWS_WITH(parallel_for(10, 1, body), "item 3");
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("of several failures the first by index is rethrown", "[scenarios]") {
  // Item 0 fails only once item 1 has failed: last in time, first by index.
  std::atomic<bool> one_failed{false};
  const auto body = [&](std::size_t i) {
    if (i == 0) {
      while (!one_failed) std::this_thread::yield();
      throw std::runtime_error("item 0");
    }
    one_failed = true;
    throw std::runtime_error("a later item");
  };
  CHECK_THROWS_WITH(parallel_for(2, 2, body), "item 0");
}

TEST_CASE("the failure of many threads is always the same", "[scenarios]") {
  for (int round = 0; round < 50; ++round) {
    const auto body = [](std::size_t i) {
      if (i % 10 == 7) throw std::runtime_error("item " + std::to_string(i));
    };
    CHECK_THROWS_WITH(parallel_for(200, 8, body), "item 7");
  }
}

TEST_CASE("what is thrown keeps its type", "[scenarios]") {
  CHECK_THROWS_AS(parallel_for(4, 2, [](std::size_t) { throw std::out_of_range("x"); }),
                  std::out_of_range);
}

TEST_CASE("what has begun goes on while the caller does something else", "[scenarios]") {
  std::atomic<int> done{0};
  ParallelFor work(100, 2, [&](std::size_t) { ++done; });
  while (done < 100) std::this_thread::yield();
  work.finish();
  CHECK(done == 100);
}

TEST_CASE("work that is given up leaves the rest out", "[scenarios]") {
  std::atomic<int> done{0};
  {
    const ParallelFor work(1000, 0, [&](std::size_t) { ++done; });
  }
  CHECK(done == 0);
}

TEST_CASE("a failure in the background waits for finish()", "[scenarios]") {
  ParallelFor work(3, 1, [](std::size_t i) {
    if (i == 1) throw std::runtime_error("item 1");
  });
  CHECK_THROWS_WITH(work.finish(), "item 1");
}

/// In a process of its own that can make no further thread: its address space is nearly used up.
template <class Work>
int where_threads_are_short(const Work& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (4 << 20);
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    int code = 1;
    try {
      code = work();
    } catch (...) {
      code = 2;
    }
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

#ifndef SPILLWAY_SANITIZED  // they take all there is
TEST_CASE("where the system has no more threads to give, those that are there do the work",
          "[scenarios]") {
  CHECK(where_threads_are_short([] {
          std::atomic<int> done{0};
          parallel_for(1000, 8, [&](std::size_t) { ++done; });
          return done == 1000 ? 0 : 3;
        }) == 0);
}

TEST_CASE("what needs all of its threads at once begins with none where some lack", "[scenarios]") {
  CHECK(where_threads_are_short([] {
          std::atomic<int> begun{0};
          try {
            run_together(8, [&](std::size_t) { ++begun; });
          } catch (const std::system_error&) {
            return begun == 0 ? 0 : 3;
          }
          return 4;
        }) == 0);
}
#endif

TEST_CASE("together means at the same time", "[scenarios]") {
  // Each waits for all others: one after the other they would wait for ever.
  std::atomic<int> here{0};
  run_together(4, [&](std::size_t) {
    ++here;
    while (here < 4) std::this_thread::yield();
  });
  CHECK(here == 4);
}

}  // namespace
}  // namespace spillway::test

// SGLang's radix tree: what a walk touches and splits, when a node is copied, who leaves first.
#include "models/engine/stores/radix_tree.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Node = RadixTree::Node;

/// Copies that end at once.
struct Copied final : RadixTree::Copies {
  void write(Node node, std::uint32_t pages) override { jobs.push_back({node, pages}); }
  void flush() override { ++flushes; }
  struct Job {
    Node node;
    std::uint32_t pages;
  };
  std::vector<Job> jobs;
  int flushes = 0;
};

/// Pages of one token with ids below 100.
RadixTree::Config pages(std::uint64_t device, std::uint64_t host, std::uint32_t write_after) {
  return {100, 16, device, host, write_after};
}

/// A request computes `count` pages from `first` on, and ends.
void serve(RadixTree& tree, std::uint32_t first, std::uint32_t count) {
  const std::vector<PageRun> chain = {{first, count}};
  const RadixTree::Match match = tree.match(chain, count);
  const std::uint32_t fresh = count - match.device_pages;
  tree.lock(match.device);
  REQUIRE(tree.make_room(std::uint64_t{fresh} * 16));
  tree.take(fresh);
  tree.give(fresh - tree.insert(chain, count, true));
  tree.unlock(match.device);
}

void acknowledge(RadixTree& tree, Copied& copied) {
  for (const Copied::Job& job : copied.jobs) tree.unlock(job.node);
  copied.jobs.clear();
}

TEST_CASE("a walk that ends within a node splits it, and finds its leading pages", "[models]") {
  Copied copied;
  RadixTree tree(pages(20, 0, 1), copied);
  serve(tree, 0, 8);
  const std::vector<PageRun> other = {{0, 3}, {50, 4}};
  const RadixTree::Match match = tree.match(other, 7);
  CHECK(match.device_pages == 3);
  CHECK(tree.insert(other, 7, true) == 4);  // beside the five that follow in the first chain
  tree.take(4);
  CHECK(tree.device_pages() == 12);
  tree.check_drained();
}

TEST_CASE("write_through copies at the first insertion, selective at the second", "[models]") {
  for (const std::uint32_t after : {1U, 2U}) {
    Copied copied;
    RadixTree tree(pages(20, 20, after), copied);
    serve(tree, 0, 4);
    CHECK(copied.jobs.size() == (after == 1 ? 1 : 0));
    acknowledge(tree, copied);
    serve(tree, 0, 4);
    CHECK(copied.jobs.size() == (after == 1 ? 0 : 1));
    acknowledge(tree, copied);
    // A chunk in the middle of a prompt does not count.
    const std::vector<PageRun> chain = {{40, 4}};
    tree.take(4);
    tree.insert(chain, 4, false);
    CHECK(copied.jobs.empty());
    tree.check_drained();
  }
}

TEST_CASE("a host pool smaller than the device loses what it sees first", "[models]") {
  // 8 pages on the device, 4 in host memory. The second prefix finds no room there while the first
  // is still on the device, so that it has no copy when the device evicts both.
  Copied copied;
  RadixTree tree(pages(8, 4, 1), copied);
  serve(tree, 0, 4);
  acknowledge(tree, copied);
  serve(tree, 10, 4);
  CHECK(copied.jobs.empty());
  CHECK(tree.counters().refused == 4);
  serve(tree, 20, 8);
  CHECK(tree.match(std::vector<PageRun>{{10, 4}}, 4).host_pages == 0);
  // The third wanted 8 pages of host memory: the first prefix left in vain.
  CHECK(tree.match(std::vector<PageRun>{{0, 4}}, 4).host_pages == 0);
  CHECK(tree.counters().dropped == 4);
}

TEST_CASE("what the device evicted is loaded as a whole, ten tokens at least", "[models]") {
  Copied copied;
  RadixTree tree(pages(8, 20, 1), copied);
  serve(tree, 0, 4);
  acknowledge(tree, copied);
  serve(tree, 10, 8);
  acknowledge(tree, copied);
  const std::vector<PageRun> chain = {{0, 4}};
  const RadixTree::Match match = tree.match(chain, 4);
  CHECK(match.device_pages == 0);
  REQUIRE(match.host_pages == 4);
  REQUIRE(tree.load_back(match));
  CHECK(tree.match(chain, 4).device_pages == 4);
  tree.unlock(match.last);
  tree.check_drained();
}

TEST_CASE("write_back copies what it evicts, and drops what finds no room", "[models]") {
  Copied copied;
  RadixTree tree(pages(8, 4, 0), copied);
  serve(tree, 0, 4);
  serve(tree, 10, 4);
  CHECK(copied.jobs.empty());
  // 32 tokens: the first prefix.
  serve(tree, 20, 4);
  CHECK(copied.jobs.size() == 1);
  CHECK(copied.flushes == 1);
  CHECK(tree.match(std::vector<PageRun>{{0, 4}}, 4).host_pages == 4);
  // The second one takes its place.
  serve(tree, 30, 4);
  CHECK(copied.jobs.size() == 2);
  CHECK(tree.match(std::vector<PageRun>{{0, 4}}, 4).host_pages == 0);
  CHECK(tree.match(std::vector<PageRun>{{10, 4}}, 4).host_pages == 4);
  tree.check_drained();
}

}  // namespace
}  // namespace spillway::test

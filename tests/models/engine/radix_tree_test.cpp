// SGLang's radix tree: what a walk touches and splits, when a node is copied, who leaves first.
#include "models/engine/stores/radix_tree.hpp"

#include <algorithm>
#include <string>
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

struct Order {
  RadixEviction policy;
  const char* leaves;
};
/// Of four prefixes that were made as A, B, C, D, last met as B, D, A, C, and inserted two, three,
/// one and two times.
constexpr Order kOrders[] = {{RadixEviction::kLru, "BDAC"},  {RadixEviction::kLfu, "CDAB"},
                             {RadixEviction::kSlru, "CBDA"}, {RadixEviction::kFifo, "ABCD"},
                             {RadixEviction::kMru, "CADB"},  {RadixEviction::kFilo, "DCBA"}};
constexpr std::uint32_t kFirstPage[] = {0, 10, 20, 30};

void serve_four(RadixTree& tree, Copied& copied) {
  for (const int i : {0, 1, 2, 3, 1, 1, 3, 0}) {
    serve(tree, kFirstPage[i], 4);
    acknowledge(tree, copied);
  }
  tree.match(std::vector<PageRun>{{kFirstPage[2], 4}}, 4);  // is met, and not inserted
}
std::string without_first(std::string order, std::size_t count) {
  order.erase(0, count);
  std::sort(order.begin(), order.end());
  return order;
}

TEST_CASE("which prefix leaves the device is the policy's", "[models]") {
  for (const Order& order : kOrders) {
    for (std::size_t count = 0; count <= 4; ++count) {
      Copied copied;
      RadixTree::Config config = pages(16, 0, 1);
      config.eviction = order.policy;
      RadixTree tree(config, copied);
      serve_four(tree, copied);
      tree.make_room(count * 4 * 16);
      std::string left;
      for (int i = 0; i < 4; ++i) {
        const std::vector<PageRun> chain = {{kFirstPage[i], 4}};
        if (tree.match(chain, 4).device_pages == 4) left += static_cast<char>('A' + i);
      }
      INFO(order.leaves << " " << count);
      CHECK(left == without_first(order.leaves, count));
    }
  }
}

TEST_CASE("which prefix leaves host memory is the policy's too", "[models]") {
  for (const Order& order : kOrders) {
    for (std::uint32_t count = 1; count <= 3; ++count) {
      Copied copied;
      RadixTree::Config config = pages(16, 16, 1);
      config.eviction = order.policy;
      RadixTree tree(config, copied);
      serve_four(tree, copied);
      tree.make_room(16 * 16);  // all four are in host memory only
      serve(tree, 50, count * 4);
      std::string left;
      for (int i = 0; i < 4; ++i) {
        const std::vector<PageRun> chain = {{kFirstPage[i], 4}};
        if (tree.match(chain, 4).host_pages == 4) left += static_cast<char>('A' + i);
      }
      INFO(order.leaves << " " << count);
      CHECK(left == without_first(order.leaves, count));
    }
  }
}

TEST_CASE("what write_back never counted leaves by its last access", "[models]") {
  Copied copied;
  RadixTree::Config config = pages(16, 16, 0);
  config.eviction = RadixEviction::kLfu;
  RadixTree tree(config, copied);
  serve_four(tree, copied);
  tree.make_room(4 * 16);
  CHECK(tree.match(std::vector<PageRun>{{kFirstPage[1], 4}}, 4).host_pages == 4);
}

TEST_CASE("a queue is ordered along the branches where most wait", "[models]") {
  Copied copied;
  RadixTree tree(pages(40, 0, 1), copied);
  const std::vector<PageRun> left = {{0, 4}, {10, 2}};
  const std::vector<PageRun> right = {{0, 4}, {20, 2}};
  const std::vector<PageRun> other = {{30, 4}};
  for (const auto* chain : {&left, &other, &right}) {
    const std::uint32_t count = chain == &other ? 4 : 6;
    tree.take(count);
    tree.give(count - tree.insert(*chain, count, true));
  }
  const Node on_left = tree.match(left, 6).device;
  const Node on_right = tree.match(right, 6).device;
  const Node above = tree.match(left, 4).device;
  const Node aside = tree.match(other, 4).device;
  std::vector<std::uint32_t> order;
  // Four wait at the first four pages or below them, two of these on the right; one waits aside.
  const std::vector<Node> queue = {aside, on_left, above, on_right, RadixTree::kRoot, on_right};
  tree.order_by_weight(queue, order);
  CHECK(order == std::vector<std::uint32_t>{3, 5, 1, 2, 0, 4});
  // One each: the branch that began first. The part above a split has its place.
  tree.order_by_weight(std::vector<Node>{aside, on_left}, order);
  CHECK(order == std::vector<std::uint32_t>{1, 0});
  tree.order_by_weight(std::vector<Node>{on_right, on_left}, order);
  CHECK(order == std::vector<std::uint32_t>{1, 0});
  tree.order_by_weight({}, order);
  CHECK(order.empty());
}

}  // namespace
}  // namespace spillway::test

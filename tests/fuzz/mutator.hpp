// A small deterministic fuzzer: mutations of valid files, and the one rule for what may follow.
//
// Every draw is keyed by (seed, purpose, round), so a failure names the round that repeats it.
#pragma once

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"
#include "sim/rng.hpp"

namespace spillway::test {

class Mutator {
 public:
  /// `dictionary`: pieces that mean something in the format, to be inserted at random places.
  Mutator(std::vector<std::string> samples, std::vector<std::string> dictionary)
      : samples_(std::move(samples)), dictionary_(std::move(dictionary)) {}

  /// A sample after one to four random changes.
  std::string operator()(Stream& random) const {
    std::string out = samples_[random.below(samples_.size())];
    const std::uint64_t changes = 1 + random.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) change(out, random);
    return out;
  }

 private:
  struct Range {
    std::size_t begin;
    std::size_t size;
  };
  /// Mostly short, sometimes anything.
  static Range some_range(const std::string& text, Stream& random) {
    const std::size_t begin = random.below(text.size() + 1);
    const std::size_t left = text.size() - begin;
    const std::size_t most = random.chance(0.8) ? std::min<std::size_t>(left, 16) : left;
    return {begin, random.below(most + 1)};
  }

  void change(std::string& text, Stream& random) const {
    const Range r = some_range(text, random);
    const bool at_end = r.begin == text.size();
    switch (random.below(8)) {
      case 0:  // flip a bit
        if (!at_end) text[r.begin] = static_cast<char>(text[r.begin] ^ (1 << random.below(8)));
        return;
      case 1:  // any byte
        if (!at_end) text[r.begin] = static_cast<char>(random.below(256));
        return;
      case 2:  // delete
        text.erase(r.begin, r.size);
        return;
      case 3:  // duplicate, in place
        text.insert(r.begin, text.substr(r.begin, r.size));
        return;
      case 4:  // move
        text.insert(random.below(text.size() + 1), text.substr(r.begin, r.size));
        return;
      case 5: {  // splice: the head of this with the tail of another
        const std::string& other = samples_[random.below(samples_.size())];
        text = text.substr(0, r.begin) + other.substr(random.below(other.size() + 1));
        return;
      }
      case 6:  // a meaningful piece, over what was there or between
        if (!dictionary_.empty()) {
          const std::size_t over = random.chance(0.5) ? r.size : 0;
          text.replace(r.begin, over, dictionary_[random.below(dictionary_.size())]);
        }
        return;
      default:  // cut off
        if (random.chance(0.3)) text.resize(r.begin);
        return;
    }
  }

  std::vector<std::string> samples_;
  std::vector<std::string> dictionary_;
};

struct FuzzReport {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::vector<std::string> failures;  ///< the first few, each with its round
};

/// Feeds `rounds` mutated inputs to `target`. It may return, or throw an InputError that calls the
/// trace faulty; anything else is a failure.
inline FuzzReport fuzz(std::string_view purpose, std::uint64_t rounds, const Mutator& mutate,
                       const std::function<void(const std::string&, Stream&)>& target) {
  FuzzReport report;
  const auto fail = [&](std::uint64_t round, const std::string& what) {
    if (report.failures.size() < 5) {
      report.failures.push_back(fmt::format("round {} of {}: {}", round, purpose, what));
    }
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Stream random(1, purpose, round);
    const std::string input = mutate(random);
    try {
      target(input, random);
      ++report.accepted;
    } catch (const InputError& error) {
      ++report.refused;
      if (error.fault() != Fault::kTrace) fail(round, fmt::format("wrong code: {}", error.what()));
    } catch (const std::exception& error) {
      fail(round, error.what());
    } catch (...) {
      fail(round, "something that is no exception");
    }
  }
  return report;
}

}  // namespace spillway::test

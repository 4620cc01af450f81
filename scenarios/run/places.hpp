// Where the engines of a scenario stand: which of them share what, and the numbers of all links.
//
// Instances are placed in order, `host.instances` on a node. A medium or a device of some scope is
// there once for every place of that scope.
//
// Links are numbered engine by engine: its lanes, the media that no earlier engine has crossed, its
// way to each storage device. Media are laid, and devices counted, in that order too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario/sections/scope.hpp"

namespace spillway {

struct Scenario;

class Places {
 public:
  struct Shape {
    std::uint32_t instances = 1;
    std::uint32_t engines = 1;  ///< of one instance
    std::uint32_t per_node = 1;
  };
  /// Of one engine.
  struct Links {
    std::uint32_t lanes = 0;
    std::vector<Scope> media;
    std::uint32_t storage = 0;
  };
  Places(const Shape& shape, const Links& links);

  std::uint32_t engines() const { return shape_.instances * shape_.engines; }
  std::uint32_t links() const { return count_; }

  std::uint32_t place(Scope scope, std::uint32_t engine) const;
  std::uint32_t count(Scope scope) const { return place(scope, engines() - 1) + 1; }
  /// Engines at one place.
  std::uint32_t engines_at(Scope scope, std::uint32_t place) const;
  /// What tells the places of a scope apart in names; empty where there is one.
  std::string suffix(Scope scope, std::uint32_t place) const;

  std::uint32_t first_lane(std::uint32_t engine) const { return first_lane_[engine]; }
  std::uint32_t first_storage(std::uint32_t engine) const { return first_storage_[engine]; }

  struct Medium {
    std::uint32_t index = 0;  ///< of the scenario's media
    std::uint32_t place = 0;
    std::uint32_t link = 0;
  };
  /// As they are laid.
  const std::vector<Medium>& media() const { return media_; }
  /// The place in media() of what an engine crosses.
  std::uint32_t medium(std::uint32_t index, std::uint32_t engine) const;

 private:
  Shape shape_;
  std::vector<Scope> scopes_;
  std::vector<Medium> media_;
  std::vector<std::vector<std::uint32_t>> laid_;  ///< by index and place
  std::vector<std::uint32_t> first_lane_;
  std::vector<std::uint32_t> first_storage_;
  std::uint32_t count_ = 0;
};

/// The instances of a scenario on its hosts; one host holds all unless it says fewer.
Places::Shape shape_of(const Scenario& scenario);

}  // namespace spillway

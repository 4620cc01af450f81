// What several engines of one simulation have in common, made by whoever asks first and known by
// its type and a number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>

namespace spillway {

struct SharedThing {
  virtual ~SharedThing() = default;
};

class SharedThings {
 public:
  /// `make` returns a unique_ptr<T>; T is a SharedThing.
  template <class T, class Make>
  T& at(std::uint32_t number, Make make) {
    std::unique_ptr<SharedThing>& place = things_[{std::type_index(typeid(T)), number}];
    if (place == nullptr) place = make();
    return static_cast<T&>(*place);
  }

 private:
  std::map<std::pair<std::type_index, std::uint32_t>, std::unique_ptr<SharedThing>> things_;
};

}  // namespace spillway

// What a connector keeps for each request, by its handle.
#pragma once

#include <cstddef>
#include <vector>

#include "models/requests/active_request.hpp"

namespace spillway {

template <class T>
class ByHandle {
 public:
  /// As it was made, where nothing was kept yet.
  T& operator[](Handle h) {
    const auto i = static_cast<std::size_t>(h);
    if (things_.size() <= i) things_.resize(i + 1);
    return things_[i];
  }

 private:
  std::vector<T> things_;
};

}  // namespace spillway

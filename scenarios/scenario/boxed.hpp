// A section of a scenario held apart, so that who names the scenario compiles without the section.
#pragma once

#include <memory>
#include <utility>

namespace spillway {

/// Nothing, or one T; copies are deep. T need be complete only where a section is made, copied or
/// looked into. Used as std::optional is.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : held_(std::make_unique<T>(std::move(value))) {}  // NOLINT(*-explicit-*)
  Boxed(const Boxed& other) : held_(other.held_ ? std::make_unique<T>(*other.held_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    held_.swap(other.held_);
    return *this;
  }

  T& emplace() { return *(held_ = std::make_unique<T>()); }
  void reset() { held_.reset(); }
  bool has_value() const { return held_ != nullptr; }
  explicit operator bool() const { return has_value(); }

  T* operator->() { return held_.get(); }
  const T* operator->() const { return held_.get(); }
  T& operator*() { return *held_; }
  const T& operator*() const { return *held_; }

 private:
  std::unique_ptr<T> held_;
};

}  // namespace spillway

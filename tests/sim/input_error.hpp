// Catches the InputError of an action, so that a test can look at its exit code and its text.
#pragma once

#include <utility>

#include "sim/error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {

/// The InputError that `action` ends in; the test fails when it ends otherwise.
template <class Action>
InputError error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const InputError& error) {
    return error;
  }
  FAIL("expected an InputError, but nothing was thrown");
  throw InternalError("unreachable: FAIL throws");
}

}  // namespace spillway::test

// The benches of `spillway calibrate`: the one place that knows them all.
#pragma once

#include <string>
#include <vector>

#include "scenarios/calibrate/cell_runner.hpp"
#include "scenarios/calibrate/machine.hpp"

namespace spillway {

/// `host` must outlive them. What cannot be measured here at all is named in `missing`.
BenchList make_benches(const HostState& host, bool host_only, std::vector<std::string>& missing);

}  // namespace spillway

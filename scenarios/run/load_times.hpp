// What a prefix takes from each idle tier, against computing it: where loading begins to pay.
#pragma once

namespace spillway {

struct RunResult;
struct Scenario;

/// Fills in `break_even` and `load_times`. Model: nothing else is on the way or in the batch; a
/// prefix that lies in one tier whole, in whole chunks where tiers keep these.
void add_load_times(const Scenario& s, RunResult& r);

}  // namespace spillway

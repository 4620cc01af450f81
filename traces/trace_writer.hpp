// Workloads to files: the kind follows the file's name.
#pragma once

#include <string>

#include "sim/workload.hpp"

namespace spillway {

/// `.bin` binary, `.jsonl` Mooncake's form, `.csv` our CSV; the latter two also with `.gz` or
/// `.zst` behind. Throws InputError: exit 2 for another name, exit 7 when the file cannot be
/// written. Complete or absent, never half.
void write_trace(const Workload& workload, const std::string& path);

}  // namespace spillway

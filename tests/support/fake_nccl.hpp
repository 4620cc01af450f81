// A stand-in for all_reduce_perf of NVIDIA's nccl-tests: prints its table for a known machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support/files.hpp"

namespace spillway::test {

/// A script that can be started, in `scratch`.
inline std::string script(const Scratch& scratch, std::string_view name, std::string_view text) {
  std::string path = scratch.file(name, "#!/bin/sh\n" + std::string(text));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

/// Called as `-b FIRST -e LAST -f FACTOR -g RANKS ...`. A collective of p ranks takes 12 us x p,
/// and each GPU sends 2 (p - 1) / p of the tensor at 16 GB/s.
inline std::string fake_all_reduce(const Scratch& scratch) {
  return script(scratch, "all_reduce_perf", R"sh(awk -v b=$2 -v e=$4 -v f=$6 -v g=$8 'BEGIN {
  print "# nThread 1 nGpus " g " minBytes " b " maxBytes " e
  print "NCCL version 2.27.7+cuda12.9"
  print "#\n#                                                out-of-place            in-place"
  print "#   size  count  type redop root   time  algbw  busbw #wrong   time  algbw  busbw #wrong"
  print "#    (B)  (elements)              (us)  (GB/s) (GB/s)         (us)  (GB/s) (GB/s)"
  for (n = b; n <= e; n *= f) {
    us = 12 * g + 2 * (g - 1) / g * n / 16000
    printf "%12d %12d half sum -1 %.2f 1.00 1.00 0 %.2f 1.00 1.00 N/A\n", n, n / 2, us, us * 2
  }
  print "# Out of bounds values : 0 OK"
  print "# Avg bus bandwidth    : 1.0"
}'
)sh");
}

}  // namespace spillway::test

// Verbs that judge for a script.
#pragma once

namespace spillway {

/// Exit code of a gate (`--gate`, `calibrate --verify`) that failed.
inline constexpr int kGateFailed = 99;

}  // namespace spillway

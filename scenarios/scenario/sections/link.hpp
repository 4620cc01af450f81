// The sections `links`, `media` and `engine.interference` of a scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/link/link_model.hpp"
#include "scenarios/scenario/sections/scope.hpp"

namespace spillway {

/// One direction of a link, ready to be made into a model for each run.
struct LinkChoice {
  std::string name;
  std::string from;
  std::string to;
  bool affine = true;
  Duration latency{0};
  std::int64_t bytes_per_second = 0;  ///< of one NIC
  Stripes stripes;
  RateTable table;
  double duplex_factor = 1;
  std::string source;                ///< where its figures come from, for results
  std::string method;                ///< how pieces are copied: batch, dma, kernel; empty: not said
  Duration submit{0};                ///< of the host thread, for each piece
  double numa_penalty = 1;           ///< factor on the rate, of a hop between sockets
  std::vector<std::string> through;  ///< names of media
  std::uint32_t shared_by = 1;       ///< clients that use those media alike
  double sm_share = 0;               ///< of the SMs, while a kernel copies
  std::optional<RateTable> kernel_table;  ///< where it copies only jobs of many pieces: its rates
  std::optional<std::uint32_t> rank;      ///< whose link it is; none: every rank has one like it

  std::unique_ptr<LinkModel> make() const;
};

/// A path that several links, or several clients of one, share.
struct MediumChoice {
  std::string name;
  std::int64_t bytes_per_second = 0;
  bool fifo = false;               ///< first come, first served; else fair shares
  Scope scope = Scope::kInstance;  ///< who has one in common
};

/// Copies take HBM bandwidth from memory-bound work.
struct InterferenceChoice {
  double hbm_bytes_per_s = 0;
  double memory_factor = 1;  ///< measured harm beyond the share of bandwidth
};

}  // namespace spillway

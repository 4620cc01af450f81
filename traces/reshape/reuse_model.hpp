// Block ids for traces that say nothing about reuse: by default none is invented, and what a user
// asks for instead is an assumption that the result names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// What requests of a trace without block ids are assumed to share.
struct ReuseModel {
  enum class Kind : std::uint8_t {
    kNone,           ///< every request has blocks of its own
    kSessionPrefix,  ///< a turn long enough to hold the one before it and its answer begins with
                     ///< them
    kSharedPrefix,   ///< the first `tokens` of every prompt are one system prompt
  };
  Kind kind = Kind::kNone;
  std::int64_t tokens = 0;

  std::string name() const;  ///< as the user types it
  /// Tokens in a block of such a trace: what was asked for, else a size that suits the model.
  std::uint32_t block_tokens(std::uint32_t asked) const;
};

/// "none", "session-prefix" or "shared-prefix:TOKENS"; throws InputError (exit 2) on anything else.
ReuseModel parse_reuse_model(std::string_view text, const SourceRef& where);

/// Throws InputError (exit 2): a model is asked for and `path` names its blocks itself.
[[noreturn]] void refuse_reuse_model(const ReuseModel& model, const std::string& path);

/// Passes `reader`'s rows on and gives those that are not identified the blocks of `model`,
/// ceil(input / block) of them, distinct from any other row's unless the model says otherwise.
/// Blocks that the model lets nobody share get names only where `named`.
std::unique_ptr<TraceReader> with_reuse_model(std::unique_ptr<TraceReader> reader,
                                              const ReuseModel& model, std::string path,
                                              bool named);

}  // namespace spillway

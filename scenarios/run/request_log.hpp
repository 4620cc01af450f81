// The observer behind `--output kind=requests`: one CSV row per request, in the order of the trace.
#pragma once

#include <string>
#include <vector>

#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace spillway {

class RequestLog final : public Observer {
 public:
  explicit RequestLog(std::uint32_t requests) : records_(requests) {}
  void on_request(const RequestRecord& record) override { records_[raw(record.request)] = record; }

  /// Times in seconds with nine decimals, empty where something never happened; one column of
  /// cached tokens per tier of `tiers`; behind them `due_s`, when the client wanted to send it, and
  /// for a completed request what its time to first token went into, by TtftStage.
  void write(const std::string& path, const std::vector<TierResult>& tiers) const;

 private:
  std::vector<RequestRecord> records_;
};

}  // namespace spillway

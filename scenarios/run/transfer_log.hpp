// The observer behind `--output kind=transfers`: one CSV row per transfer, as they ended. It is the
// schedule that `spillway calibrate --replay` plays on a real GPU.
#pragma once

#include <string>
#include <vector>

#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace spillway {

class TransferLog final : public Observer {
 public:
  void on_transfer(const TransferRecord& record) override { records_.push_back(record); }

  /// `links` names them by number. Direction is `h2d` towards HBM, `d2h` from HBM, and `host`
  /// between tiers below it, where no GPU takes part. Times in seconds with nine decimals.
  void write(const std::string& path, const std::vector<LinkResult>& links) const;

 private:
  std::vector<TransferRecord> records_;
};

}  // namespace spillway

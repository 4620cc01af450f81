#include "reports/run/run_json.hpp"

#include "reports/fields/read.hpp"
#include "reports/fields/write.hpp"
#include "reports/run/run_fields.hpp"

namespace spillway {

nlohmann::json to_json(const RunResult& run) {
  return to_document(run);
}

RunResult run_from_json(const nlohmann::json& from) {
  return read_document<RunResult>(from);
}

}  // namespace spillway

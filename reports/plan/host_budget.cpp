#include "reports/plan/host_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/provenance.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// The configuration, with what the cell's searched values put in its place.
class Setup {
 public:
  Setup(const Provenance& provenance, const PlanPoint* point)
      : point_(point), root_(object_at(provenance.inputs, "configuration")) {}

  bool has(const char* part) const { return root_.contains(part) && root_[part].is_object(); }
  const json& root() const { return root_; }

  double number(const char* part, const char* key, double otherwise) const {
    const std::string dotted = fmt::format("{}.{}", part, key);
    if (point_ != nullptr) {
      for (const auto& [name, value] : point_->values) {
        if (name != dotted) continue;
        const json parsed = json::parse(value, nullptr, false);
        if (parsed.is_number()) return parsed.get<double>();
      }
    }
    if (!has(part)) return otherwise;
    const auto at = root_[part].find(key);
    return at != root_[part].end() && at->is_number() ? at->get<double>() : otherwise;
  }
  std::uint32_t count(const char* part, const char* key, std::uint32_t otherwise) const {
    const double value = number(part, key, otherwise);
    return value >= 1 && value <= 1e6 ? static_cast<std::uint32_t>(value) : otherwise;
  }

  /// Of the tier called `name`; empty where there is none, as with v0's swap space.
  std::string kind_of(const std::string& name) const {
    if (!root_.contains("tiers") || !root_["tiers"].is_array()) return "";
    for (const json& tier : root_["tiers"]) {
      if (tier.is_object() && tier.value("name", "") == name) return tier.value("kind", "");
    }
    return "";
  }
  /// Some tier is storage that is read and written through host memory.
  bool buffered_storage() const {
    if (!root_.contains("tiers") || !root_["tiers"].is_array()) return false;
    for (const json& tier : root_["tiers"]) {
      if (!tier.is_object() || !tier.contains("device")) continue;
      if (!tier["device"].value("direct", false)) return true;
    }
    return false;
  }

 private:
  const PlanPoint* point_;
  json root_;
};

std::string times(std::uint32_t count, const char* what, double bytes) {
  return fmt::format("{} {}{} x {}", count, what, count == 1 ? "" : "s", format_bytes(bytes));
}

class Budgeter {
 public:
  Budgeter(const PlanResult& plan, const Provenance& provenance)
      : plan_(plan), point_(point_of(plan)), setup_(provenance, point_) {}

  HostBudget budget() {
    if (point_ == nullptr) {
      out_.missing = "Nothing is recommended, so there is no size to make room for.";
      return std::move(out_);
    }
    out_.cell = point_->name.empty() ? point_->capacity : point_->name;
    read_host();
    add_pools();
    add_processes();
    add_weights();
    add_page_cache();
    add_spare();
    for (const HostLine& line : out_.lines) out_.need += line.bytes;
    return std::move(out_);
  }

 private:
  static const PlanPoint* point_of(const PlanResult& plan) {
    const int at = plan.recommended >= 0 ? plan.recommended : plan.provisional;
    if (at < 0 || static_cast<std::size_t>(at) >= plan.points.size()) return nullptr;
    return &plan.points[static_cast<std::size_t>(at)];
  }

  void add(std::string name, std::string arithmetic, double bytes, std::string from,
           bool per_rank) {
    out_.lines.push_back(
        {std::move(name), std::move(arithmetic), bytes, std::move(from), per_rank});
  }

  void read_host() {
    out_.host_said = setup_.has("host");
    out_.installed = setup_.number("host", "memory_bytes", 0);
    out_.reserved = setup_.number("host", "reserved_bytes", 0);
    out_.numa_nodes = setup_.count("host", "numa_nodes", 1);
    out_.ranks = setup_.count("engine", "tensor_parallel_size", 1) *
                 setup_.count("engine", "pipeline_parallel_size", 1);
    out_.engines =
        setup_.count("engine", "data_parallel_size", 1) * setup_.count("host", "instances", 1);
    out_.block = setup_.number("engine", "block_bytes", 0);
    if (setup_.has("engine")) out_.preset = setup_.root()["engine"].value("preset", "");
  }

  void add_pools() {
    const std::string kind = setup_.kind_of(plan_.tier);
    if (!kind.empty() && kind != "dram") {
      out_.unknown.push_back(
          fmt::format("{} is {}: its size is a matter of drives or servers, not of this memory",
                      plan_.tier, kind));
      return;
    }
    if (point_->unbounded) {
      out_.unknown.push_back(
          fmt::format("a {} without bound: plan.sizes would give it one", plan_.tier));
      return;
    }
    out_.pool = static_cast<double>(plan_.recommended >= 0 && plan_.recommended_bytes > 0
                                        ? plan_.recommended_bytes
                                        : point_->capacity_bytes);
    if (out_.pool <= 0) return;
    add("KV pool of this engine", times(1, "engine", out_.pool), out_.pool, "this plan", true);
    if (out_.engines > 1) {
      add("KV pools of the other engines", times(out_.engines - 1, "engine", out_.pool),
          (out_.engines - 1) * out_.pool, "this plan", true);
    }
  }

  void add_processes() {
    add("operating system", format_bytes(kSystemBytes), kSystemBytes, "assumed", false);
    add("server processes", times(out_.engines, "engine", kEngineBytes),
        out_.engines * kEngineBytes, "assumed", false);
    add("worker processes", times(out_.engines * out_.ranks, "GPU", kRankBytes),
        out_.engines * out_.ranks * kRankBytes, "assumed", true);
  }

  void add_weights() {
    double weights = 0;
    if (setup_.has("engine") && setup_.root()["engine"].contains("memory")) {
      weights = setup_.root()["engine"]["memory"].value("weight_bytes", 0.0);
    }
    if (weights <= 0) {
      out_.unknown.emplace_back(
          "the weights while they are loaded: their size is not known (model and gpu would tell)");
      return;
    }
    add("weights while they are loaded", times(out_.ranks, "rank", weights), out_.ranks * weights,
        "the model's size; that they pass through the page cache once is assumed, and they leave "
        "it under pressure",
        false);
  }

  void add_page_cache() {
    if (!setup_.buffered_storage()) return;
    if (out_.installed <= 0) {
      out_.unknown.emplace_back(
          "the page cache before storage, a share of all memory: host.memory would tell");
      return;
    }
    add("page cache before storage",
        fmt::format("{} of {}", format_percent(kDirtyShare), format_bytes(out_.installed)),
        kDirtyShare * out_.installed,
        "Linux's vm.dirty_background_ratio as it is shipped, of all memory", false);
  }

  void add_spare() {
    double sum = 0;
    for (const HostLine& line : out_.lines) sum += line.bytes;
    add("spare", fmt::format("{} of {}", format_percent(kSpareShare), format_bytes(sum)),
        kSpareShare * sum, "assumed", false);
  }

  const PlanResult& plan_;
  const PlanPoint* point_;
  Setup setup_;
  HostBudget out_;
};

}  // namespace

std::uint32_t HostBudget::ranks_on(std::uint32_t node) const {
  const std::uint32_t all = engines * ranks;
  return all / numa_nodes + (node < all % numa_nodes ? 1 : 0);
}

double HostBudget::on_node(const HostLine& line, std::uint32_t node) const {
  if (!line.per_rank) return line.bytes / numa_nodes;
  return line.bytes * ranks_on(node) / std::max(1U, engines * ranks);
}

HostBudget host_budget(const PlanResult& plan, const Provenance& provenance) {
  return Budgeter(plan, provenance).budget();
}

std::string host_need(const HostBudget& host) {
  if (host.pool <= 0 || host.need <= 0) return {};
  std::string out =
      fmt::format("for the KV cache alone; each host needs {} of memory in all (page Host budget)",
                  format_bytes(host.need));
  if (host.installed > 0 && host.installed < host.need) {
    out += fmt::format(", and has {}", format_bytes(host.installed));
  }
  return out;
}

}  // namespace spillway

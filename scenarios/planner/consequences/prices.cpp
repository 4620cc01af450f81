#include "scenarios/planner/consequences/prices.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/catalogue/gpu_spec.hpp"
#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/price_lists.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Names kAnyGpu = "default";
constexpr double kMostPrice = 1e12;
constexpr double kMostMonths = 1200;

/// A number, or a purchase written off over its months.
constexpr Key price_key(Names name, Names help) {
  Key key = or_form(number_key(name, 0, kMostPrice, help), KeyForm::kObject);
  key.object = &PriceKeys::kAmortised;
  return key;
}
constexpr Key price_by_name(Names name, Names help) {
  Key key = price_key(name, help);
  key.by_name = true;
  return key;
}

constexpr Key kTopKeys[] = {
    text_key("$schema", "Where this schema lies, for editors. No command reads it."),
    required(text_key("currency", "Currency of every price, e.g. USD.")),
    text_key("source", "Where the prices come from, and their date. Reports print it."),
    price_by_name("gpu_hour", "One GPU for one hour, for all or by name. A purchase is per month."),
    price_key("dram_gib_month", "One GiB of host memory for a month."),
    price_key("nvme_gib_month", "One GiB of local drives for a month."),
    object_key("storage_gib_month", PriceKeys::kStorage, "One GiB of other storage for a month."),
    or_form(object_key("network", PriceKeys::kNetwork, "Traffic to fs, object and kv."),
            KeyForm::kNumber),
    price_key("host_month", "What one engine costs a month beside all these.")};
constexpr Key kAmortisedKeys[] = {
    required(number_key("purchase", 0, kMostPrice, "Price of the purchase.")),
    required(number_key("months", 1, kMostMonths, "Months over which it is written off.")),
    number_key("monthly", 0, kMostPrice, "Power, space and repair for a month.", "0")};
constexpr Key kStorageKeys[] = {price_key("fs", "A shared file system."),
                                price_key("object", "Object storage."),
                                price_key("kv", "A key-value server.")};
constexpr Key kNetworkKeys[] = {
    number_key("per_gb", 0, kMostPrice, "One GB (1e9 bytes) of traffic."),
    number_key("per_month", 0, kMostPrice, "A month, whatever the traffic.", "0")};

class PriceReader {
 public:
  explicit PriceReader(const JsonSource& source)
      : top_(source, "", "the prices file", PriceKeys::kTop) {}

  Prices read() {
    top_.text("$schema");  // for editors; here only its type matters
    out_.path = top_.source().name();
    out_.currency = top_.require_text("currency");
    if (out_.currency.empty()) top_.fail("currency", "expected a name, e.g. \"USD\", found none");
    out_.source = top_.text("source").value_or("");
    read_gpus();
    out_.dram_gib_month = month(top_, "dram_gib_month", 1);
    out_.storage_gib_month[static_cast<std::size_t>(StorageKind::kNvme)] =
        month(top_, "nvme_gib_month", 1);
    if (const auto storage = top_.object("storage_gib_month", PriceKeys::kStorage)) {
      for (const Key& key : kStorageKeys) {
        const Names kind = key.name;
        const auto at = std::find(std::begin(kStorageKinds), std::end(kStorageKinds), kind);
        out_.storage_gib_month[at - std::begin(kStorageKinds)] = month(*storage, kind, 1);
      }
    }
    read_network();
    out_.host_month = month(top_, "host_month", 1).value_or(0);
    return std::move(out_);
  }

 private:
  /// The price of a month: a number of them times `factor`, or what a purchase comes to.
  std::optional<double> month(const ObjectReader& o, Names key, double factor) {
    if (!o.has(key)) return std::nullopt;
    if (o.value(key).is_number()) return o.require_number(key, 0, kMostPrice) * factor;
    if (!o.value(key).is_object()) {
      o.fail(key, fmt::format("expected a price, or {{\"purchase\": ..., \"months\": ...}}, found "
                              "{}",
                              o.value(key).dump()));
    }
    const auto bought = o.object(key, PriceKeys::kAmortised);
    const double purchase = bought->require_number("purchase");
    const double months = bought->require_number("months");
    const double monthly = bought->number("monthly").value_or(0);
    NoteFigures figures = {{"key", o.where(key).field},
                           {"purchase", purchase},
                           {"currency", out_.currency},
                           {"months", months}};
    if (monthly > 0) figures.emplace_back("monthly", monthly);
    out_.notes.push_back(plan_note("written-off", std::move(figures)));
    return purchase / months + monthly;
  }

  void read_gpus() {
    if (!top_.has("gpu_hour")) return;
    const nlohmann::json& given = top_.value("gpu_hour");
    if (!given.is_object() || given.contains("purchase")) {
      out_.any_gpu_month = month(top_, "gpu_hour", kHoursPerMonth);
      return;
    }
    const auto gpus = top_.open_object("gpu_hour");
    for (const std::string& name : gpus->keys()) {
      const auto price = month(*gpus, name, kHoursPerMonth);
      if (!price) gpus->fail(name, "expected a price, found null");
      if (name == kAnyGpu) {
        out_.any_gpu_month = price;
        continue;
      }
      const GpuSpec& gpu = find_gpu(name, gpus->where(name));
      const auto same = [&](const auto& known) { return known.first == &gpu; };
      if (std::any_of(out_.gpu_month.begin(), out_.gpu_month.end(), same)) {
        gpus->fail(name, fmt::format("{} has a price already under another name", gpu.name));
      }
      out_.gpu_month.emplace_back(&gpu, *price);
    }
  }

  void read_network() {
    if (!top_.has("network")) return;
    if (top_.value("network").is_number()) {
      out_.network_gb = top_.require_number("network", 0, kMostPrice);
      return;
    }
    const auto network = top_.object("network", PriceKeys::kNetwork);
    out_.network_gb = network->number("per_gb");
    out_.network_month = network->number("per_month").value_or(0);
  }

  ObjectReader top_;
  Prices out_;
};

const TierResult* tier_of(const RunResult& run, const std::string& name) {
  for (const TierResult& tier : run.tiers) {
    if (tier.name == name) return &tier;
  }
  return nullptr;
}

/// Sums up one cell.
class Pricing {
 public:
  Pricing(const Scenario& scenario, const RunResult& run, const Prices& prices)
      : s_(scenario), run_(run), prices_(prices) {}

  CellPrice price() {
    add_gpus();
    if (s_.tier) add_tier(*s_.tier, tier_bytes_of(s_, run_));
    for (const TierChoice& tier : s_.behind) {
      const TierResult* held = tier_of(run_, tier.name);
      const double bytes = held == nullptr ? 0 : static_cast<double>(held->peak_bytes);
      if (bytes > 0) {
        out_.notes.push_back(
            plan_note("priced-at-end", {{"tier", tier.name}, {"held_bytes", bytes}}));
      }
      add_tier(tier, bytes);
    }
    add_network();
    if (prices_.host_month > 0) {
      add("host", static_cast<double>(instances_of(s_)), "engine", prices_.host_month);
    }
    for (const CostItem& item : out_.items) out_.per_month += item.per_month;
    return std::move(out_);
  }

 private:
  void add(std::string name, double quantity, std::string unit, double price) {
    out_.items.push_back({std::move(name), quantity, std::move(unit), price, quantity * price});
  }

  void add_gpus() {
    const auto price = prices_.gpu(s_.gpu);
    const std::string name = s_.gpu == nullptr ? "GPU" : std::string(s_.gpu->name);
    if (!price) {
      out_.missing.push_back(
          fmt::format("gpu_hour.{}", s_.gpu == nullptr ? std::string(kAnyGpu) : name));
      if (const GpuSpec* slower = prices_.slower_and_dearer(s_.gpu)) {
        out_.undercut =
            fmt::format("the default, {} {} an hour, is less than that of {}, {}, which is slower",
                        format_real(*prices_.any_gpu_month / kHoursPerMonth), prices_.currency,
                        slower->name, format_real(*prices_.gpu(slower) / kHoursPerMonth));
      }
      return;
    }
    add(name, static_cast<double>(total_gpus(s_)), "GPU", *price);
  }

  void add_tier(const TierChoice& tier, double bytes) {
    if (bytes <= 0) return;
    const auto price =
        tier.storage ? prices_.storage_gib_month[static_cast<std::size_t>(tier.storage->spec.kind)]
                     : prices_.dram_gib_month;
    if (!price) {
      const std::string_view kind = tier.kind();
      const bool own_key = kind == "dram" || kind == "nvme";
      out_.missing.push_back(own_key ? fmt::format("{}_gib_month", kind)
                                     : fmt::format("storage_gib_month.{}", kind));
      return;
    }
    if (&tier == &*s_.tier && tier.capacity.kind == Capacity::Kind::kUnbounded) {
      out_.notes.push_back(
          plan_note("priced-at-most-held", {{"tier", tier.name}, {"held_bytes", bytes}}));
    }
    add(tier.name, bytes / kGiB, "GiB", *price);
  }

  bool is_remote(const TierChoice& tier) const {
    return tier.storage && tier.storage->spec.kind != StorageKind::kNvme;
  }

  /// Bytes that the run moved to and from tiers behind a network.
  double remote_bytes() const {
    std::vector<std::string> names;
    if (s_.tier && is_remote(*s_.tier)) names.push_back(s_.tier->name);
    for (const TierChoice& tier : s_.behind) {
      if (is_remote(tier)) names.push_back(tier.name);
    }
    double bytes = 0;
    for (const LinkResult& link : run_.links) {
      for (const std::string& name : names) {
        const bool its =
            link.name.starts_with(name + "-write") || link.name.starts_with(name + "-read");
        if (its && !link.medium) bytes += static_cast<double>(link.bytes);
      }
    }
    return bytes;
  }

  void add_network() {
    const double span_s = observed_s(s_, run_);
    const double bytes = remote_bytes();
    if (prices_.network_month > 0) add("network", 1, "month", prices_.network_month);
    if (bytes <= 0 || span_s <= 0) return;
    const double gb = bytes / 1e9 / span_s * kSecondsPerMonth;
    if (!prices_.network_gb) {
      if (prices_.network_month <= 0) {
        out_.notes.push_back(plan_note("network-without-price", {{"month_gb", gb}}));
      }
      return;
    }
    add("network traffic", gb, "GB", *prices_.network_gb);
  }

  const Scenario& s_;
  const RunResult& run_;
  const Prices& prices_;
  CellPrice out_;
};

}  // namespace

const KeyTable PriceKeys::kTop = kTopKeys;
const KeyTable PriceKeys::kAmortised = kAmortisedKeys;
const KeyTable PriceKeys::kStorage = kStorageKeys;
const KeyTable PriceKeys::kNetwork = kNetworkKeys;

std::optional<double> Prices::gpu(const GpuSpec* gpu) const {
  for (const auto& [known, price] : gpu_month) {
    if (known == gpu) return price;
  }
  if (slower_and_dearer(gpu) != nullptr) return std::nullopt;
  return any_gpu_month;
}

const GpuSpec* Prices::slower_and_dearer(const GpuSpec* gpu) const {
  if (gpu == nullptr || !any_gpu_month) return nullptr;
  const auto slower = [&](const GpuSpec& other) {
    return other.bf16_tflops <= gpu->bf16_tflops && other.memory_gbs <= gpu->memory_gbs;
  };
  for (const auto& [known, price] : gpu_month) {
    if (known == gpu) return nullptr;
  }
  for (const auto& [known, price] : gpu_month) {
    if (price > *any_gpu_month && slower(*known)) return known;
  }
  return nullptr;
}

Prices read_prices(const JsonSource& source) {
  return PriceReader(source).read();
}

Prices load_prices(const std::string& name_or_path) {
  for (const PriceList& list : price_lists()) {
    if (list.name == name_or_path) {
      return read_prices(JsonSource::from_text(name_or_path, std::string(list.text)));
    }
  }
  return read_prices(JsonSource::from_file(name_or_path));
}

CellPrice price_of(const Scenario& scenario, const RunResult& run, const Prices& prices) {
  return Pricing(scenario, run, prices).price();
}

void require_prices(const CellPrice& price, const Prices& prices, std::string_view objective) {
  if (price.missing.empty()) return;
  throw InputError(Fault::kUsage, {prices.path, 0, price.missing.front()},
                   fmt::format("missing; the objective {} needs the price{} {}{}", objective,
                               price.missing.size() > 1 ? "s" : "", fmt::join(price.missing, ", "),
                               price.undercut.empty() ? "" : " (" + price.undercut + ")"));
}

double tier_bytes_of(const Scenario& scenario, const RunResult& run) {
  if (!scenario.tier) return 0;
  if (scenario.tier->capacity.kind == Capacity::Kind::kUnbounded) {
    const TierResult* held = tier_of(run, scenario.tier->name);
    return held == nullptr ? 0 : static_cast<double>(held->peak_bytes);
  }
  const auto blocks = static_cast<double>(scenario.tier_blocks(scenario.tier->capacity));
  return blocks * static_cast<double>(scenario.tier_block_bytes().count()) *
         static_cast<double>(instances_of(scenario));
}

double observed_s(const Scenario& scenario, const RunResult& run) {
  return run.duration_s + seconds_of(scenario.workload->warmup);
}

}  // namespace spillway

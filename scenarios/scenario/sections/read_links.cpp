// The links between tiers: what the scenario gives, and the GPU's defaults for the rest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/defaults.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/decimal.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr std::uint32_t kMostClients = 1024;
constexpr std::uint32_t kMostNics = 64;
constexpr std::string_view kLinkKinds[] = {"affine", "constant", "table", "default", "profile"};
constexpr std::string_view kMethods[] = {"batch", "dma", "kernel"};
constexpr std::string_view kMemories[] = {"host_alloc", "registered_4k", "registered_2m",
                                          "pageable", "write_combined"};
constexpr std::string_view kPatterns[] = {"contiguous", "strided", "random", "layer_first",
                                          "page_first"};
constexpr Key kLinkKeys[] = {
    required(text_key("name", "Name in results.")),
    required(text_key("from", "Tier where bytes come from: hbm, host, or a name.")),
    required(text_key("to", "Tier where bytes go.")),
    required(
        choice_key("kind", kLinkKinds,
                   "default: the published link of the gpu. profile: as hardware was measured.")),
    number_key("latency_us", 0, 1e9, "Latency of a transfer.", "0 with kind table"),
    rate_key("bandwidth", "Bandwidth. Only with kind affine or constant."),
    integer_key("nics", 1, kMostNics,
                "NICs that share each transfer; bandwidth is that of one. Only with kind affine.",
                "1"),
    size_key("slice", "Piece of a transfer that one NIC carries. Only with nics.", "64KiB"),
    number_key("per_copy_us", 0, 1e6, "Cost of each copy. Only with kind table.",
               "0 with kind table"),
    list_of(size_key("copy_bytes", "Copy sizes of the table, ascending.")),
    list_of(number_key("copies", 1, 1e12, "Numbers of copies of the table, ascending.")),
    list_of(
        number_key("gbs", 1e-6, 1e6, "Measured GB/s: a row of sizes for each number of copies.")),
    number_key("duplex_factor", 0.01, 1,
               "Share of the rate that remains while the other direction is busy.",
               "1, or that of kind default or profile"),
    choice_key("method", kMethods, "How pieces are copied. It chooses the table of kind default.",
               "batch, or as engine.small_page_kernel does"),
    number_key("submit_us", 0, 1e6, "Host time of each piece. One thread serves both directions.",
               "0, or that of kind default or profile"),
    number_key("numa_penalty", 0.01, 1, "Factor on the rate of a link that crosses sockets.", "1"),
    list_of(text_key("through", "Media that its transfers cross.")),
    integer_key("shared_by", 1, kMostClients,
                "Clients that load its media, or the link itself, alike.", "1"),
    number_key("sm_share", 0, 0.95, "Share of the SMs that a copying kernel takes from prefills.",
               "0, or as engine.small_page_kernel does"),
    choice_key("mem", kMemories, "Host memory that was measured. Only with kind profile."),
    choice_key("pattern", kPatterns,
               "How pieces lie in memory on both sides. Only with kind profile."),
    integer_key("rank", 0, kMostCount, "Rank that owns the link. On every link or on none.",
                "every rank has one")};
RateTable read_rate_table(const ObjectReader& link) {
  RateTable table;
  const auto sizes = link.texts("copy_bytes", ObjectReader::kSize);
  if (!sizes || sizes->empty())
    link.missing("copy_bytes", "ascending copy sizes, e.g. [\"4KiB\", \"2MiB\"]");
  for (const std::string& size : *sizes) {
    table.copy_bytes.push_back(
        static_cast<double>(parse_bytes(size, link.where("copy_bytes")).count()));
  }
  table.copies = link.numbers("copies").value_or(std::vector<double>{1});
  if (!link.has("copies")) table.any_count_from = 0;
  const auto gbs = link.numbers("gbs");
  if (!gbs) link.missing("gbs", "rates in GB/s, one row of sizes after another per copy count");
  table.gbs = *gbs;
  const auto ascending = [](const std::vector<double>& v) {
    return !v.empty() && v.front() > 0 &&
           std::adjacent_find(v.begin(), v.end(), std::greater_equal<>()) == v.end();
  };
  if (!ascending(table.copy_bytes)) link.fail("copy_bytes", "expected ascending sizes above 0");
  if (!ascending(table.copies)) link.fail("copies", "expected ascending counts");
  if (table.gbs.size() != table.copies.size() * table.copy_bytes.size()) {
    link.fail("gbs", fmt::format("expected {} x {} rates, found {}", table.copies.size(),
                                 table.copy_bytes.size(), table.gbs.size()));
  }
  table.job_latency = microseconds_up(link.number("latency_us").value_or(0));
  table.per_copy = microseconds_up(link.number("per_copy_us").value_or(0));
  return table;
}

std::int64_t read_bandwidth(const ObjectReader& object) {
  return parse_bandwidth(object.require_text("bandwidth", ObjectReader::kRate),
                         object.where("bandwidth"));
}

CopyMethod read_method(const ObjectReader& link, LinkChoice& out) {
  const auto name = link.text("method");
  if (!name) return CopyMethod::kBatch;
  out.method = *name;
  return *copy_method(*name);
}

void note_default(const LinkChoice& link, Scenario& s) {
  s.notes.push_back(scenario_note("link-default",
                                  {{"from", link.from}, {"to", link.to}, {"source", link.source}}));
}

/// The GPU's own link, for those who only want to say what it shares or how it is used.
void read_default(const ObjectReader& link, Scenario& s, CopyMethod method, LinkChoice& out) {
  link.refuse({"latency_us", "bandwidth", "per_copy_us", "copy_bytes", "copies", "gbs"},
              "expected only with kind affine, constant or table");
  if (s.gpu == nullptr) link.fail("kind", "expected a gpu in the scenario to take the default of");
  const HostLinkDefault defaults = default_host_link(*s.gpu, method);
  const bool down = out.from == "hbm";
  out.affine = false;
  out.table = down ? defaults.down : defaults.up;
  out.source = out.table.source;
  note_default(out, s);
  if (!link.has("duplex_factor")) {
    out.duplex_factor = down ? defaults.down_duplex : defaults.up_duplex;
  }
  if (!link.has("submit_us")) out.submit = defaults.submit;
}

/// What it shares, and with how many.
void read_sharing(const ObjectReader& link, Scenario& s, LinkChoice& out) {
  out.through = read_through(link, s);
  out.shared_by = static_cast<std::uint32_t>(link.integer("shared_by").value_or(1));
  if (out.shared_by == 1) return;
  if (out.through.empty()) {
    // The link itself is what they share.
    const auto rate = static_cast<std::int64_t>(out.make()->capacity().value());
    s.media.push_back({out.name + " shared", rate, false});
    out.through.push_back(s.media.back().name);
  }
  // Model: each of the others repeats this engine's transfers, later by a delay of its own between
  // 0 and 1 s; what they wait for does not slow them down.
  s.notes.push_back(scenario_note("link-shared", {{"link", out.name}, {"clients", out.shared_by}}));
}

/// How many NICs carry a transfer, and in which pieces.
void read_stripes(const ObjectReader& link, LinkChoice& out) {
  out.stripes.nics = static_cast<std::uint32_t>(link.integer("nics").value_or(1));
  if (!link.has("nics")) link.refuse({"slice"}, "expected only with nics");
  if (const auto slice = link.text("slice", ObjectReader::kSize)) {
    out.stripes.slice_bytes = parse_bytes(*slice, link.where("slice")).count();
    if (out.stripes.slice_bytes <= 0) link.fail("slice", "expected a size above 0");
  }
}

LinkChoice read_link(const ObjectReader& link, Scenario& s) {
  LinkChoice out;
  out.name = link.require_text("name");
  out.from = link.require_text("from");
  out.to = link.require_text("to");
  out.duplex_factor = link.number("duplex_factor").value_or(1);
  out.sm_share = link.number("sm_share").value_or(0);
  out.source = "scenario";
  const CopyMethod method = read_method(link, out);
  out.submit = microseconds_up(link.number("submit_us").value_or(0));
  out.numa_penalty = link.number("numa_penalty").value_or(1);
  if (const auto rank = link.integer("rank")) {
    if (*rank >= std::int64_t{s.world()}) {
      link.fail("rank", fmt::format("expected a rank below {} (tensor_parallel_size x "
                                    "pipeline_parallel_size), found {}",
                                    s.world(), *rank));
    }
    out.rank = static_cast<std::uint32_t>(*rank);
  }
  const std::string kind = link.require_text("kind");
  if (kind != "affine") link.refuse({"nics", "slice"}, "expected only with kind affine");
  if (kind != "profile") link.refuse({"mem", "pattern"}, "expected only with kind profile");
  if (kind == "affine" || kind == "constant") {
    link.refuse({"per_copy_us", "copy_bytes", "copies", "gbs"}, "expected only with kind table");
    if (kind == "affine") {
      const Decimal latency = decimal_of(link.require_number("latency_us"));
      out.latency = Duration(-floor_scaled({-latency.digits, latency.exponent}, 3));  // rounded up
      read_stripes(link, out);
    } else {
      link.refuse({"latency_us"}, "expected only with kind affine or table");
    }
    out.bytes_per_second = read_bandwidth(link);
  } else if (kind == "table") {
    link.refuse({"bandwidth"}, "expected only with kind affine");
    out.affine = false;
    out.table = read_rate_table(link);
  } else if (kind == "default") {
    read_default(link, s, method, out);
  } else {
    read_profile_link(link, s, out);
  }
  read_sharing(link, s, out);
  return out;
}

/// Both directions submit through one thread, at one price.
void check_submission(const ObjectReader& top, const LinkChoice& down, const LinkChoice& up) {
  if (down.submit == up.submit) return;
  if (down.submit == Duration(0) || up.submit == Duration(0)) return;
  top.fail("links", fmt::format("expected one submit_us for both directions, found {} and {}",
                                static_cast<double>(down.submit.count()) / 1000,
                                static_cast<double>(up.submit.count()) / 1000));
}

/// Links by rank, in any order: each rank has one down and one up, in this order, in `rank_links`.
class RankLinks {
 public:
  void add(const ObjectReader& link, const LinkChoice& choice) {
    for (const auto& [key, other] : links_) {
      if (other.name == choice.name) {
        link.fail("name", fmt::format("two links are called \"{}\"; expected different names",
                                      choice.name));
      }
    }
    if (!links_.emplace(std::pair(*choice.rank, choice.from != "hbm"), choice).second) {
      link.fail("rank", fmt::format("a second link from {} to {} of rank {}", choice.from,
                                    choice.to, *choice.rank));
    }
  }

  bool empty() const { return links_.empty(); }

  void take_over(const ObjectReader& top, Scenario& s) const {
    if (links_.empty()) return;
    const std::string host(s.tier->host_end());
    for (std::uint32_t rank = 0; rank < s.world(); ++rank) {
      for (const bool up : {false, true}) {
        const auto found = links_.find({rank, up});
        if (found == links_.end()) {
          top.fail("links", fmt::format("rank {} has no link {}; expected both directions for "
                                        "each of {} ranks, or links without rank, of which every "
                                        "rank has one",
                                        rank, up ? host + " to hbm" : "hbm to " + host, s.world()));
        }
        s.rank_links.push_back(found->second);
      }
      check_submission(top, s.rank_links[2 * rank], s.rank_links[2 * rank + 1]);
    }
    // One rank is the engine; else what is asked of any one is asked of the slowest.
    s.down = slowest(s.rank_links, 0);
    s.up = slowest(s.rank_links, 1);
    if (s.world() == 1) s.rank_links.clear();
  }

 private:
  static LinkChoice slowest(const std::vector<LinkChoice>& links, std::size_t direction) {
    std::size_t least = direction;
    for (std::size_t i = direction; i < links.size(); i += 2) {
      if (links[i].make()->capacity().value() < links[least].make()->capacity().value()) least = i;
    }
    return links[least];
  }

  std::map<std::pair<std::uint32_t, bool>, LinkChoice> links_;
};

}  // namespace

const KeyTable ScenarioKeys::kLink = kLinkKeys;

void read_links(const ObjectReader& top, Scenario& s) {
  RankLinks by_rank;
  bool any_alike = false;
  for (const ObjectReader& link : top.objects("links", ScenarioKeys::kLink)) {
    const LinkChoice choice = read_link(link, s);
    if (!s.tier) {
      link.fail("to", "expected a tier for this link to lead to; the scenario has none below hbm");
    }
    if (use_chunk_link(link, choice, s)) continue;
    const auto is_end = [&](std::string_view key, const std::string& end) {
      if (end == "hbm" || end == s.tier->host_end()) return;
      if (end == s.tier->name) {
        link.fail(key, fmt::format("expected hbm or host: HBM's data goes to {} by way of the "
                                   "host, and tiers[].device describes the way from there",
                                   end));
      }
      for (const TierChoice& behind : s.behind) {
        if (end != behind.name) continue;
        link.fail(key, fmt::format("expected hbm or {}: tiers[].device describes the way to {}",
                                   s.tier->name, end));
      }
      link.fail(key, fmt::format("unknown tier \"{}\"; known: hbm, {}", end, s.tier->host_end()));
    };
    is_end("from", choice.from);
    is_end("to", choice.to);
    if (choice.from == choice.to) link.fail("to", "expected two different ends");
    if (s.tier->storage && s.tier->storage->direct) {
      link.refuse({"through", "shared_by", "submit_us"},
                  "expected only where data goes by way of the host, not with device.direct");
    }
    any_alike = any_alike || !choice.rank;
    if (choice.rank) {
      if (any_alike) link.fail("rank", "expected on every link or on none");
      by_rank.add(link, choice);
      continue;
    }
    const bool down = choice.from == "hbm";
    if (!by_rank.empty()) link.fail("name", "expected a rank, as the links before it have");
    auto& lane = down ? s.down : s.up;
    const auto& other = down ? s.up : s.down;
    if (lane) link.fail("name", fmt::format("a second link from {} to {}", choice.from, choice.to));
    if (other && other->name == choice.name) {
      link.fail("name",
                fmt::format("two links are called \"{}\"; expected different names", choice.name));
    }
    lane = choice;
  }
  fill_attached_links(s);
  check_chunk_links(top, s);
  by_rank.take_over(top, s);
  fill_from_profile(s);
  if (s.down && s.up) check_submission(top, *s.down, *s.up);
  if (!s.tier || (s.down && s.up)) return;
  if (s.gpu == nullptr) {
    top.missing("links", fmt::format("a link {} (no gpu to take a default from)",
                                     s.down ? fmt::format("{} to hbm", s.tier->host_end())
                                            : fmt::format("hbm to {}", s.tier->host_end())));
  }
  // v0 copies block by block, in a loop of cudaMemcpyAsync.
  const bool v0 = s.engine.family == EngineFamily::kVllmV0;
  const HostLinkDefault defaults =
      default_host_link(*s.gpu, v0 ? CopyMethod::kDma : CopyMethod::kBatch);
  const auto fill = [&](Boxed<LinkChoice>& lane, std::string name, std::string from, std::string to,
                        const RateTable& table, double duplex) {
    if (lane) return;
    LinkChoice choice;
    choice.name = std::move(name);
    choice.from = std::move(from);
    choice.to = std::move(to);
    choice.affine = false;
    choice.table = table;
    choice.duplex_factor = duplex;
    choice.submit = defaults.submit;
    choice.source = table.source;
    note_default(choice, s);
    lane = std::move(choice);
  };
  const std::string host(s.tier->host_end());
  fill(s.down, v0 ? "swap-out" : "d2h", "hbm", host, defaults.down, defaults.down_duplex);
  fill(s.up, v0 ? "swap-in" : "h2d", host, "hbm", defaults.up, defaults.up_duplex);
}

}  // namespace spillway

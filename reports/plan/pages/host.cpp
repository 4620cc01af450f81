// Page 8: what else needs the host's memory.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/host_budget.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/pages/size_bars.hpp"

namespace spillway {

namespace {

/// One registration of so much fails, and each GB of it takes so long (vLLM pull request 51081).
constexpr double kMostRegistered = 512 * kGiB;
constexpr double kSecondsPerGB = 0.1;

double gib(double bytes) {
  return bytes / kGiB;
}

Table lines_table(const HostBudget& budget) {
  Table table;
  table.title = fmt::format("One host at {}, line by line", budget.cell);
  table.header = {"what", "arithmetic", "memory", "where the figure comes from"};
  for (const HostLine& line : budget.lines) {
    table.rows.push_back({line.name, line.arithmetic, format_bytes(line.bytes), line.from});
  }
  table.rows.push_back({"needed", "the sum of these", format_bytes(budget.need), ""});
  table.highlight = static_cast<int>(table.rows.size()) - 1;
  if (budget.installed <= 0) return table;
  table.rows.push_back(
      {"installed", "host.memory", format_bytes(budget.installed), "the scenario"});
  const double left = budget.installed - budget.need;
  table.rows.push_back(
      {left >= 0 ? "left" : "lacking",
       fmt::format("{} - {}", format_bytes(budget.installed), format_bytes(budget.need)),
       format_bytes(std::abs(left)), ""});
  return table;
}

Chart budget_chart(const HostBudget& budget) {
  Chart chart;
  chart.title = "Memory of one host";
  chart.x_label = "GiB";
  chart.unit = "GiB";
  chart.kind = ChartKind::kStacks;
  for (const HostLine& line : budget.lines) chart.part_names.push_back(line.name);
  const bool known = budget.installed > 0;
  if (known) chart.part_names.emplace_back("left");
  const auto stack = [&](std::string name, auto bytes_of, double installed) {
    ChartStack out{std::move(name), {}};
    double sum = 0;
    for (const HostLine& line : budget.lines) {
      const double bytes = bytes_of(line);
      sum += bytes;
      out.parts.push_back(gib(bytes));
    }
    if (known) out.parts.push_back(gib(std::max(0.0, installed - sum)));
    chart.stacks.push_back(std::move(out));
  };
  stack(
      "host", [](const HostLine& line) { return line.bytes; }, budget.installed);
  for (std::uint32_t node = 0; budget.numa_nodes > 1 && node < budget.numa_nodes; ++node) {
    stack(
        fmt::format("NUMA node {}", node),
        [&](const HostLine& line) { return budget.on_node(line, node); },
        budget.installed / budget.numa_nodes);
  }
  const auto largest =
      std::max_element(budget.lines.begin(), budget.lines.end(),
                       [](const HostLine& a, const HostLine& b) { return a.bytes < b.bytes; });
  chart.note =
      fmt::format("{} of memory are needed, {} of it for: {}{}.", format_bytes(budget.need),
                  format_bytes(largest->bytes), largest->name,
                  known ? fmt::format("; {} are installed", format_bytes(budget.installed)) : "");
  return chart;
}

Table nodes_table(const HostBudget& budget) {
  Table table;
  table.title = "By NUMA node: pools and workers beside their GPU, the rest spread evenly";
  table.header = {"node", "GPUs", "pools and workers", "the rest", "needed"};
  if (budget.installed > 0) table.header.emplace_back("installed");
  for (std::uint32_t node = 0; node < budget.numa_nodes; ++node) {
    double near = 0;
    double rest = 0;
    for (const HostLine& line : budget.lines) {
      (line.per_rank ? near : rest) += budget.on_node(line, node);
    }
    table.rows.push_back({fmt::format("{}", node), fmt::format("{}", budget.ranks_on(node)),
                          format_bytes(near), format_bytes(rest), format_bytes(near + rest)});
    if (budget.installed > 0) {
      table.rows.back().push_back(format_bytes(budget.installed / budget.numa_nodes));
    }
  }
  return table;
}

/// How the pool's size comes to be that of one engine, all its GPUs together.
std::string multiplier(const HostBudget& budget) {
  std::string out = fmt::format("One engine's pool is {}", format_bytes(budget.pool));
  if (budget.ranks > 1) {
    out += fmt::format(", which its {} GPUs share: {} for each", budget.ranks,
                       format_bytes(budget.pool / budget.ranks));
  }
  if (budget.block > 0) {
    out += fmt::format(". A block of KV takes {} on {}, so it holds about {} blocks",
                       format_bytes(budget.block), budget.ranks == 1 ? "its GPU" : "each of them",
                       format_count(static_cast<std::uint64_t>(
                           std::min(1e15, budget.pool / (budget.block * budget.ranks)))));
  }
  return out + fmt::format(". {} on one host: {}.",
                           budget.engines == 1
                               ? "There is one engine"
                               : fmt::format("There are {} engines", budget.engines),
                           format_bytes(budget.engines * budget.pool));
}

Table remarks(const HostBudget& budget) {
  Table table;
  table.title = "Before the first start";
  table.header = {"check", "why"};
  if (budget.pool <= 0) return table;
  const double pools = budget.engines * budget.pool;
  if (budget.preset.starts_with("vllm")) {
    table.rows.push_back(
        {fmt::format("/dev/shm of at least {} (docker --shm-size, Kubernetes emptyDir with medium "
                     "Memory)",
                     format_bytes(pools)),
         "vLLM keeps the pool in shared memory and touches all of it when it starts"});
  }
  table.rows.push_back(
      {fmt::format("memory limit of the container (cgroup) of at least {}",
                   format_bytes(budget.need)),
       "pinned and shared memory count against it, and cannot be taken back: the process is killed "
       "instead. In vLLM issue 53042 a pool took 1.92 times its size: watch the first start"});
  table.rows.push_back(
      {"ulimit -l unlimited (memlock), and a log without a failure to pin",
       "where pinning fails vLLM warns and goes on with slower copies than planned"});
  table.rows.push_back(
      {fmt::format("a start that takes about {} longer",
                   format_ms(1000 * kSecondsPerGB * budget.pool / 1e9)),
       "registering pinned memory takes about 0.1 s for each GB (vLLM pull request 51081), more "
       "where huge pages have to be made first: probes of readiness must wait for it"});
  if (budget.pool >= kMostRegistered) {
    table.rows.push_back({"a release that registers its pool in parts",
                          "one registration of 512 GiB or more fails (vLLM pull request 51081)"});
  }
  if (budget.numa_nodes > 1) {
    table.rows.push_back({"workers and their memory bound to the node of their GPU",
                          "a copy from the other node is slower; links[].numa_penalty says by how "
                          "much in a scenario, and has no default"});
  }
  return table;
}

Table wear_table(const PlanResult& plan, const HostBudget& budget) {
  Table table;
  table.title = "What is written to drives";
  table.header = {"tier", "a day, by one engine", "a day, on this host", "drive writes a day",
                  "rated life in years"};
  for (const DriveWear& drive : plan.cost->wear) {
    table.rows.push_back(
        {drive.tier, format_bytes(drive.bytes_per_day),
         format_bytes(drive.bytes_per_day * budget.engines),
         drive.drive_writes_per_day ? format_real(*drive.drive_writes_per_day) : "-",
         drive.life_years ? format_real(*drive.life_years)
                          : "not known (device.endurance_tbw would tell)"});
  }
  return table;
}

void add_facts(const HostBudget& budget, Section& page) {
  page.facts.push_back(
      {"Needed", format_bytes(budget.need),
       fmt::format("on a host with {} engine{} of {} GPU{}", budget.engines,
                   budget.engines == 1 ? "" : "s", budget.ranks, budget.ranks == 1 ? "" : "s")});
  if (budget.installed <= 0) {
    page.facts.push_back({"Installed", "not said", "set host.memory in the scenario"});
    return;
  }
  const double left = budget.installed - budget.need;
  page.facts.push_back({"Installed", format_bytes(budget.installed), "host.memory"});
  page.facts.push_back({left >= 0 ? "Left" : "Lacking", format_bytes(std::abs(left)),
                        left >= 0 ? "for what is not on this list"
                                  : "a larger host, fewer engines or a smaller tier",
                        left >= 0 ? Status::kMet : Status::kMissed});
}

}  // namespace

Section host_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  page.id = "host";
  page.heading = "Host budget";
  const HostBudget budget = host_budget(plan, provenance);
  if (budget.cell.empty()) {
    page.paragraphs.push_back(budget.missing);
    return page;
  }
  add_facts(budget, page);
  if (budget.pool > 0) page.paragraphs.push_back(multiplier(budget));
  if (!budget.host_said) {
    page.paragraphs.emplace_back(
        "The scenario does not describe its host, so one instance is taken to stand on each: "
        "host {memory, reserved, instances, numa_nodes} says what is there, and a plan then offers "
        "no size that does not fit.");
  } else if (budget.reserved > 0) {
    const double others = budget.need - budget.engines * budget.pool;
    page.paragraphs.push_back(fmt::format(
        "host.reserved keeps {} for everything but pools; the lines below come to {} without them"
        "{}.",
        format_bytes(budget.reserved), format_bytes(others),
        others > budget.reserved ? ", which is more" : ""));
  }
  for (const std::string& what : budget.unknown) {
    page.paragraphs.push_back("Not counted: " + what + ".");
  }
  page.charts.push_back(budget_chart(budget));
  if (Chart sizes = size_bars(plan, installed_of(provenance, plan.tier)); !sizes.stacks.empty()) {
    page.charts.push_back(std::move(sizes));
  }
  if (plan.cost && !plan.cost->wear.empty()) page.tables.push_back(wear_table(plan, budget));
  const auto fold = [&](const char* heading, Table table) {
    if (table.rows.empty()) return;
    Section part;
    part.heading = heading;
    part.folded = true;
    part.tables.push_back(std::move(table));
    page.parts.push_back(std::move(part));
  };
  fold("Memory, line by line", lines_table(budget));
  if (budget.numa_nodes > 1) fold("By NUMA node", nodes_table(budget));
  fold("Before the first start", remarks(budget));
  return page;
}

}  // namespace spillway

// A report before it has a format: pages with facts, sentences, charts, tables and code. Renderers
// turn it into HTML, Markdown, plain text or CSV; they see nothing else.
//
// All text may come from a trace, a scenario or a name that somebody chose: renderers escape it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

/// How something stands against its target. Where it is shown by colour there is a symbol or a word
/// too.
enum class Status : std::uint8_t { kNone, kMet, kUncertain, kMissed };

/// Cells are text already; a column is right-aligned when all its cells below the header look
/// numeric.
struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  int highlight = -1;      ///< row to emphasise
  std::size_t shown = 12;  ///< rows in sight; the rest unfolds where a page can fold
};

/// Stands in a chart where no figure is.
inline constexpr double kNoPoint = std::numeric_limits<double>::quiet_NaN();

struct ChartSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low{};  ///< of a band around the line, as long as y; none: no band
  std::vector<double> high{};
  std::vector<Status> status{};  ///< of each point, as long as y; none: a line of one colour
};

/// A value that goes from a common start to either of two ends.
struct ChartBar {
  std::string name;
  double low = 0;
  double high = 0;
  std::string low_name;  ///< what each end stands for
  std::string high_name;
  Status low_status = Status::kNone;  ///< of what each end comes to
  Status high_status = Status::kNone;
};

/// A range of x to shade.
struct ChartRegion {
  std::string name;
  double from = 0;
  double to = 0;
};

/// A horizontal bar made of parts, one for each of the chart's part names.
struct ChartStack {
  std::string name;
  std::vector<double> parts;
};

enum class ChartKind {
  kLines,    ///< series over a common x axis, with limits and regions
  kScatter,  ///< the same, points without lines between them
  kTornado,  ///< bars to both sides of bars_from
  kStacks,   ///< horizontal stacked bars
  kHeatmap,  ///< cells by x_names and y_names
};

/// What a kind has no use for stays empty. Values that are not finite are gaps.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series{};
  bool log_x = false;
  bool log_y = false;
  bool points = false;       ///< mark every point (few points)
  bool figures = false;      ///< and write its figure beside it, with `unit`
  double y_from = kNoPoint;  ///< ends of the y axis; what lies beyond is drawn at them
  double y_to = kNoPoint;
  std::vector<std::string> x_names{};  ///< names of x = 0, 1, 2, ... instead of numbers
  std::vector<std::pair<std::string, double>> limits{};  ///< horizontal lines
  std::vector<ChartRegion> regions{};
  std::vector<ChartBar> bars{};              ///< kTornado: the first on top
  double bars_from = 0;                      ///< where all of them start
  std::vector<std::string> part_names{};     ///< kStacks
  std::vector<ChartStack> stacks{};          ///< kStacks: the first on top
  std::vector<std::string> y_names{};        ///< kHeatmap: rows, the first on top
  std::vector<std::vector<double>> cells{};  ///< kHeatmap: by row and column
  std::string unit{};                        ///< of kStacks' parts, kHeatmap's cells and figures
  double most = 0;                           ///< kStacks: the axis reaches as far at least
  ChartKind kind = ChartKind::kLines;
  std::string note{};  ///< what to see in it: one sentence, also for those who cannot see it
};

/// What a reader must take away: a large figure under a short label.
struct Fact {
  std::string label;   ///< "Buy"
  std::string value;   ///< "96 GiB of DRAM per host"
  std::string detail;  ///< one line of reason; may be empty
  Status status = Status::kNone;
};

/// Something to copy: a command, a file.
struct CodeBlock {
  std::string title;
  std::string text;
};

/// In this order: facts, paragraphs, charts, tables, code, then its parts, each with the same.
/// Where charts are drawn they come before paragraphs, several beside each other.
struct Section {
  std::string heading;
  std::vector<std::string> paragraphs;
  std::vector<Table> tables;
  std::vector<Chart> charts;
  std::vector<Fact> facts{};
  std::vector<CodeBlock> code{};
  std::string id{};  ///< short, stable name of a page ("knee"); empty: no page of its own
  std::vector<Section> parts{};
  bool folded = false;  ///< evidence: a page that can fold shows the heading alone at first
};

struct Report {
  std::string title;
  std::string subtitle;
  std::vector<Section> sections;
  /// Of the whole: then the first fact of the first section is the answer, and stands out.
  Status status = Status::kNone;
};

}  // namespace spillway

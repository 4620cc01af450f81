#include "reports/renderers/html/chart_data.hpp"

#include "reports/markup.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

/// One object; keys are ours, values are written by the functions below.
class Object {
 public:
  Object& text(std::string_view key, std::string_view value) {
    return raw(key, json_text(shortened(value, 300)));
  }
  Object& number(std::string_view key, double value) { return raw(key, json_number(value)); }
  Object& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  Object& raw(std::string_view key, const std::string& value) {
    out_ += out_.size() > 1 ? "," : "";
    out_.append("\"").append(key).append("\":").append(value);
    return *this;
  }
  std::string done() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

template <class Items, class Write>
std::string array(const Items& items, Write write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out + "]";
}

std::string numbers(const std::vector<double>& values) {
  return array(values, json_number);
}

std::string texts(const std::vector<std::string>& values) {
  return array(values, [](const std::string& s) { return json_text(shortened(s, 300)); });
}

std::string series_data(const ChartSeries& series) {
  Object out;
  out.text("name", series.name).raw("x", numbers(series.x)).raw("y", numbers(series.y));
  if (!series.low.empty() && !series.high.empty()) {
    out.raw("low", numbers(series.low)).raw("high", numbers(series.high));
  }
  if (!series.status.empty()) {
    out.raw("status",
            array(series.status, [](Status s) { return json_text(std::string(class_of(s))); }));
  }
  return out.done();
}

std::string bar_data(const ChartBar& bar) {
  return Object()
      .text("name", bar.name)
      .number("low", bar.low)
      .number("high", bar.high)
      .text("lowName", bar.low_name)
      .text("highName", bar.high_name)
      .text("lowStatus", class_of(bar.low_status))
      .text("highStatus", class_of(bar.high_status))
      .done();
}

std::string region_data(const ChartRegion& region) {
  return Object()
      .text("name", region.name)
      .number("from", region.from)
      .number("to", region.to)
      .done();
}

std::string limit_data(const std::pair<std::string, double>& limit) {
  return Object().text("name", limit.first).number("value", limit.second).done();
}

std::string stack_data(const ChartStack& stack) {
  return Object().text("name", stack.name).raw("parts", numbers(stack.parts)).done();
}

const char* name_of(ChartKind kind) {
  switch (kind) {
    case ChartKind::kScatter:
      return "scatter";
    case ChartKind::kTornado:
      return "tornado";
    case ChartKind::kStacks:
      return "stacks";
    case ChartKind::kHeatmap:
      return "heatmap";
    case ChartKind::kLines:
      break;
  }
  return "lines";
}

}  // namespace

std::string chart_data(const Chart& chart) {
  Object out;
  out.text("kind", name_of(chart.kind)).text("title", chart.title).text("note", chart.note);
  out.text("xLabel", chart.x_label).text("yLabel", chart.y_label).text("unit", chart.unit);
  switch (chart.kind) {
    case ChartKind::kTornado:
      out.raw("bars", array(chart.bars, bar_data)).number("barsFrom", chart.bars_from);
      break;
    case ChartKind::kStacks:
      out.raw("partNames", texts(chart.part_names)).raw("stacks", array(chart.stacks, stack_data));
      out.number("most", chart.most);
      break;
    case ChartKind::kHeatmap:
      out.raw("xNames", texts(chart.x_names)).raw("yNames", texts(chart.y_names));
      out.raw("cells", array(chart.cells, numbers));
      break;
    case ChartKind::kLines:
    case ChartKind::kScatter:
      out.flag("logX", chart.log_x).flag("logY", chart.log_y).flag("points", chart.points);
      out.raw("xNames", texts(chart.x_names)).raw("series", array(chart.series, series_data));
      out.raw("limits", array(chart.limits, limit_data));
      out.raw("regions", array(chart.regions, region_data));
      out.flag("figures", chart.figures).number("yFrom", chart.y_from).number("yTo", chart.y_to);
  }
  return out.done();
}

}  // namespace spillway

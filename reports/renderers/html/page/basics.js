// page.js, which every report runs, is the files of this folder in the order that CMakeLists.txt
// names. It draws the charts of a report with ECharts and makes the page easier to use: keys and
// tooltips in charts, tables sorted by a column, code copied. The page is complete without it: each
// chart is there as a drawing and as a table.
//
// Text from the report goes into the page as text nodes only, never as markup. Data: an array in
// #chart-data, written by chart_data.cpp; null stands for a gap.

const root = document.documentElement;
const charts = [];  // {plot, chart, data, stops, at}
let live = null;

const element = (name, className, text) => {
  const out = document.createElement(name);
  if (className) out.className = className;
  if (text !== undefined) out.textContent = text;
  return out;
};

const failed = (error) => {
  if (!root.dataset.error) root.dataset.error = String((error && error.message) || error);
};

// ---- Numbers and colours -----------------------------------------------------------------

/** Three digits or more, as in the report's tables. */
const figure = (value) => {
  if (typeof value !== 'number') return '-';
  const size = Math.abs(value);
  if (size >= 1e16) return value.toExponential(2);
  if (size >= 999.5) return Math.round(value).toLocaleString('en-US');
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return value === 0 ? '0' : String(Number(value.toPrecision(3)));
};

/** A tick, which is a round number. */
const tick = (value) => {
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential().replace('e+', 'e');
  return size >= 1000 ? value.toLocaleString('en-US') : String(Number(value.toPrecision(6)));
};

/** Round ends around these values and the step between ticks, as in the drawings. */
const round = (low, high) => {
  low = Math.max(low, -1e300);
  high = Math.min(high, 1e300);
  const resolution = 1e-9 * Math.max(Math.abs(low), Math.abs(high));
  if (!(high - low > Math.max(resolution, 1e-300))) high = low + Math.max(resolution, 1);
  const raw = (high - low) / 5;
  const magnitude = Math.pow(10, Math.floor(Math.log10(raw)));
  const interval = magnitude * [1, 2, 5, 10].find((f) => raw <= f * magnitude || f === 10);
  return {
    type: 'value', interval,
    min: Math.floor(low / interval) * interval, max: Math.ceil(high / interval) * interval,
  };
};

const decades = (low, high) => {
  const from = Math.max(-307, Math.floor(Math.log10(low)));
  const to = Math.min(308, Math.max(from + 1, Math.ceil(Math.log10(high))));
  return { type: 'log', min: Math.pow(10, from), max: Math.pow(10, to) };
};

const colours = () => {
  const style = getComputedStyle(root);
  const of = (name) => style.getPropertyValue('--' + name).trim();
  return {
    ink: of('ink'), soft: of('soft'), paper: of('paper'), raised: of('raised'), line: of('line'),
    limit: of('limit'), low: of('heat-low'), high: of('heat-high'),
    series: [0, 1, 2, 3, 4, 5].map((i) => of('c' + i)),
    good: of('good'), unsure: of('unsure'), bad: of('bad'),
  };
};

const dashes = ['solid', [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4]];
const symbols = ['circle', 'rect', 'diamond', 'triangle'];
// Of a status: its sign, as reports/status.cpp has it, and its mark.
const signs = { good: '\u2714', unsure: '?', bad: '\u2716' };
const statusSymbols = {
  good: 'circle', unsure: 'diamond',
  // ECharts' word for a drawing of its own, in two parts: it is no address of anything.
  bad: 'path:/' + '/M3 0L7 4L11 0L14 3L10 7L14 11L11 14L7 10L3 14L0 11L4 7L0 3Z',
};
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + '\u2026' : text);

// ---- What the kinds of charts have in common -----------------------------------------------

const axis = (c, name, more) => Object.assign({
  name,
  nameLocation: 'middle',
  nameTextStyle: { color: c.soft },
  axisLabel: { color: c.soft, hideOverlap: true, formatter: tick },
  axisLine: { show: true, onZero: false, lineStyle: { color: c.line } },
  axisTick: { lineStyle: { color: c.line } },
  splitLine: { lineStyle: { color: c.line } },
}, more);

/** An axis of names, which are cut to `most` characters. */
const names = (c, list, most, more) => axis(c, '', Object.assign({
  type: 'category',
  data: list.map((text, i) => String(i)),
  splitLine: { show: false },
  axisLabel: { color: c.soft, hideOverlap: true, formatter: (i) => cut(list[i] || '', most) },
}, more));

const base = (c) => ({
  animation: false,
  color: c.series,
  textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 12 },
  tooltip: {
    confine: true,
    transitionDuration: 0,
    hideDelay: 0,
    backgroundColor: c.paper,
    borderColor: c.line,
    textStyle: { color: c.ink },
    extraCssText: 'box-shadow:0 2px 10px rgba(0,0,0,.18);white-space:normal;pointer-events:none',
  },
});

const legend = (c, list) => ({
  type: 'plain', top: 0, left: 0, itemWidth: 26, itemGap: 16,
  data: list, textStyle: { color: c.soft }, inactiveColor: c.line,
  formatter: (name) => cut(name, 32),
});

/** Names must differ for a legend to tell them apart. */
const distinct = (list) => {
  const seen = new Set();
  return list.map((name) => {
    let out = name || '-';
    for (let i = 2; seen.has(out); ++i) out = (name || '-') + ' (' + i + ')';
    seen.add(out);
    return out;
  });
};

/** Rows that a legend of these names takes in this width, roughly. */
const legendHeight = (list, width) => {
  let x = 0;
  let rows = 1;
  for (const name of list) {
    const needs = 47 + 6.4 * Math.min(name.length, 32);
    if (x > 0 && x + needs > width) {
      ++rows;
      x = 0;
    }
    x += needs;
  }
  return 10 + 24 * rows;
};

/** The tooltip: a title and lines, as elements that hold text. */
const tip = (lines) => {
  const out = element('div', 'tip');
  lines.forEach((line, i) => out.append(element(i === 0 ? 'b' : 'span', '', line)));
  return out;
};

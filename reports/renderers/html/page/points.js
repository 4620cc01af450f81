// Charts of points: lines and scatters, over numbers or names. A kind of chart returns
// {height, option, stops}. A stop is a place that keys move to: what to show the tooltip of, and
// its lines of text.

const kinds = {};

const placeName = (data, x) =>
    data.xNames.length && data.xNames[Math.round(x)] !== undefined
        ? data.xNames[Math.round(x)] : figure(x);

const isDrawn = (data, s, i) => {
  const x = s.x[i];
  const y = s.y[i];
  return typeof x === 'number' && typeof y === 'number' && (!data.logX || x > 0) &&
      (!data.logY || y > 0);
};

const pointLines = (data, name, s, i) => {
  const unit = data.yLabel ? ' ' + data.yLabel : '';
  const place = placeName(data, s.x[i]);
  const label = data.xNames.length ? place : (data.xLabel ? data.xLabel + ': ' : '') + place;
  const lines = [label, (name ? name + ': ' : '') + figure(s.y[i]) + unit];
  if (s.low && typeof s.low[i] === 'number' && typeof s.high[i] === 'number') {
    lines.push('from ' + figure(s.low[i]) + ' to ' + figure(s.high[i]));
  }
  const said = { good: 'met', unsure: 'uncertain', bad: 'missed' }[(s.status || [])[i]];
  if (said) lines.push(signs[s.status[i]] + ' SLO ' + said);
  return lines;
};

/** Around one series: the area between the ends of its band, in stretches without gaps. */
const band = (data, s, colour, z) => {
  const stretches = [];
  let open = null;
  s.x.forEach((x, i) => {
    const whole = isDrawn(data, s, i) && typeof s.low[i] === 'number' &&
        typeof s.high[i] === 'number' && (!data.logY || s.low[i] > 0);
    if (!whole) {
      open = null;
      return;
    }
    if (!open) stretches.push(open = []);
    open.push(i);
  });
  return {
    type: 'custom', silent: true, z, tooltip: { show: false }, clip: true,
    data: stretches.map((stretch) => [s.x[stretch[0]], s.y[stretch[0]]]),
    encode: { x: 0, y: 1 },
    renderItem: (params, api) => {
      const stretch = stretches[params.dataIndex];
      const upper = stretch.map((i) => api.coord([s.x[i], s.high[i]]));
      const lower = stretch.map((i) => api.coord([s.x[i], s.low[i]])).reverse();
      return {
        type: 'polygon',
        shape: { points: upper.concat(lower) },
        style: { fill: colour, opacity: 0.17 },
      };
    },
  };
};

/** Scattered series at the same named place stand side by side. */
const beside = (data, i) => {
  const middle = (data.series.length - 1) / 2;
  const shared = data.kind === 'scatter' && data.xNames.length > 0;
  return shared ? 0.2 * (i - middle) / (middle + 1) : 0;
};

const statusColour = (c, s, i) => c[(s.status || [])[i]];

/** What the axis, whose ends are given, leaves out. */
const beyond = (data, v) =>
    (typeof data.yFrom === 'number' && v < data.yFrom) ||
    (typeof data.yTo === 'number' && v > data.yTo);

const inside = (data, v) =>
    Math.min(Math.max(v, data.yFrom === null ? v : data.yFrom), data.yTo === null ? v : data.yTo);

/** From one end of each point's interval to the other. */
const whiskers = (data, s, index, c) => {
  const colour = c.series[index % 6];
  const whole = s.x.map((x, i) => i).filter((i) => isDrawn(data, s, i) &&
      typeof s.low[i] === 'number' && typeof s.high[i] === 'number' &&
      (!data.logY || s.low[i] > 0));
  return {
    type: 'custom', silent: true, z: 2, tooltip: { show: false },
    data: whole.map((i) => [s.x[i] + beside(data, index), s.y[i]]),
    encode: { x: 0, y: 1 },
    renderItem: (params, api) => {
      const i = whole[params.dataIndex];
      const [x, low] = api.coord([api.value(0), s.low[i]]);
      const high = api.coord([api.value(0), s.high[i]])[1];
      const stroke = statusColour(c, s, i) || colour;
      const line = (x1, y1, x2, y2) => (
        { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } });
      const cap = (y, value) => (beyond(data, value) ? [] : [line(x - 4, y, x + 4, y)]);
      const { y: top, height } = params.coordSys;
      const within = (y) => Math.max(top, Math.min(top + height, y));
      return {
        type: 'group',
        children: [
          line(x, within(low), x, within(high)), ...cap(low, s.low[i]), ...cap(high, s.high[i]),
        ],
      };
    },
  };
};

/** Points coloured and marked by what they came to, their figures above them. */
const judgedSeries = (data, s, name, c, y, tall, width) => ({
  type: 'line', name, symbolSize: 14, symbolKeepAspect: true, showSymbol: true,
  showAllSymbol: true, connectNulls: false, emphasis: { disabled: true }, z: 4,
  lineStyle: { width: 1.5, color: c.line },
  data: s.x.map((x, k) => {
    if (!isDrawn(data, s, k)) return [x, null];
    const arrow = s.y[k] < data.yFrom ? ' \u2193' : s.y[k] > data.yTo ? ' \u2191' : '';
    const status = s.status[k];
    // A figure keeps off a limit right above it; where there is no room for it stands the sign.
    const high = (l) => tall * (l.value - s.y[k]) / (y.max - y.min);
    const below = y.type === 'value' && data.limits.some((l) => high(l) > 2 && high(l) < 28);
    const narrow = width / data.xNames.length < 62;
    return {
      value: [x, inside(data, s.y[k])],
      symbol: statusSymbols[status] || 'circle',
      symbolOffset: arrow === ' \u2193' ? [0, -8] : [0, 0],
      itemStyle: { color: c[status] || c.soft, opacity: 1 },
      label: {
        show: data.figures, position: below ? 'bottom' : 'top',
        distance: arrow === ' \u2193' ? 12 : 6,
        color: c[status] || c.soft, fontWeight: 600, textBorderColor: c.paper, textBorderWidth: 3,
        formatter: () => (narrow ? signs[status] || '' :
          (status ? signs[status] + ' ' : '') + figure(s.y[k]) + data.unit + arrow),
      },
    };
  }),
});

const lineSeries = (data, s, i, name, c, y, tall, width) => {
  const colour = c.series[i % 6];
  if (s.status) return judgedSeries(data, s, name, c, y, tall, width);
  const scatter = data.kind === 'scatter';
  const drawn = s.x.map((x, k) => isDrawn(data, s, k));
  const alone = drawn.some((d, k) => d && !drawn[k - 1] && !drawn[k + 1]);
  return {
    type: scatter ? 'scatter' : 'line',
    name,
    data: s.x.map((x, k) => (drawn[k] ? [x + beside(data, i), s.y[k]] : [x, null])),
    symbol: symbols[i % 4],
    symbolSize: scatter ? 8 : 7,
    symbolKeepAspect: true,
    showSymbol: data.points || alone,
    showAllSymbol: true,
    connectNulls: false,
    lineStyle: { width: 2, type: dashes[(i + Math.floor(i / 6)) % 6], color: colour },
    itemStyle: { color: colour, opacity: 1 },
    emphasis: { disabled: true },
    z: 3,
  };
};

/** A thin region marks a place; names that would meet stand in rows. */
const placed = (data, axis, width) => {
  const log = (v) => (data.logX ? Math.log10(v) : v);
  const place = (v) => width * (log(v) - log(axis.min)) / (log(axis.max) - log(axis.min));
  const ends = [];  // of the names in each row
  return data.regions
      .filter((r) => typeof r.from === 'number' && typeof r.to === 'number' &&
          (!data.logX || (r.from > 0 && r.to > 0)))
      .sort((a, b) => a.from - b.from)
      .map((r) => {
        const name = cut(r.name, 48);
        const from = place(r.from);
        const wide = 7 * name.length;
        const at = Math.max(0, Math.min(from, width - wide));
        let row = 0;
        while (ends[row] + 10 > at) ++row;
        ends[row] = at + wide;
        return { r, name, from, at, row, thin: place(r.to) - from < 10 };
      });
};

/** Names stand above the plot, where no line is; where figures do, below them. */
const regions = (data, c, axis, width, tall) => placed(data, axis, width).map((p) => [
  {
    xAxis: p.r.from,
    itemStyle: {
      color: c.soft, opacity: p.thin ? 0.4 : 0.12, borderColor: c.soft,
      borderWidth: p.thin ? 1 : 0,
    },
    label: {
      color: c.soft, align: 'left',
      position: data.figures ? [p.at - p.from + 5, tall - 18 - 14 * p.row]
                             : [p.at - p.from, -15 - 14 * p.row],
      formatter: () => p.name,
    },
  },
  { xAxis: p.r.to },
]);

const shareOf = (v, axis) => {
  const log = (n) => (axis.type === 'log' ? Math.log10(n) : n);
  return (log(v) - log(axis.min)) / (log(axis.max) - log(axis.min));
};

const isTop = (v, axis) => shareOf(v, axis) > 0.93;

/** How near any point between these shares of the width comes to a limit. */
const nearer = (data, v, axis, from, to) => {
  let out = 1;
  const last = Math.max(1, ...data.series.flatMap((s) => s.x));
  const log = (x) => (data.logX ? Math.log10(x) : x);
  const first = Math.min(...data.series.flatMap((s) => s.x.filter((x) => !data.logX || x > 0)));
  data.series.forEach((s) => s.x.forEach((x, i) => {
    const at = (log(x) - log(first)) / ((log(last) - log(first)) || 1);
    if (!isDrawn(data, s, i) || at < from || at > to) return;
    out = Math.min(out, Math.abs(shareOf(s.y[i], axis) - shareOf(v, axis)));
  }));
  return out;
};

/** Limits and regions hang on a series without points. */
const marks = (data, c, axis, y, width, tall) => ({
  type: 'line', data: [], silent: true, tooltip: { show: false }, z: 2,
  markLine: {
    z: 6,
    silent: true, symbol: 'none', animation: false,
    lineStyle: { color: c.limit, type: [6, 4], width: 1.5 },
    data: data.limits.filter((l) => typeof l.value === 'number' && (!data.logY || l.value > 0))
        .map((l) => ({
          yAxis: l.value,
          label: {
            position: (nearer(data, l.value, y, 0.6, 1) < nearer(data, l.value, y, 0, 0.4)
                ? 'insideStart' : 'insideEnd') + (isTop(l.value, y) ? 'Bottom' : 'Top'),
            color: c.limit, formatter: () => cut(l.name, 48),
            textBorderColor: c.paper, textBorderWidth: 3,
          },
        })),
  },
  markArea: { silent: true, animation: false, data: regions(data, c, axis, width, tall) },
});

/** The axis over these values, of which a logarithmic one has no place for all. */
const over = (values, log) => {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (typeof v !== 'number' || (log && v <= 0)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return log ? decades(low, high) : round(low, high);
};

const namedAxis = (data, c, width) => {
  const room = (width - 90) / data.xNames.length;
  const longest = Math.max(...data.xNames.map((name) => name.length));
  const step = Math.max(1, Math.ceil(Math.min(10 + 7 * longest, 90) / room));
  const rows = step === 2 ? 2 : 1;  // every other name a row lower, before any is left out
  const cutName = (v) => cut(data.xNames[v] || '', Math.max(3, Math.floor(room * step / 7)));
  return {
    type: 'value', min: -0.5, max: data.xNames.length - 0.5, interval: 1,
    nameGap: rows === 2 ? 44 : 30,
    axisTick: { show: false },
    axisLabel: {
      color: c.soft, verticalAlign: 'top', lineHeight: 14,
      customValues: data.xNames.map((name, i) => i).filter((i) => rows === 2 || i % step === 0),
      formatter: (v) => (rows === 2 && v % 2 === 1 ? '\n' : '') + cutName(v),
    },
  };
};

kinds.lines = (data, c, width) => {
  const labels = distinct(data.series.map((s) => s.name));
  const shown = labels.length > 1;
  const legendTop = shown ? legendHeight(labels, width) : data.figures ? 26 : 12;
  const tall = width < 700 && !data.figures ? 180 : 230;
  const stops = [];
  data.series.forEach((s, seriesIndex) => s.x.forEach((x, dataIndex) => {
    if (!isDrawn(data, s, dataIndex)) return;
    stops.push({
      row: seriesIndex, x, seriesIndex, dataIndex,
      lines: () => pointLines(data, labels[seriesIndex], s, dataIndex),
    });
  }));
  const xs = data.series.flatMap((s) => s.x.filter((x, i) => isDrawn(data, s, i)));
  const ys = data.series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])])
      .concat(data.limits.map((l) => l.value));
  if (data.kind === 'lines' && !data.logY) ys.push(0);
  const fixed = (v) => typeof v === 'number';
  const seen = ys.map((v) => (typeof v === 'number' ? inside(data, v) : v))
      .concat([data.yFrom, data.yTo].filter(fixed))
      .filter((v) => !beyond(data, v));
  const x = data.xNames.length ? namedAxis(data, c, width) : over(xs, data.logX);
  const y = over(seen, data.logY);
  const rows = data.figures ? 0 : Math.max(0, ...placed(data, x, width - 92).map((p) => p.row + 1));
  const top = legendTop + 14 * rows;
  x.nameGap = x.nameGap || 30;
  x.splitLine = { show: false };
  y.nameGap = 52;
  const series = data.series.map((s, i) => lineSeries(data, s, i, labels[i], c, y, tall, width - 92));
  data.series.forEach((s, i) => {
    if (!s.low || !s.high) return;
    series.push(data.kind === 'scatter' || s.status ? whiskers(data, s, i, c)
                                                    : band(data, s, c.series[i % 6], 2));
  });
  series.push(marks(data, c, x, y, width - 92, tall));
  const option = Object.assign(base(c), {
    grid: { left: 72, right: 20, top, bottom: 20 + x.nameGap },
    xAxis: axis(c, data.xLabel + (x.type === 'log' ? ' (log scale)' : ''), x),
    yAxis: axis(c, data.yLabel + (data.logY ? ' (log scale)' : ''), y),
    series,
  });
  // Anywhere near a place of an axis; in a cloud only a point itself.
  if (data.kind === 'lines' || data.xNames.length) option.tooltip.trigger = 'axis';
  option.tooltip.axisPointer = { lineStyle: { color: c.soft } };
  if (shown) option.legend = legend(c, labels);
  if (shown && data.kind === 'scatter') option.legend.itemWidth = 12;
  return { height: 20 + tall + top + x.nameGap, option, stops };
};

kinds.scatter = kinds.lines;

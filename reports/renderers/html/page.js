// Draws the charts of a report with ECharts and makes the page easier to use: keys and tooltips in
// charts, tables sorted by a column, code copied. The page is complete without it: each chart is
// there as a drawing and as a table.
//
// Text from the report goes into the page as text nodes only, never as markup. Data: an array in
// #chart-data, written by chart_data.cpp; null stands for a gap.
(() => {
  'use strict';

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
    };
  };

  const dashes = ['solid', [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4]];
  const symbols = ['circle', 'rect', 'diamond', 'triangle'];
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

  // ---- Kinds: each returns {height, option, stops} ---------------------------------------------
  // A stop is a place that keys move to: what to show the tooltip of, and its lines of text.

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
    const lines = [label, name + ': ' + figure(s.y[i]) + unit];
    if (s.low && typeof s.low[i] === 'number' && typeof s.high[i] === 'number') {
      lines.push('from ' + figure(s.low[i]) + ' to ' + figure(s.high[i]));
    }
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

  /** From one end of each point's interval to the other. */
  const whiskers = (data, s, index, colour) => {
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
        const line = (x1, y1, x2, y2) => (
          { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.5 } });
        return {
          type: 'group',
          children: [
            line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high),
          ],
        };
      },
    };
  };

  const lineSeries = (data, s, i, name, c) => {
    const colour = c.series[i % 6];
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
  const regions = (data, c, axis, width) => {
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
          const at = Math.max(0, Math.min(from + 5, width - wide));
          let row = 0;
          while (ends[row] + 10 > at) ++row;
          ends[row] = at + wide;
          const thin = place(r.to) - from < 10;
          return [
            {
              xAxis: r.from,
              itemStyle: {
                color: c.soft, opacity: thin ? 0.4 : 0.12, borderColor: c.soft,
                borderWidth: thin ? 1 : 0,
              },
              label: {
                color: c.soft, align: 'left', position: [at - from, 6 + 14 * row],
                formatter: () => name,
              },
            },
            { xAxis: r.to },
          ];
        });
  };

  /** Limits and regions hang on a series without points. */
  const marks = (data, c, axis, width) => ({
    type: 'line', data: [], silent: true, tooltip: { show: false }, z: 2,
    markLine: {
      silent: true, symbol: 'none', animation: false,
      lineStyle: { color: c.limit, type: [6, 4], width: 1.5 },
      data: data.limits.filter((l) => typeof l.value === 'number' && (!data.logY || l.value > 0))
          .map((l) => ({
            yAxis: l.value,
            label: {
              position: 'insideEndTop', color: c.limit, formatter: () => cut(l.name, 48),
            },
          })),
    },
    markArea: { silent: true, animation: false, data: regions(data, c, axis, width) },
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
    const top = shown ? legendHeight(labels, width) : 16;
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
    const x = data.xNames.length ? namedAxis(data, c, width) : over(xs, data.logX);
    const y = over(ys, data.logY);
    x.nameGap = x.nameGap || 30;
    x.splitLine = { show: false };
    y.nameGap = 52;
    const series = data.series.map((s, i) => lineSeries(data, s, i, labels[i], c));
    data.series.forEach((s, i) => {
      if (!s.low || !s.high) return;
      series.push(data.kind === 'scatter' ? whiskers(data, s, i, c.series[i % 6])
                                          : band(data, s, c.series[i % 6], 2));
    });
    series.push(marks(data, c, x, width - 92));
    const option = Object.assign(base(c), {
      grid: { left: 72, right: 20, top, bottom: 20 + x.nameGap },
      xAxis: axis(c, data.xLabel, x),
      yAxis: axis(c, data.yLabel, y),
      series,
    });
    // Anywhere near a place of an axis; in a cloud only a point itself.
    if (data.kind === 'lines' || data.xNames.length) option.tooltip.trigger = 'axis';
    option.tooltip.axisPointer = { lineStyle: { color: c.soft } };
    if (shown) option.legend = legend(c, labels);
    if (shown && data.kind === 'scatter') option.legend.itemWidth = 12;
    return { height: 250 + top + x.nameGap, option, stops };
  };
  kinds.scatter = kinds.lines;

  kinds.tornado = (data, c, width) => {
    const bars = data.bars.filter((b) => typeof b.low === 'number' && typeof b.high === 'number');
    const left = Math.min(width * 0.4, 20 + 7 * Math.max(...bars.map((b) => b.name.length)));
    const stops = [];
    bars.forEach((bar, i) => {
      const lines = (end, value) => () => [bar.name, end + ': ' + figure(value)];
      stops.push({
        row: 0, x: i, seriesIndex: 0, dataIndex: i, lines: lines(bar.lowName, bar.low),
      });
      stops.push({
        row: 1, x: i, seriesIndex: 1, dataIndex: i, lines: lines(bar.highName, bar.high),
      });
    });
    const half = (index, key, label) => ({
      type: 'custom',
      data: bars.map((bar, i) => [bar[key], i]),
      encode: { x: 0, y: 1 },
      renderItem: (params, api) => {
        const [end, y] = api.coord([api.value(0), api.value(1)]);
        const start = api.coord([data.barsFrom, api.value(1)])[0];
        const height = 10;
        const right = Math.max(start, end);
        const some = Math.abs(end - start) >= 0.5;
        const { x: left, width: all } = params.coordSys;
        return {
          type: 'group',
          children: [
            {  // all of the row's half, so that a bar without length can be pointed at too
              type: 'rect',
              shape: { x: left, y: index === 0 ? y - 14 : y, width: all, height: 14 },
              style: { fill: 'transparent' },
            },
            {
              type: 'rect',
              shape: {
                x: Math.min(start, end), y: index === 0 ? y - height - 1 : y + 1,
                width: Math.max(1, Math.abs(end - start)), height,
              },
              style: { fill: c.series[index] },
            },
            {
              type: 'text',
              style: {
                text: some ? cut(bars[params.dataIndex][label], 10) : '', x: right + 5,
                y: index === 0 ? y - height / 2 - 1 : y + height / 2 + 1,
                textVerticalAlign: 'middle', fill: c.soft, fontSize: 11,
              },
            },
          ],
        };
      },
    });
    const option = Object.assign(base(c), {
      grid: { left, right: 70, top: 10, bottom: 50 },
      xAxis: axis(c, cut(data.xLabel, Math.floor(width / 7)), { type: 'value', nameGap: 30 }),
      yAxis: names(c, bars.map((b) => b.name), Math.max(6, Math.floor((left - 16) / 7)), {
        inverse: true, axisTick: { show: false },
      }),
      series: [half(0, 'low', 'lowName'), half(1, 'high', 'highName'), {
        type: 'line', data: [], silent: true,
        markLine: {
          silent: true, symbol: 'none', animation: false, label: { show: false },
          data: [
            { xAxis: 0, lineStyle: { color: c.limit, type: [6, 4], width: 1.5 } },
            { xAxis: data.barsFrom, lineStyle: { color: c.ink, type: 'solid', width: 1.5 } },
          ],
        },
      }],
    });
    return { height: 70 + 30 * bars.length, option, stops };
  };

  kinds.stacks = (data, c, width) => {
    const parts = distinct(data.partNames);
    const top = legendHeight(parts, width);
    const left = Math.min(width * 0.4, 20 + 7 * Math.max(...data.stacks.map((s) => s.name.length)));
    const unit = data.unit ? ' ' + data.unit : '';
    const length = (v) => (typeof v === 'number' && v > 0 ? v : 0);
    const sums = data.stacks.map((s) => s.parts.reduce((sum, v) => sum + length(v), 0));
    const stops = [];
    const right = 30 + 7 * (7 + unit.length);
    const axisOfSums = round(0, Math.max(...sums));
    const scale = (width - left - right) / axisOfSums.max;
    const inside = (name, at) => (name.length * 7 + 6 < at.value * scale ? name : '');
    const series = parts.map((name, p) => ({
      type: 'bar', name, stack: 'all', barMaxWidth: 22, z: 3,
      data: data.stacks.map((s) => length(s.parts[p])),
      itemStyle: { color: c.series[p % 6], borderColor: c.paper, borderWidth: 1 },
      emphasis: { disabled: true },
      label: {
        show: true, position: 'inside', color: c.paper, formatter: (at) => inside(name, at),
      },
    }));
    series.push({
      type: 'bar', stack: 'all', silent: true, tooltip: { show: false }, color: 'transparent',
      data: sums.map(() => 0),
      label: {
        show: true, position: 'right', color: c.soft,
        formatter: (at) => figure(sums[at.dataIndex]) + unit,
      },
    });
    data.stacks.forEach((stack, i) => parts.forEach((name, p) => {
      if (length(stack.parts[p]) === 0) return;
      stops.push({
        row: i, x: p, seriesIndex: p, dataIndex: i,
        lines: () => [stack.name, name + ': ' + figure(stack.parts[p]) + unit,
          'of ' + figure(sums[i]) + unit],
      });
    }));
    const option = Object.assign(base(c), {
      legend: legend(c, parts),
      grid: { left, right, top, bottom: 50 },
      xAxis: axis(c, data.xLabel || data.unit, Object.assign(axisOfSums, { nameGap: 30 })),
      yAxis: names(c, data.stacks.map((s) => s.name), Math.max(6, Math.floor((left - 16) / 7)), {
        inverse: true, axisTick: { show: false },
      }),
      series,
    });
    return { height: top + 60 + 34 * data.stacks.length, option, stops };
  };

  kinds.heatmap = (data, c, width) => {
    const columns = Math.max(...data.cells.map((row) => row.length));
    const left = Math.min(
        width * 0.35, 20 + 7 * Math.max(0, ...data.yNames.map((name) => name.length)));
    const unit = data.unit ? ' ' + data.unit : '';
    const cells = [];
    const stops = [];
    data.cells.forEach((row, y) => row.forEach((value, x) => {
      if (typeof value !== 'number') return;
      stops.push({
        row: y, x, seriesIndex: 0, dataIndex: cells.length,
        lines: () => [data.yNames[y] || '', data.xNames[x] || '', figure(value) + unit],
      });
      cells.push([x, y, value]);
    }));
    const values = cells.map((cell) => cell[2]);
    const low = Math.min(0, ...values);
    const high = Math.max(...values);
    const xNames = Array.from({ length: columns }, (none, x) => data.xNames[x] || '');
    const yNames = data.cells.map((row, y) => data.yNames[y] || '');
    const option = Object.assign(base(c), {
      grid: { left, right: 20, top: 40, bottom: 50 },
      xAxis: names(c, xNames, 16, { name: data.xLabel, nameGap: 30 }),
      yAxis: names(c, yNames, Math.max(6, Math.floor((left - 16) / 7)), {
        inverse: true, axisTick: { show: false },
      }),
      visualMap: {
        type: 'continuous', min: low, max: low < high ? high : low + 1, orient: 'horizontal',
        left: 0, top: 0, itemWidth: 12, itemHeight: 120, calculable: false, hoverLink: false,
        text: [figure(high) + unit, figure(low) + unit],
        textStyle: { color: c.soft }, inRange: { color: [c.low, c.high] },
      },
      series: [{
        type: 'heatmap', data: cells, emphasis: { disabled: true },
        itemStyle: { borderColor: c.paper, borderWidth: columns > 60 ? 0 : 1 },
      }],
    });
    return { height: 100 + 28 * data.cells.length, option, stops };
  };

  // ---- Drawing, keys ---------------------------------------------------------------------------

  const stopOf = (entry, params) => entry.stops.find(
      (s) => s.seriesIndex === params.seriesIndex && s.dataIndex === params.dataIndex);

  const draw = (entry) => {
    const { plot, data } = entry;
    const made = kinds[data.kind](data, colours(), plot.clientWidth || 640);
    entry.stops = made.stops;
    made.option.tooltip.formatter = (params) => {
      const found = [].concat(params).map((each) => stopOf(entry, each)).filter(Boolean);
      if (found.length === 0) return '';
      // Over an axis: its place once, then what each series has there.
      const [place] = found[0].lines();
      const shown = found.slice(0, 12).flatMap((stop) => stop.lines().slice(1));
      return tip([place, ...shown]);
    };
    if (entry.chart) entry.chart.dispose();
    const canvas = element('div');
    canvas.setAttribute('aria-hidden', 'true');
    canvas.style.height = made.height + 'px';
    plot.replaceChildren(canvas);
    entry.chart = echarts.init(canvas, null, { renderer: 'svg' });
    entry.chart.setOption(made.option);
    entry.chart.getZr().flush();
    entry.width = plot.clientWidth;
  };

  const show = (entry, index) => {
    const stop = entry.stops[index];
    entry.at = index;
    entry.chart.dispatchAction(
        { type: 'showTip', seriesIndex: stop.seriesIndex, dataIndex: stop.dataIndex });
    live.textContent = stop.lines().join(', ');
  };

  const hide = (entry) => {
    entry.chart.dispatchAction({ type: 'hideTip' });
    live.textContent = '';
  };

  /** The stop of another row that lies nearest, or where it is where there is none. */
  const inRow = (entry, step) => {
    const here = entry.stops[entry.at];
    const rows = [...new Set(entry.stops.map((s) => s.row))].sort((a, b) => a - b);
    const row = rows[rows.indexOf(here.row) + step];
    if (row === undefined) return entry.at;
    let best = entry.at;
    let distance = Infinity;
    entry.stops.forEach((s, i) => {
      if (s.row !== row || Math.abs(s.x - here.x) >= distance) return;
      distance = Math.abs(s.x - here.x);
      best = i;
    });
    return best;
  };

  const along = (entry, step) => {
    const here = entry.stops[entry.at];
    const own = entry.stops.map((s, i) => i).filter((i) => entry.stops[i].row === here.row)
        .sort((a, b) => entry.stops[a].x - entry.stops[b].x);
    return own[Math.max(0, Math.min(own.length - 1, own.indexOf(entry.at) + step))];
  };

  const onKey = (entry, event) => {
    if (event.key === 'Escape') {
      hide(entry);
      entry.at = -1;
      return;
    }
    const moves = {
      ArrowRight: () => along(entry, 1), ArrowLeft: () => along(entry, -1),
      ArrowDown: () => inRow(entry, 1), ArrowUp: () => inRow(entry, -1),
      Home: () => along(entry, -1e9), End: () => along(entry, 1e9),
    };
    if (!moves[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    if (entry.stops.length === 0) return;
    event.preventDefault();
    show(entry, entry.at < 0 ? 0 : moves[event.key]());
  };

  const prepare = (plot, data) => {
    const entry = { plot, data, chart: null, stops: [], at: -1, width: 0 };
    plot.parentElement.classList.add('drawn');
    try {
      draw(entry);
    } catch (error) {
      plot.parentElement.classList.remove('drawn');
      throw error;
    }
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-roledescription', 'chart');
    plot.setAttribute('aria-label', [data.title, data.note,
      'Arrow keys move from point to point; Escape leaves.'].filter(Boolean).join('. '));
    plot.addEventListener('keydown', (event) => onKey(entry, event));
    plot.addEventListener('blur', () => hide(entry));
    charts.push(entry);
  };

  // ---- Tables, code, navigation ----------------------------------------------------------------

  const units = {
    B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, ns: 1e-9, us: 1e-6, ms: 1e-3,
  };

  /** "1,234", "12.3 ms", "1.50 GiB" as a number; -Infinity where there is none. */
  const sortValue = (text) => {
    const match = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(\w*)/i.exec(text);
    if (!match) return text === 'inf' ? Infinity : -Infinity;
    return Number(match[1].replace(/,/g, '')) * (units[match[2]] || 1);
  };

  const sort = (table, column, header) => {
    const body = table.tBodies[0];
    const descending = header.getAttribute('aria-sort') === 'ascending';
    const numeric = header.classList.contains('n');
    const text = (row) => (row.cells[column] ? row.cells[column].textContent : '');
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [text(a), text(b)];
      const order = numeric ? sortValue(x) - sortValue(y) || 0 : x.localeCompare(y, 'en');
      return descending ? -order : order;
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    body.append(...rows);
  };

  const sortable = (table) => {
    if (!table.tHead || table.tBodies[0].rows.length < 4) return;
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = element('button', '', header.textContent);
      button.type = 'button';
      button.addEventListener('click', () => sort(table, column, header));
      header.replaceChildren(button);
    });
  };

  const copyable = (code) => {
    const button = element('button', 'copy', 'Copy');
    button.type = 'button';
    const name = code.getAttribute('aria-label');
    button.setAttribute('aria-label', 'Copy: ' + name);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch (error) {  // no permission, or a file of an old browser
        getSelection().selectAllChildren(code);
        document.execCommand('copy');
      }
      button.textContent = 'Copied';
      live.textContent = 'Copied: ' + name;
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
    code.parentElement.append(button);
  };

  /** Marks the page in view in the navigation. */
  const follow = () => {
    const links = new Map([...document.querySelectorAll('nav a')].map(
        (link) => [decodeURIComponent(link.hash.slice(1)), link]));
    if (links.size === 0 || !('IntersectionObserver' in window)) return;
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const link = links.get(entry.target.id);
        if (!entry.isIntersecting || !link) continue;
        links.forEach((other) => other.removeAttribute('aria-current'));
        link.setAttribute('aria-current', 'true');
      }
    }, { rootMargin: '-10% 0px -80% 0px' });
    document.querySelectorAll('main > section').forEach((page) => observer.observe(page));
  };

  const redraw = (needed) => charts.filter(needed).forEach((entry) => {
    const at = entry.at;
    draw(entry);
    entry.at = at < entry.stops.length ? at : -1;
  });

  const start = () => {
    live = element('div', 'hidden');
    live.setAttribute('role', 'status');
    live.setAttribute('aria-live', 'polite');
    document.body.append(live);
    document.querySelectorAll('table').forEach(sortable);
    document.querySelectorAll('pre.code').forEach(copyable);
    follow();
    const block = document.getElementById('chart-data');
    const data = block ? JSON.parse(block.textContent) : [];
    document.querySelectorAll('.plot').forEach((plot) => {
      try {
        prepare(plot, data[Number(plot.dataset.chart)]);
      } catch (error) {
        failed(error);
      }
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw(() => true));
    let waiting = 0;
    addEventListener('resize', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => redraw((e) => e.plot.clientWidth !== e.width), 120);
    });
    root.dataset.ready = 'true';
  };

  addEventListener('error', (event) => failed(event.error || event.message));
  try {
    start();
  } catch (error) {
    failed(error);
  }
})();

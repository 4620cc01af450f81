// Charts of bars and cells: tornado, stacks, heatmap.

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
  const half = (index, key, label, status) => ({
    type: 'custom',
    data: bars.map((bar, i) => [bar[key], i]),
    encode: { x: 0, y: 1 },
    renderItem: (params, api) => {
      const [end, y] = api.coord([api.value(0), api.value(1)]);
      const start = api.coord([data.barsFrom, api.value(1)])[0];
      const height = 10;
      const right = Math.max(start, end);
      const some = Math.abs(end - start) >= 0.5;
      // A bar to one side only stands beside its name, not above or below it.
      const bar = bars[params.dataIndex];
      const alone = (index === 0 ? bar.high : bar.low) === data.barsFrom;
      const top = alone ? y - height / 2 : index === 0 ? y - height - 1 : y + 1;
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
              x: Math.min(start, end), y: top,
              width: Math.max(1, Math.abs(end - start)), height,
            },
            style: { fill: c[bar[status]] || c.series[index] },
          },
          {
            type: 'text',
            style: {
              text: some ? (bar[status] ? signs[bar[status]] + ' ' : '') + cut(bar[label], 10) : '',
              x: right + 5,
              y: top + height / 2,
              textVerticalAlign: 'middle', fill: c.soft, fontSize: 11,
            },
          },
        ],
      };
    },
  });
  const option = Object.assign(base(c), {
    grid: { left, right: 70, top: 10, bottom: 54 },
    xAxis: axis(c, cut(data.xLabel, Math.floor(width / 7)), { type: 'value', nameGap: 30 }),
    yAxis: names(c, bars.map((b) => b.name), Math.max(6, Math.floor((left - 16) / 7)), {
      inverse: true, axisTick: { show: false },
    }),
    series: [half(0, 'low', 'lowName', 'lowStatus'), half(1, 'high', 'highName', 'highStatus'), {
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
  return { height: 74 + 30 * bars.length, option, stops };
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
  const axisOfSums = round(0, Math.max(data.most || 0, ...sums));
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
    grid: { left, right, top, bottom: 54 },
    xAxis: axis(c, data.xLabel || data.unit, Object.assign(axisOfSums, { nameGap: 30 })),
    yAxis: names(c, data.stacks.map((s) => s.name), Math.max(6, Math.floor((left - 16) / 7)), {
      inverse: true, axisTick: { show: false },
    }),
    series,
  });
  return { height: top + 64 + 34 * data.stacks.length, option, stops };
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
    grid: { left, right: 20, top: 40, bottom: 54 },
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
  return { height: 104 + 28 * data.cells.length, option, stops };
};

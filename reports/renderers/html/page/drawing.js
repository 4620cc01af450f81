// Puts charts on the page and moves through their stops by keys.

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
  // Behind what a last move of the mouse may still show.
  plot.addEventListener('mouseleave', () => requestAnimationFrame(() => hide(entry)));
  charts.push(entry);
};

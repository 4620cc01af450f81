// Tables, code and navigation; starts everything.

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
  // What was folded when it was drawn had no width.
  const settle = () => redraw((e) => e.plot.clientWidth !== e.width && e.plot.clientWidth > 0);
  document.querySelectorAll('details').forEach((fold) => fold.addEventListener('toggle', settle));
  // Paper has everything, also where a browser's style sheets cannot open a fold.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details.fold:not([open])')];
    closed.forEach((fold) => { fold.open = true; });
  });
  addEventListener('afterprint', () => closed.forEach((fold) => { fold.open = false; }));
  root.dataset.ready = 'true';
};

addEventListener('error', (event) => failed(event.error || event.message));
try {
  start();
} catch (error) {
  failed(error);
}

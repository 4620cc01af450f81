// What the checks ask of a page, from inside it. Evaluated by the debugger, also where the page's
// own scripts are forbidden. Every function returns plain data.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const shown = (element) =>
    element.checkVisibility({opacityProperty: true, visibilityProperty: true}) &&
    element.getBoundingClientRect().width > 0 && element.getBoundingClientRect().height > 0;
  const name = (element) => {
    const owner = element.closest('figure, section');
    const own = element.id ? '#' + element.id : (element.className && element.className.trim
      ? '.' + element.className.trim().split(/\s+/)[0] : '');
    return element.tagName.toLowerCase() + own +
      (owner && owner !== element && owner.id ? ' in #' + owner.id : '');
  };
  const kShapes = 'path, polyline, polygon, line, rect, circle, ellipse';

  // The shapes and words of a drawing, and how much of its box they cover.
  const drawing = (svg) => {
    const box = svg.getBoundingClientRect();
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity, shapes = 0;
    for (const shape of all(kShapes, svg)) {
      if (shape.closest('defs, clipPath, pattern, mask')) continue;
      const style = getComputedStyle(shape);
      const painted = (style.stroke !== 'none' && style.strokeOpacity !== '0') ||
        (style.fill !== 'none' && style.fillOpacity !== '0');
      const at = shape.getBoundingClientRect();
      // A shape as large as the drawing is its ground.
      const ground = at.width > 0.98 * box.width && at.height > 0.98 * box.height;
      if (!painted || ground || (at.width === 0 && at.height === 0)) continue;
      shapes += 1;
      left = Math.min(left, at.left);
      right = Math.max(right, at.right);
      top = Math.min(top, at.top);
      bottom = Math.max(bottom, at.bottom);
    }
    const covered = shapes ? ((Math.min(right, box.right) - Math.max(left, box.left)) *
      (Math.min(bottom, box.bottom) - Math.max(top, box.top))) / (box.width * box.height) : 0;
    return {
      width: box.width, height: box.height, shapes, covered,
      // Not the full name in a <title> of a shortened one.
      words: all('text', svg).map((text) => [...text.childNodes]
        .filter((node) => node.nodeName !== 'title').map((node) => node.textContent).join('').trim())
        .filter((text) => text),
    };
  };

  // Text that pops up over a plot: that of HTML elements in it and of its figure's tooltips. What is
  // there for screen readers alone, a pixel large, may stay.
  const tooltip = (plot) => {
    const figure = plot.closest('figure') || plot;
    const out = [];
    for (const element of [...all('*', plot), ...all('[role=tooltip]', figure)]) {
      if (!(element instanceof HTMLElement) || !shown(element)) continue;
      if (element.getBoundingClientRect().width < 4) continue;
      for (const node of element.childNodes) {
        if (node.nodeType === 3 && node.data.trim()) out.push(node.data.trim());
      }
    }
    return out.join(' | ');
  };

  const charts = () => all('figure.chart').map((figure) => {
    const plot = figure.querySelector('.plot');
    const still = figure.querySelector('.drawing svg');
    const table = figure.querySelector('details.data table');
    const svgs = plot ? all('svg', plot).filter((svg) => !svg.parentElement.closest('svg')) : [];
    return {
      id: figure.id,
      caption: (figure.querySelector('figcaption')?.textContent || '').trim(),
      plot: plot && {
        number: plot.dataset.chart, shown: shown(plot), svgs: svgs.length,
        focusable: plot.tabIndex >= 0 || !!plot.querySelector('[tabindex="0"]'),
        label: plot.getAttribute('aria-label') ||
          plot.querySelector('[aria-label]')?.getAttribute('aria-label') || '',
        canvases: all('canvas', plot).length,
        drawing: svgs.length ? drawing(svgs[0]) : null,
      },
      still: still && {
        shown: shown(still), label: still.getAttribute('aria-label') || '',
        role: still.getAttribute('role'), drawing: drawing(still),
      },
      table: table && {
        rows: all('tr', table).length, cells: all('td', table).length,
        caption: (table.querySelector('caption')?.textContent || '').trim(),
        shown: shown(table),
      },
    };
  });

  const page = () => {
    const seen = new Set();
    const twice = [];
    for (const element of all('[id]')) {
      if (seen.has(element.id)) twice.push(element.id);
      seen.add(element.id);
    }
    const policy = document.querySelector('meta[http-equiv="Content-Security-Policy" i]');
    const data = document.getElementById('chart-data');
    let listed = -1;
    try {
      const parsed = data ? JSON.parse(data.textContent) : [];
      listed = (Array.isArray(parsed) ? parsed : parsed.charts || []).length;
    } catch (error) {
      listed = -2;
    }
    return {
      lang: document.documentElement.lang, title: document.title.trim(),
      ready: document.documentElement.dataset.ready || '',
      error: document.documentElement.dataset.error || '',
      policy: policy ? policy.content : '', twice, listed,
      h1: all('h1').length, main: all('main').length, nav: all('nav a[href^="#"]').length,
      broken_links: all('a[href^="#"]').map((a) => a.getAttribute('href').slice(1))
        .filter((id) => id && !document.getElementById(decodeURIComponent(id))),
      unlabelled: all('section.page[id^=page-]').filter((section) => {
        const by = section.getAttribute('aria-labelledby');
        return !section.querySelector('h2') || !by || !document.getElementById(by);
      }).map(name),
      bare_tables: all('table').filter((table) => !table.querySelector('th[scope]') ||
        !(table.querySelector('caption')?.textContent.trim() ||
          table.closest('[aria-label]')?.getAttribute('aria-label')))
        .map(name),
      outside: all('[src], link[href], object, embed, iframe, form, base').map(name),
    };
  };

  // What the tab key is on now: null at the end of the page.
  const focused = () => {
    const element = document.activeElement;
    if (!element || element === document.body || element === document.documentElement) return null;
    const style = getComputedStyle(element);
    const stops = (probe.stops = probe.stops || []);
    if (!stops.includes(element)) stops.push(element);
    return {
      number: stops.indexOf(element), name: name(element),
      marked: (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) ||
        style.boxShadow !== 'none',
    };
  };
  // What the tab key should have reached and did not.
  const missed = () => {
    const stops = probe.stops || [];
    const reach = all('nav a, summary, .plot, button, .scroll').filter((element) =>
      shown(element) &&
      !element.closest('details:not([open]) > :not(summary)'));
    return reach.filter((element) => !stops.includes(element) &&
      !stops.some((stop) => element.matches('.plot') && element.contains(stop))).map(name);
  };

  // Elements that stick out of the page to the right, though not inside a part that scrolls.
  const overflow = () => {
    const width = document.documentElement.clientWidth;
    const out = [];
    if (document.documentElement.scrollWidth > width) {
      for (const element of all('main *, nav, header, footer')) {
        const box = element.getBoundingClientRect();
        if (box.right <= width + 1 || !shown(element)) continue;
        if (element.closest('.scroll, pre') && !element.matches('.scroll, pre')) continue;
        if (element.closest('svg') && element.tagName !== 'svg') continue;
        out.push(name(element));
      }
      out.unshift(`the page is ${document.documentElement.scrollWidth} px wide`);
    }
    return out.slice(0, 8);
  };

  const rgba = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    return /^rgb/.test(text) ? [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1] : null;
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color && color[3] > 0.99) return color;
    }
    return [255, 255, 255, 1];
  };
  // Words in drawings that are hard to read: axe looks at HTML text only. The ground of a word is
  // the last opaque shape drawn before it that holds its middle, or the page.
  const faint = () => {
    const out = [];
    for (const svg of all('figure.chart svg')) {
      if (!shown(svg)) continue;
      const page_ground = ground(svg.parentElement);
      const opaque = [];
      for (const element of all(kShapes + ', text', svg)) {
        const style = getComputedStyle(element);
        const fill = rgba(style.fill);
        if (!fill || element.closest('defs, clipPath')) continue;
        const box = element.getBoundingClientRect();
        if (element.tagName !== 'text') {
          if (fill[3] > 0.99 && style.fillOpacity === '1' && style.opacity === '1') {
            opaque.push([box, fill]);
          }
          continue;
        }
        if (!element.textContent.trim()) continue;
        const around = rgba(style.stroke);
        if (around && around[3] > 0 && String(around) !== String(fill) &&
            !style.paintOrder.startsWith('stroke')) {
          out.push(`"${element.textContent.trim()}" painted over by its own outline`);
          continue;
        }
        const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
        const under = opaque.filter(([at]) =>
          at.left <= x && x <= at.right && at.top <= y && y <= at.bottom).pop();
        const [a, b] = [luminance(fill), luminance(under ? under[1] : page_ground)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) {
          const place = name(svg.parentElement);
          out.push(`"${element.textContent.trim()}" ${ratio.toFixed(1)}:1 in ${place}`);
        }
      }
    }
    return out;
  };

  // The answer, the cards beside it and the first drawing: what they say and where they end.
  const answer = () => {
    const card = (box) => ({
      label: box.querySelector('dt').textContent, value: box.querySelector('.value').textContent,
      bottom: box.getBoundingClientRect().bottom,
      sign: getComputedStyle(box.querySelector('.value'), '::before').content,
    });
    const first = document.querySelector('.answer > div');
    const figure = document.querySelector('main section figure.chart');
    const svg = figure && all('.plot svg, .drawing svg', figure).find(shown);
    return {
      answer: first && card(first),
      cards: all('main section:first-of-type > .facts > div').map(card),
      chart: svg && {
        bottom: svg.getBoundingClientRect().bottom, words: drawing(svg).words,
        title: figure.querySelector('figcaption').textContent,
      },
    };
  };
  // Colour and sign of each status, as a table would show them, and the paper behind.
  const statuses = () => {
    const row = document.createElement('tr');
    document.querySelector('main table tbody').append(row);
    const out = {paper: ground(document.body)};
    for (const status of ['good', 'unsure', 'bad']) {
      const cell = document.createElement('td');
      cell.className = status;
      cell.textContent = 'x';
      row.append(cell);
      out[status] = {
        colour: rgba(getComputedStyle(cell).color),
        sign: getComputedStyle(cell, '::before').content,
      };
    }
    row.remove();
    return out;
  };

  // What a name that came from an input could have become.
  const injected = () => [
    ...all('img, iframe, object, embed, form, base, marquee, video, audio').map(name),
    ...all('*').filter((element) => [...element.attributes].some((attribute) =>
      /^on/i.test(attribute.name) || (/^(href|src|xlink:href|action)$/i.test(attribute.name) &&
      /^\s*(javascript|data|vbscript):/i.test(attribute.value)))).map(name),
    ...(typeof globalThis.owned === 'undefined' ? [] : ['a payload ran: ' + globalThis.owned]),
    ...(document.title === 'owned' ? ['a payload changed the title'] : []),
  ];

  globalThis.probe = {
    page, charts, focused, missed, overflow, faint, injected, answer, statuses,
    height: () => document.documentElement.scrollHeight,
    // Tables of sentences that scroll instead of wrapping.
    cut: () => all('.few').filter((box) => shown(box) && box.scrollWidth > box.clientWidth + 1)
      .map(name),
    tooltip: (number) => tooltip(all('figure.chart .plot')[number]),
    plots: () => all('figure.chart .plot').length,
    // Where to point the mouse: the plot is brought into view; its middle, places around it, then
    // the middles of its largest shapes.
    places: (number) => {
      const plot = all('figure.chart .plot')[number];
      plot.scrollIntoView({block: 'center', behavior: 'instant'});
      const svg = plot.querySelector('svg') || plot;
      const box = svg.getBoundingClientRect();
      const out = [0.5, 0.3, 0.7].map((x) => [box.left + x * box.width, box.top + 0.5 * box.height]);
      const shapes = all(kShapes, svg).map((shape) => shape.getBoundingClientRect())
        .filter((at) => at.width > 3 && at.height > 3 && at.width < 0.9 * box.width);
      shapes.sort((a, b) => b.width * b.height - a.width * a.height);
      for (const at of shapes.slice(0, 8)) {
        out.push([(at.left + at.right) / 2, (at.top + at.bottom) / 2]);
      }
      return out;
    },
    // The tab key starts at the top again.
    rewind: () => {
      scrollTo(0, 0);
      probe.stops = [];
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute('tabindex');
    },
    focus: (number) => {
      const plot = all('figure.chart .plot')[number];
      (plot.tabIndex >= 0 ? plot : plot.querySelector('[tabindex="0"]') || plot).focus();
    },
    blur: () => document.activeElement && document.activeElement.blur(),
    open: (opened) => all('details').forEach((details) => { details.open = opened; }),
    shown_tables: () => all('main table').filter(shown).length,
    tables: () => all('main table').length,
    cells: () => all('main table').map((table) => {
      // Rows that are not shown may be missing where a note says so.
      const note = table.closest('.scroll')?.nextElementSibling;
      const noted = !!note && note.matches('.more') && shown(note);
      return {
        name: name(table), in_details: !!table.closest('details.data'),
        cells: all('th, td', table).filter((cell) => !noted || shown(cell.parentElement))
          .map((cell) => cell.textContent),
      };
    }),
    dark: () => luminance(ground(document.body)) < 0.2,
    phone: () => ({width: innerWidth, wide: all('figure.chart .plot svg, figure.chart .drawing svg')
      .filter((svg) => shown(svg) && svg.getBoundingClientRect().right > innerWidth + 1 &&
        !svg.closest('.scroll')).map((svg) => name(svg.parentElement))}),
  };
})();

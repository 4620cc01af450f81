"""A small page that does all that a report must, made by hand, and the ways to break it. What the
checks are held to: they pass it whole and fail each broken one."""

import base64
import hashlib
import json

STYLE = """
:root { color-scheme: light dark; --ink: #1b2733; --ground: #ffffff; --line: #1f6fb2;
  --good: #00756a; --unsure: #9a6700; --bad: #941010; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eef4; --ground: #12181f; --line: #6db3f2;
    --good: #45d0b8; --unsure: #ffd166; --bad: #ff7a66; }
}
.good { color: var(--good); --sign: "\\2714"; }
.unsure { color: var(--unsure); --sign: "?"; }
.bad { color: var(--bad); --sign: "\\2716"; }
td:is(.good, .unsure, .bad)::before, .value::before { content: var(--sign); }
dl, dd { margin: 0; }
.few table { width: 100%; }
.few td { white-space: normal; }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; font-family: sans-serif; color: var(--ink);
  background: var(--ground); }
a, summary { color: inherit; }
:focus-visible { outline: 3px solid #d9730d; outline-offset: 2px; }
figure { margin: 1rem 0; max-width: 45rem; }
svg { display: block; width: 100%; height: auto; }
.plot { position: relative; }
.plot:empty { display: none; }
[data-ready] .drawing { display: none; }
.tip { position: absolute; top: 0; left: 0; background: var(--ground); border: 1px solid; }
.scroll { overflow-x: auto; }
td, th { padding: 2px 8px; text-align: right; white-space: nowrap; }
@page { size: A4; margin: 15mm; }
@media print {
  .plot { display: none; }
  [data-ready] .drawing { display: block; }
  .scroll { overflow: visible; }
  section { break-after: page; }
}
"""

DRAWING = """<svg role="img" aria-label="Hits by size, a rising line" viewBox="0 0 640 260">
<g fill="none" stroke="var(--ink)"><line x1="60" y1="20" x2="60" y2="220"/>
<line x1="60" y1="220" x2="620" y2="220"/></g>
<polyline fill="none" stroke="var(--line)" stroke-width="2"
points="60,200 200,150 340,90 480,60 620,40"/>
<g fill="var(--ink)" font-size="14" font-family="sans-serif"><text x="60" y="240">0 GiB</text>
<text x="580" y="240">64 GiB</text><text x="300" y="256">Size</text>
<text x="70" y="16">Hits in percent</text><text x="340" y="80">\u2714 40%</text></g>
<circle cx="340" cy="90" r="4" fill="var(--line)"/>
<circle cx="480" cy="60" r="4" fill="var(--line)"/></svg>"""

# Draws the data's charts as the still drawing has them; a tooltip under the mouse and for keys.
SCRIPT = """
const data = JSON.parse(document.getElementById('chart-data').textContent);
for (const plot of document.querySelectorAll('.plot')) {
  const points = data[plot.dataset.chart].points;
  const still = plot.parentElement.querySelector('.drawing svg');
  const svg = still.cloneNode(true);
  svg.removeAttribute('role');
  svg.setAttribute('aria-hidden', 'true');
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  plot.append(svg, tip);
  plot.tabIndex = 0;
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', still.getAttribute('aria-label'));
  let at = -1;
  const show = (i) => {
    at = Math.max(0, Math.min(points.length - 1, i));
    tip.textContent = points[at][0] + ': ' + points[at][1] + ' %';
    tip.hidden = false;
  };
  plot.addEventListener('mousemove', (event) => show(Math.floor(
    points.length * event.offsetX / plot.clientWidth)));
  plot.addEventListener('mouseleave', () => { tip.hidden = true; });
  plot.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') tip.hidden = true;
    if (event.key === 'ArrowRight') show(at + 1);
    if (event.key === 'ArrowLeft') show(at - 1);
  });
}
document.documentElement.dataset.ready = 'true';
"""

ANSWER = """<dl class="answer"><div class="good"><dt>Buy</dt><dd class="value">64 GiB</dd></div></dl>
<dl class="facts"><div><dt>Confidence</dt><dd class="value">High</dd></div>
<div><dt>Margin</dt><dd class="value">Fails if reuse falls</dd></div></dl>"""

WARNINGS = """<div class="scroll few" tabindex="0" role="region" aria-label="Warnings"><table>
<caption>Warnings</caption><thead><tr><th scope="col">What</th><th scope="col">Seen</th></tr></thead>
<tbody><tr><td>Cold restart</td><td>misses the SLO for so many minutes that everybody notices</td></tr>
</tbody></table></div>"""

TABLE = """<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>
<caption>{name}</caption><thead><tr><th scope="col">Size</th><th scope="col">Hits</th></tr></thead>
<tbody><tr><td>0 GiB</td><td>10.25</td></tr><tr><td>64 GiB</td><td>91.75</td></tr></tbody>
</table></div>"""


def page(style=STYLE, script=SCRIPT, drawing=DRAWING, policy=None, name="Size &amp; hits", charts=2,
         table=TABLE, plot='<div class="plot" data-chart="{n}"></div>', head="", tail="",
         answer=ANSWER, warnings=WARNINGS, edit=None):
    """The page's text. Parts given replace those of the sound page; `edit` has the last word."""
    points = [["0 GiB", 10.25], ["16 GiB", 40.5], ["64 GiB", 91.75]]
    data = json.dumps([{"points": points} for _ in range(charts)])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = policy or (f"default-src 'none'; script-src 'sha256-{digest}'; "
                        "style-src 'unsafe-inline'")
    sections = "".join(
        f'<section id="page-{n}" class="page" aria-labelledby="heading-{n}">'
        f'<h2 id="heading-{n}">Page {n}</h2>{"" if n else answer}<p>What to see: {name}.</p>'
        f'<figure class="chart" id="chart-{n}"><figcaption>Hits by size {n}</figcaption>'
        f'<p class="note">More is more.</p>{plot.format(n=n)}<div class="drawing">{drawing}</div>'
        f'<details class="data"><summary>Table {n}</summary>{table.format(name=f"Points {n}")}'
        f'</details></figure>{table.format(name=f"Sizes {n}")}{"" if n else warnings}</section>' for n in range(charts))
    links = "".join(f'<a href="#page-{n}">Page {n}</a> ' for n in range(charts))
    text = (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Model</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head}'
            f'<style>{style}</style></head><body><header><h1>Model page</h1></header>'
            f'<nav aria-label="Pages">{links}</nav><main>{sections}</main>'
            f'<script type="application/json" id="chart-data">{data}</script>'
            f'<script>{script}</script>{tail}</body></html>')
    return edit(text) if edit else text

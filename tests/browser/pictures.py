"""Pictures of pages, kept as small PNG files, and how alike two of them are. The browser does the
arithmetic, so no image package is needed."""

import base64
import os
import struct
import zlib

COLORS = 64  # of a kept picture
# What a picture must reach; a picture reduced to COLORS reaches 0.9999 of itself. The room below is
# for other versions of the browser, which draw letters a little differently.
WHOLE = 0.80
PART = 0.45

# Palette and one index a pixel: the most frequent colours, everything else to the nearest of them.
REDUCE = """
async (png, most) => {
  const file = await fetch('data:image/png;base64,' + png);
  const image = await createImageBitmap(await file.blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(
    context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  // Greys between two colours are many; far colours first keeps thin coloured lines.
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map((pair) => pair[0]);
  const split = (p) => [p & 255, (p >> 8) & 255, (p >> 16) & 255];
  const far = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2;
  const palette = [];
  for (const apart of [1600, 400, 100, 1]) {
    for (const pixel of sorted.slice(0, 4000)) {
      if (palette.length >= most) break;
      const color = split(pixel);
      if (palette.every((other) => far(color, other) >= apart)) palette.push(color);
    }
  }
  const nearest = new Map();
  for (const pixel of counts.keys()) {
    const color = split(pixel);
    let best = 0;
    for (let i = 1; i < palette.length; ++i) {
      if (far(color, palette[i]) < far(color, palette[best])) best = i;
    }
    nearest.set(pixel, best);
  }
  const bytes = new Uint8Array(pixels.length);
  for (let i = 0; i < pixels.length; ++i) bytes[i] = nearest.get(pixels[i]);
  let text = '';
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return {width: image.width, height: image.height, palette, indices: btoa(text)};
}
"""

# Structural similarity (SSIM) of brightness in windows of 8 x 8, at half the size. Windows that are
# even in both pictures say nothing and are left out: most of a page is empty, and a missing chart
# must not drown in that. `part` is the lowest mean over a 3 x 3 neighbourhood of a 10 x 10 grid.
COMPARE = """
async (first, second) => {
  const load = async (png) => {
    const file = await fetch('data:image/png;base64,' + png);
    const image = await createImageBitmap(await file.blob());
    const width = image.width >> 1, height = image.height >> 1;
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    const data = context.getImageData(0, 0, image.width, image.height).data;
    const at = (x, y) => {
      const i = 4 * (y * image.width + x);
      return 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
    };
    const grey = new Float64Array(width * height);
    for (let y = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x) {
        grey[y * width + x] = (at(2 * x, 2 * y) + at(2 * x + 1, 2 * y) + at(2 * x, 2 * y + 1) +
          at(2 * x + 1, 2 * y + 1)) / 4;
      }
    }
    return {width, height, grey, full: [image.width, image.height]};
  };
  const [a, b] = [await load(first), await load(second)];
  if (String(a.full) !== String(b.full)) return {whole: 0, part: 0, where: 'sizes differ'};
  const kGrid = 10, kWindow = 8, kStep = 4, c1 = 6.5025, c2 = 58.5225;
  const sums = Array.from({length: kGrid * kGrid}, () => [0, 0]);
  let total = 0, windows = 0;
  for (let y = 0; y + kWindow <= a.height; y += kStep) {
    for (let x = 0; x + kWindow <= a.width; x += kStep) {
      let sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
      for (let v = y; v < y + kWindow; ++v) {
        for (let u = x; u < x + kWindow; ++u) {
          const p = a.grey[v * a.width + u], q = b.grey[v * a.width + u];
          sa += p; sb += q; saa += p * p; sbb += q * q; sab += p * q;
        }
      }
      const n = kWindow * kWindow, ma = sa / n, mb = sb / n;
      const va = saa / n - ma * ma, vb = sbb / n - mb * mb, cov = sab / n - ma * mb;
      if (va < 4 && vb < 4 && Math.abs(ma - mb) < 6) continue;
      const value = ((2 * ma * mb + c1) * (2 * cov + c2)) /
        ((ma * ma + mb * mb + c1) * (va + vb + c2));
      const cell = Math.floor(y * kGrid / a.height) * kGrid + Math.floor(x * kGrid / a.width);
      sums[cell][0] += value;
      sums[cell][1] += 1;
      total += value;
      windows += 1;
    }
  }
  let part = 1, where = '';
  for (let row = 0; row + 3 <= kGrid; ++row) {
    for (let column = 0; column + 3 <= kGrid; ++column) {
      let value = 0, count = 0;
      for (let i = 0; i < 9; ++i) {
        const cell = sums[(row + Math.floor(i / 3)) * kGrid + column + i % 3];
        value += cell[0];
        count += cell[1];
      }
      if (count >= 40 && value / count < part) {
        part = value / count;
        where = `${10 * column}-${10 * column + 30}% across, ${10 * row}-${10 * row + 30}% down`;
      }
    }
  }
  return {whole: windows ? total / windows : 1, part, where};
}
"""


def take(page):
    return page.call("Page.captureScreenshot", {"format": "png"}, 180)["data"]


def png_of(width, height, palette, indices):
    """A PNG file with a palette, a byte a pixel."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + indices[y * width:(y + 1) * width] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"PLTE", bytes(value for color in palette for value in color))
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def reduced(studio, picture):
    """The bytes to keep. `studio` is a page on about:blank."""
    got = studio.ask(REDUCE, picture, COLORS, timeout=60)
    return png_of(got["width"], got["height"], got["palette"], base64.b64decode(got["indices"]))


def compare(studio, first, second):
    """Both as base64 of PNG: {whole, part, where}."""
    return studio.ask(COMPARE, first, second, timeout=60)


def check(studio, picture, golden, update=False):
    """Sentences about how `picture` differs from the file `golden`."""
    name = os.path.basename(golden)
    if update:
        os.makedirs(os.path.dirname(golden), exist_ok=True)
        with open(golden, "wb") as file:
            file.write(reduced(studio, picture))
        return []
    try:
        with open(golden, "rb") as file:
            kept = base64.b64encode(file.read()).decode()
    except FileNotFoundError:
        return [f"picture {name}: no golden; SPILLWAY_UPDATE_GOLDEN=1 writes it"]
    got = compare(studio, kept, picture)
    if got["whole"] >= WHOLE and got["part"] >= PART:
        return []
    return [f"picture {name}: similarity {got['whole']:.2f} (at least {WHOLE}), worst part "
            f"{got['part']:.2f} (at least {PART}) at {got['where']}"]

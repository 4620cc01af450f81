"""Whether eyes that confuse red and green tell colours apart: Machado, Oliveira and Fernandes (2009), severity 1, in
linear RGB; distances in CIE Lab (1976)."""

DEUTERANOPIA = ((0.367322, 0.860646, -0.227968),
                (0.280085, 0.672501, 0.047413),
                (-0.011820, 0.042940, 0.968881))


def linear(rgb):
    parts = [part / 255 for part in rgb]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def deuteranope(rgb):
    """Linear RGB as a deuteranope sees it."""
    seen = linear(rgb)
    return [min(1.0, max(0.0, sum(a * b for a, b in zip(row, seen)))) for row in DEUTERANOPIA]


def lab(lin):
    x = 0.4124 * lin[0] + 0.3576 * lin[1] + 0.1805 * lin[2]
    y = 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]
    z = 0.0193 * lin[0] + 0.1192 * lin[1] + 0.9505 * lin[2]
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x / 0.95047, y, z / 1.08883)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def distance(a, b):
    """Between two sRGB colours, as a deuteranope sees them."""
    return sum((p - q) ** 2 for p, q in zip(lab(deuteranope(a)), lab(deuteranope(b)))) ** 0.5


def luminance(rgb):
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear(rgb)))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)

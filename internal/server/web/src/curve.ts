import type { Curve, TargetStanding } from './types'

// The learning curve as the service fits it: the error is taken to change as a power of the
// number of labels, log e(n') = log e(n) + b·log(n'/n), with limits for e(n) and for b.

export interface CurveAt { labels: number; value: number; low: number; high: number }

/** The RMSE of the curve for a number of labels. The limits hold it with about 90 %. */
export function errorAt(curve: Curve, labels: number): CurveAt | null {
  const { value, low, high } = curve.rmse
  const slope = curve.slope
  if (value === null || slope.value === null || curve.labels <= 0 || labels <= 0) return null
  const x = Math.log(labels / curve.labels)
  const middle = Math.log(value) + slope.value * x
  // Level and slope are uncertain independently of one another, as far as one can see from here.
  const down = Math.hypot(Math.log(value / (low ?? value)), (slope.value - (x > 0 ? slope.low ?? slope.value : slope.high ?? slope.value)) * x)
  const up = Math.hypot(Math.log((high ?? value) / value), ((x > 0 ? slope.high ?? slope.value : slope.low ?? slope.value) - slope.value) * x)
  return { labels, value: Math.exp(middle), low: Math.exp(middle - down), high: Math.exp(middle + up) }
}

/** How far to the right the curve is drawn: to the forecast where it is near, and to twice the labels at least. */
export function horizon(t: TargetStanding): number {
  if (!t.curve) return Math.max(1, t.labels)
  const wanted = t.forecast?.labels.value
  const far = wanted === null || wanted === undefined ? 0 : wanted * 1.1
  return Math.max(t.curve.labels * 1.6, Math.min(far, t.curve.labels * 5))
}

/** Columns for the drawing: labels, the past and the future of the curve with its band, and the measured points. */
export interface Drawn {
  labels: number[]
  past: (number | null)[]
  future: (number | null)[]
  low: (number | null)[]
  high: (number | null)[]
  points: (number | null)[]
}

export function drawn(t: TargetStanding, steps = 120): Drawn {
  const d: Drawn = { labels: [], past: [], future: [], low: [], high: [], points: [] }
  const curve = t.curve
  if (!curve) return d
  const points = new Map((curve.points ?? []).filter(p => p.rmse.value !== null).map(p => [p.labels, p.rmse.value]))
  const first = Math.max(1, Math.min(curve.labels, ...points.keys()))
  const end = horizon(t)
  const at = new Set<number>([...points.keys(), curve.labels])
  for (let i = 0; i <= steps; i++) at.add(first + (end - first) * (i / steps))
  for (const n of [...at].sort((a, b) => a - b)) {
    const e = errorAt(curve, n)
    d.labels.push(n)
    d.past.push(e && n <= curve.labels ? e.value : null)
    d.future.push(e && n >= curve.labels ? e.value : null)
    d.low.push(e?.low ?? null)
    d.high.push(e?.high ?? null)
    d.points.push(points.get(n) ?? null)
  }
  return d
}

/** The top of the y-axis: high enough for the curve and the points, and for a band that is not much higher. */
export function ceiling(d: Drawn, wanted: number | null): number {
  const middle = Math.max(...[...d.past, ...d.future, ...d.points].filter(v => v !== null), wanted ?? 0)
  const band = Math.max(...d.high.filter(v => v !== null), middle)
  return Math.min(band, 2 * middle) * 1.06 || 1
}

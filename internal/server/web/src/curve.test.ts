import { describe, expect, test } from 'vitest'
import { ceiling, drawn, errorAt, horizon } from './curve'
import type { Curve, TargetStanding } from './types'

const curve: Curve = {
  labels: 100, rows: 20, slope: { value: -.5, low: -.8, high: -.2 }, rmse: { value: 2, low: 1.5, high: 3 },
  mae: { value: 1, low: null, high: null }, q95: { value: 4, low: null, high: null },
  points: [{ labels: 50, rows: 8, rmse: { value: 3, low: 2, high: 5 } }, { labels: 100, rows: 12, rmse: { value: 2, low: 1.5, high: 3 } }],
}
const standing = (more: Partial<TargetStanding> = {}): TargetStanding => ({
  target: 'y', labels: 100, random: 0, audited: 20, held_out: 0, noise: { deviation: null, freedom: 0, rows: 0 }, curve, next: null, forecast: null, gain: null,
  advice: { verdict: 'go on', because: '' }, ...more,
})

describe('the error', () => {
  test('is what the service says at the present number of labels', () => {
    const e = errorAt(curve, 100)!
    expect([e.value, e.low, e.high].map(v => Number(v.toFixed(9)))).toEqual([2, 1.5, 3])
  })
  test('halves with four times the labels at a slope of -0.5', () => expect(errorAt(curve, 400)!.value).toBeCloseTo(1))
  test('is less certain the farther one looks', () => {
    const ratio = (n: number) => errorAt(curve, n)!.high / errorAt(curve, n)!.low
    expect(ratio(400)).toBeGreaterThan(ratio(200))
    expect(ratio(200)).toBeGreaterThan(ratio(100))
    expect(ratio(25)).toBeGreaterThan(ratio(50))
  })
  test('is not told where it is infinite', () => expect(errorAt({ ...curve, rmse: { value: null, low: 1, high: null } }, 100)).toBeNull())
})

test('past and future meet at the present', () => {
  const d = drawn(standing())
  const now = d.labels.indexOf(100)
  expect(d.past[now]).toBe(d.future[now])
  expect(d.past.slice(now + 1).every(v => v === null)).toBe(true)
  expect(d.points.filter(v => v !== null)).toEqual([3, 2])
  expect([...d.labels].sort((a, b) => a - b)).toEqual(d.labels)
})

test('the forecast is in view where it is near', () => {
  const forecast = { metric: 'rmse' as const, wanted: 1, labels: { value: 400, low: 200, high: null }, more: { value: 300, low: 100, high: null }, cost: null, rows: 5000 }
  expect(horizon(standing({ forecast }))).toBeCloseTo(440)
  expect(horizon(standing({ forecast: { ...forecast, labels: { value: 1e6, low: 1, high: null } } }))).toBe(500)
  expect(horizon(standing())).toBe(160)
})

test('a band without end does not flatten the curve', () => {
  const wild = drawn(standing({ curve: { ...curve, rmse: { value: 2, low: 1.5, high: 1e6 } } }))
  expect(ceiling(wild, null)).toBeLessThan(10)
  expect(ceiling(wild, 50)).toBeGreaterThan(50)
})

test('without a curve there is nothing to draw', () => expect(drawn(standing({ curve: null })).labels).toEqual([]))

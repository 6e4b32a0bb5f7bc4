import { describe, expect, test } from 'vitest'
import { pagesOf, pageSize, scrollFor, tallest, windowOf } from './scroll'

const h = 34, viewport = 600

describe('a short table', () => {
  test('is as tall as its rows', () => expect(windowOf(100, h, 0, viewport).height).toBe(100 * h))
  test('draws what can be seen, and little more', () => {
    const w = windowOf(1000, h, 340, viewport, 2)
    expect(w.first).toBe(8)
    expect(w.last).toBe(30)
    expect(w.top).toBe(8 * h)
  })
})

describe.each([1_000, 235_000, 1_000_000, 50_000_000])('a table of %d rows', total => {
  const reach = Math.min(total * h, tallest) - viewport
  test('stays within what browsers draw', () => expect(windowOf(total, h, 0, viewport).height).toBeLessThanOrEqual(tallest))
  test('shows the first row at the top and the last one at the bottom', () => {
    expect(windowOf(total, h, 0, viewport).first).toBe(0)
    const end = windowOf(total, h, reach, viewport)
    expect(end.last).toBe(total)
    expect(end.top + (end.last - end.first) * h).toBeCloseTo(end.height, 3)
  })
  test('never leaves a gap', () => {
    for (let i = 0; i <= 50; i++) {
      const at = reach * i / 50
      const w = windowOf(total, h, at, viewport)
      expect(w.top).toBeLessThanOrEqual(at + 1e-6)
      expect(w.top + (w.last - w.first) * h).toBeGreaterThanOrEqual(at + viewport - 1e-3)
      expect(w.last - w.first).toBeLessThan(60)
    }
  })
  test('scrolls to any row', () => {
    for (const row of [0, 1, Math.floor(total / 3), total - 1]) {
      const at = scrollFor(row, total, h, reach / 2, viewport)
      const w = windowOf(total, h, at, viewport, 0)
      expect(row).toBeGreaterThanOrEqual(w.first)
      expect(row).toBeLessThan(w.last)
    }
  })
})

test('pages cover the rows', () => {
  expect(pagesOf(0, 1)).toEqual([0])
  expect(pagesOf(pageSize - 1, pageSize + 1)).toEqual([0, 1])
  expect(pagesOf(5 * pageSize, 6 * pageSize)).toEqual([5])
})

import { describe, expect, test } from 'vitest'
import { Cells, dataX, dataY, fitted, lassoed, panned, screenX, screenY, zoomed } from './camera'

const size = { width: 800, height: 600 }

/** Points that look random and are the same every time. */
function cloud(n: number) {
  let seed = 1
  const next = () => (seed = seed * 48271 % 2147483647) / 2147483647
  return { x: Float32Array.from({ length: n }, next), y: Float32Array.from({ length: n }, next) }
}

test('all points fit', () => {
  const p = cloud(500)
  const c = fitted(p, size)
  for (let i = 0; i < 500; i++) {
    expect(screenX(c, size, p.x[i]!)).toBeGreaterThan(0)
    expect(screenX(c, size, p.x[i]!)).toBeLessThan(800)
    expect(screenY(c, size, p.y[i]!)).toBeGreaterThan(0)
    expect(screenY(c, size, p.y[i]!)).toBeLessThan(600)
  }
})

test('no points and equal points do no harm', () => {
  expect(fitted({ x: new Float32Array(), y: new Float32Array() }, size)).toEqual({ x: 0, y: 0, scale: 1 })
  const same = { x: new Float32Array(3).fill(2), y: new Float32Array(3).fill(5) }
  expect(Number.isFinite(fitted(same, size).scale)).toBe(true)
  expect(new Cells(same).nearest(2, 5, 1)).toBeGreaterThanOrEqual(0)
})

test('zooming keeps what is under the pointer', () => {
  const c = zoomed({ x: 3, y: -2, scale: 40 }, size, 100, 500, 2.5)
  const before = { x: dataX({ x: 3, y: -2, scale: 40 }, size, 100), y: dataY({ x: 3, y: -2, scale: 40 }, size, 500) }
  expect(dataX(c, size, 100)).toBeCloseTo(before.x)
  expect(dataY(c, size, 500)).toBeCloseTo(before.y)
  expect(dataX(panned(c, 10, 0), size, 110)).toBeCloseTo(before.x)
})

describe('the nearest point', () => {
  const p = cloud(3000)
  const cells = new Cells(p)
  test('is the one that a plain search finds', () => {
    const q = cloud(60)
    for (let k = 0; k < 60; k++) {
      const distance = (i: number) => (p.x[i]! - q.x[k]!) ** 2 + (p.y[i]! - q.y[k]!) ** 2
      let best = 0
      for (let i = 1; i < 3000; i++) if (distance(i) < distance(best)) best = i
      expect(distance(cells.nearest(q.x[k]!, q.y[k]!, 1))).toBe(distance(best))
    }
  })
  test('is none where all are far', () => expect(cells.nearest(9, 9, .5)).toBe(-1))
})

test('a lasso catches what it encloses', () => {
  const p = { x: Float32Array.from([0, .5, 2, .9]), y: Float32Array.from([0, .5, 2, .1]) }
  const square = [{ x: -1, y: -1 }, { x: 1, y: -1 }, { x: 1, y: 1 }, { x: -1, y: 1 }]
  expect(lassoed(p, square)).toEqual([0, 1, 3])
  expect(lassoed(p, [{ x: -1, y: -1 }, { x: 1, y: 1 }, { x: -1, y: 1 }])).not.toContain(3)
  expect(lassoed(p, square.slice(0, 2))).toEqual([])
})

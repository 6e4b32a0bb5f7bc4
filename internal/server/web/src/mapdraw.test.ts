import { expect, test } from 'vitest'
import { disc, draw, gathered } from './mapdraw'
import type { Layer } from './mapdraw'
import type { Camera, Points } from './camera'
import { domain, pixel, rgbOf, shade } from './shades'

const white = pixel([255, 255, 255]), red = pixel([200, 0, 0])
const drawn = (to: ReturnType<typeof canvas>, p: Points, camera: Camera, layers: Layer[]) => draw(to, white, camera, layers.map(l => gathered(p, l)))
const canvas = () => ({ pixels: new Int32Array(40 * 30), width: 40, height: 30 })

test('a point is drawn where it lies', () => {
  const to = canvas()
  drawn(to, { x: Float32Array.from([5]), y: Float32Array.from([3]) }, { x: 0, y: 0, scale: 2 }, [{ points: Uint32Array.of(0), radius: 2, colours: red }])
  expect(to.pixels[9 * 40 + 30]).toBe(red)
  expect(to.pixels[0]).toBe(white)
  const edge = to.pixels[9 * 40 + 28]! & 0xff
  expect(edge).toBeGreaterThanOrEqual(200)
  expect([...to.pixels].filter(p => p !== white).length).toBe(disc(2).offsets.length)
})

test('points beyond the edge are left out, and never wrap around', () => {
  const to = canvas()
  const far = { x: Float32Array.from([20, -20.4, 0, 0, 1e9]), y: Float32Array.from([0, 0, 15, -15.2, 0]) }
  drawn(to, far, { x: 0, y: 0, scale: 1 }, [{ points: Uint32Array.from([0, 1, 2, 3, 4]), radius: 3, colours: red }])
  expect(to.pixels.every(p => p === white)).toBe(true)
})

test('later layers cover earlier ones', () => {
  const to = canvas()
  const p = { x: new Float32Array(1), y: new Float32Array(1) }
  drawn(to, p, { x: 0, y: 0, scale: 1 }, [
    { points: Uint32Array.of(0), radius: 4, colours: red },
    { points: Uint32Array.of(0), radius: 1, colours: Int32Array.of(pixel([0, 0, 9])) },
  ])
  expect(to.pixels[15 * 40 + 20]).toBe(pixel([0, 0, 9]))
})

test('an outlier does not make all colours alike', () => {
  const values = Array.from({ length: 1000 }, (_, i) => i / 1000)
  values[7] = 1e9
  const [low, high] = domain([...values, NaN])!
  expect(low).toBeCloseTo(.02, 1)
  expect(high).toBeLessThan(1)
  expect(domain([NaN])).toBeNull()
  expect(domain([3, 3])).toEqual([3, 3])
})

test('shades run from one end to the other', () => {
  expect(shade(-1, false)).toEqual(shade(0, false))
  expect(shade(0, false)).not.toEqual(shade(1, false))
  expect(rgbOf('rgb(1, 2, 3)')).toEqual([1, 2, 3])
})

test('a crisp stamp has no half-covered pixels', () => {
  expect(disc(1.3, true).offsets).toHaveLength(5)
  expect(disc(1.3, true).offsets.every(o => o.cover === 16)).toBe(true)
  expect(disc(1.3).offsets.length).toBeGreaterThan(5)
})

// Colours of the map's points.

/** From dark to light, evenly spaced for the eye and for people who see no red or green. */
const ramp = ['#3b1c6b', '#433a8c', '#37598f', '#2b748e', '#21908d', '#27ad81', '#5cc863', '#aadc32', '#fde725']

/** The ends of the ramp that stand out from the page. */
const range = { light: [0, .86], dark: [.14, 1] } as const

type Rgb = [number, number, number]

const stops = ramp.map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)) as Rgb)

/** The colour for a share from 0 to 1. */
export function shade(share: number, dark: boolean): Rgb {
  const [from, to] = range[dark ? 'dark' : 'light']
  const at = (from + Math.max(0, Math.min(1, share)) * (to - from)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(at))
  const [a, b, f] = [stops[i]!, stops[i + 1]!, at - i]
  return [0, 1, 2].map(k => Math.round(a[k]! + (b[k]! - a[k]!) * f)) as Rgb
}

export const css = (c: Rgb): string => `rgb(${c.join(' ')})`

export function rgbOf(text: string): Rgb {
  const found = /(\d+)[, ]+(\d+)[, ]+(\d+)/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : [128, 128, 128]
}

/** A colour as a pixel of ImageData, on the little-endian machines that browsers run on: a signed number of 32 bits. */
export const pixel = ([r, g, b]: Rgb): number => (255 << 24) | (b << 16) | (g << 8) | r

/** The values between which colours change: the central 96 % of them, so that one outlier does not make all others look alike. */
export function domain(values: ArrayLike<number>): [number, number] | null {
  const list = Float64Array.from(values).filter(v => Number.isFinite(v)).sort()
  if (list.length === 0) return null
  const at = (share: number) => list[Math.round(share * (list.length - 1))]!
  const [low, high] = [at(.02), at(.98)]
  return low < high ? [low, high] : [list[0]!, list[list.length - 1]!]
}

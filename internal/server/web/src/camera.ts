// The view of the map, and which points a gesture selects.

/** Data coordinates of the middle of the view, and pixels per unit of data. */
export interface Camera { x: number; y: number; scale: number }

export interface Points { x: Float32Array; y: Float32Array }

export interface Size { width: number; height: number }

/** The camera that shows all points, with a margin. */
export function fitted(p: Points, size: Size, margin = 24): Camera {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity]
  for (let i = 0; i < p.x.length; i++) {
    const [x, y] = [p.x[i]!, p.y[i]!]
    if (x < left) left = x
    if (x > right) right = x
    if (y < bottom) bottom = y
    if (y > top) top = y
  }
  if (!(left <= right)) return { x: 0, y: 0, scale: 1 }
  const room = { width: Math.max(1, size.width - 2 * margin), height: Math.max(1, size.height - 2 * margin) }
  const scale = Math.min(room.width / Math.max(right - left, 1e-12), room.height / Math.max(top - bottom, 1e-12))
  return { x: (left + right) / 2, y: (bottom + top) / 2, scale: Math.min(scale, 1e12) }
}

export const screenX = (c: Camera, s: Size, x: number): number => s.width / 2 + (x - c.x) * c.scale
export const screenY = (c: Camera, s: Size, y: number): number => s.height / 2 - (y - c.y) * c.scale
export const dataX = (c: Camera, s: Size, px: number): number => c.x + (px - s.width / 2) / c.scale
export const dataY = (c: Camera, s: Size, py: number): number => c.y - (py - s.height / 2) / c.scale

/** Zooms so that the data under a pixel stay there. */
export function zoomed(c: Camera, s: Size, px: number, py: number, factor: number): Camera {
  const [x, y] = [dataX(c, s, px), dataY(c, s, py)]
  const scale = c.scale * factor
  return { scale, x: x - (px - s.width / 2) / scale, y: y + (py - s.height / 2) / scale }
}

export const panned = (c: Camera, dx: number, dy: number): Camera => ({ ...c, x: c.x - dx / c.scale, y: c.y + dy / c.scale })

/** Points sorted into the cells of a grid, to find those near a place. */
export class Cells {
  private readonly side: number
  private readonly starts: Uint32Array
  private readonly order: Uint32Array
  private readonly left: number
  private readonly bottom: number
  private readonly cell: number

  constructor(private readonly p: Points) {
    const n = p.x.length
    this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 4))))
    const box = fitted(p, { width: 2, height: 2 }, 0)
    const extent = 2 / box.scale
    this.left = box.x - extent / 2
    this.bottom = box.y - extent / 2
    this.cell = extent / this.side || 1
    const counts = new Uint32Array(this.side * this.side + 1)
    const at = new Uint32Array(n)
    for (let i = 0; i < n; i++) {
      at[i] = this.row(p.y[i]!) * this.side + this.column(p.x[i]!)
      counts[at[i]! + 1]!++
    }
    for (let i = 1; i < counts.length; i++) counts[i]! += counts[i - 1]!
    this.starts = counts
    this.order = new Uint32Array(n)
    const next = counts.slice()
    for (let i = 0; i < n; i++) this.order[next[at[i]!]!++] = i
  }

  private column(x: number): number { return Math.max(0, Math.min(this.side - 1, Math.floor((x - this.left) / this.cell))) }
  private row(y: number): number { return Math.max(0, Math.min(this.side - 1, Math.floor((y - this.bottom) / this.cell))) }

  /** The point nearest to a place, at most so far away; -1 without one. */
  nearest(x: number, y: number, within: number): number {
    let [best, far] = [-1, within * within]
    for (let r = this.row(y - within); r <= this.row(y + within); r++) {
      for (let c = this.column(x - within); c <= this.column(x + within); c++) {
        const cell = r * this.side + c
        for (let k = this.starts[cell]!; k < this.starts[cell + 1]!; k++) {
          const i = this.order[k]!
          const d = (this.p.x[i]! - x) ** 2 + (this.p.y[i]! - y) ** 2
          if (d <= far) { far = d; best = i }
        }
      }
    }
    return best
  }
}

/** The points within a polygon, which is closed by itself, in data coordinates. */
export function lassoed(p: Points, polygon: { x: number; y: number }[]): number[] {
  if (polygon.length < 3) return []
  const xs = polygon.map(v => v.x), ys = polygon.map(v => v.y)
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
  const found: number[] = []
  for (let i = 0; i < p.x.length; i++) {
    const [x, y] = [p.x[i]!, p.y[i]!]
    if (x >= left && x <= right && y >= bottom && y <= top && inside(xs, ys, x, y)) found.push(i)
  }
  return found
}

function inside(xs: number[], ys: number[], x: number, y: number): boolean {
  let odd = false
  for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
    if ((ys[i]! > y) !== (ys[j]! > y) && x < (xs[j]! - xs[i]!) * (y - ys[i]!) / (ys[j]! - ys[i]!) + xs[i]!) odd = !odd
  }
  return odd
}

import type { Camera, Points } from './camera'

// Draws points into the pixels of an image, without a graphics card.

/** Points that are drawn alike, as discs. The radius is in device pixels. */
export interface Layer { points: Uint32Array; radius: number; colours: Int32Array | number }

/** What draws layers of points on a canvas, in their order. */
export interface Painter {
  readonly name: string
  /** Takes points and layers in; those of before are forgotten. */
  style(background: number, points: Points, layers: Layer[]): void
  /** Draws a frame. The camera is in device pixels. */
  paint(camera: Camera): void
  end(): void
}

export interface Stamp { offsets: { dx: number; dy: number; cover: number }[]; radius: number }

const full = 16 // parts of a pixel; with 16 of them, mixing stays within 32 bits

/** A disc in device pixels. Its edges are smooth or, which takes a quarter of the time, crisp. */
export function disc(radius: number, crisp = false): Stamp {
  const offsets: Stamp['offsets'] = []
  const reach = Math.ceil(radius)
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.max(0, Math.min(1, radius + .5 - Math.hypot(dx, dy)))
      const parts = crisp ? (cover >= .5 ? full : 0) : Math.round(cover * full)
      if (parts > 0) offsets.push({ dx, dy, cover: parts })
    }
  }
  return { offsets, radius }
}

/** A layer whose coordinates and colours lie in the order in which they are drawn. */
export interface Gathered { x: Float32Array; y: Float32Array; colours: Int32Array; stamp: Stamp }

const many = 30_000 // points whose edges are not worth the time

export function gathered({ x, y }: Points, { points, radius, colours }: Layer): Gathered {
  return {
    x: Float32Array.from(points, i => x[i]!), y: Float32Array.from(points, i => y[i]!),
    colours: typeof colours === 'number' ? new Int32Array(points.length).fill(colours) : Int32Array.from(points, i => colours[i]!),
    stamp: disc(radius, points.length > many),
  }
}

export interface Canvas { pixels: Int32Array; width: number; height: number }

/** Draws the layers in their order. The camera is in device pixels. */
export function draw(to: Canvas, background: number, camera: Camera, layers: Gathered[]): void {
  to.pixels.fill(background)
  for (const layer of layers) drawLayer(to, camera, layer)
}

function drawLayer(to: Canvas, camera: Camera, { x, y, colours, stamp }: Gathered): void {
  const { pixels, width, height } = to
  const shifts = Int32Array.from(stamp.offsets, o => o.dy * width + o.dx)
  const covers = Int32Array.from(stamp.offsets, o => o.cover)
  const n = shifts.length
  const solid = covers.every(c => c === full)
  const { scale } = camera
  const edge = Math.ceil(stamp.radius)
  const [left, top] = [width / 2 - camera.x * scale + .5, height / 2 + camera.y * scale + .5]
  const [right, bottom] = [width - edge, height - edge]
  for (let i = 0; i < x.length; i++) {
    const px = Math.floor(left + x[i]! * scale), py = Math.floor(top - y[i]! * scale)
    if (px < edge || py < edge || px >= right || py >= bottom) continue
    const colour = colours[i]!
    const base = py * width + px
    if (solid) {
      for (let k = 0; k < n; k++) pixels[base + shifts[k]!] = colour
      continue
    }
    for (let k = 0; k < n; k++) {
      const at = base + shifts[k]!
      const cover = covers[k]!
      pixels[at] = cover === full ? colour : mixed(pixels[at]!, colour, cover)
    }
  }
}

/** Covers some of the parts of a pixel. */
function mixed(under: number, over: number, parts: number): number {
  const odd = (Math.imul(under & 0xff00ff, full - parts) + Math.imul(over & 0xff00ff, parts)) >> 4 & 0xff00ff
  const green = (Math.imul(under >> 8 & 0xff, full - parts) + Math.imul(over >> 8 & 0xff, parts)) >> 4 & 0xff
  return -0x1000000 | odd | green << 8
}

/** Draws without a graphics card. */
export class PixelPainter implements Painter {
  readonly name = 'pixels'
  private image: ImageData | null = null
  private background = 0
  private layers: Gathered[] = []

  constructor(private readonly canvas: HTMLCanvasElement, private readonly context: CanvasRenderingContext2D) {}

  style(background: number, points: Points, layers: Layer[]): void {
    this.background = background
    this.layers = layers.map(l => gathered(points, l))
  }

  paint(camera: Camera): void {
    const { width, height } = this.canvas
    if (this.image?.width !== width || this.image.height !== height) this.image = new ImageData(width, height)
    draw({ pixels: new Int32Array(this.image.data.buffer), width, height }, this.background, camera, this.layers)
    this.context.putImageData(this.image, 0, 0)
  }

  end(): void { this.image = null }
}

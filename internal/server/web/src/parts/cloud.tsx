import { useEffect, useRef } from 'preact/hooks'
import { Cells, dataX, dataY, fitted, lassoed, panned, screenX, screenY, zoomed } from '../camera'
import type { Camera, Size } from '../camera'
import { PixelPainter } from '../mapdraw'
import type { Layer, Painter } from '../mapdraw'
import { glPainter } from '../mapgl'
import type { Model } from '../mapmodel'
import { pixel, rgbOf } from '../shades'
import { colour } from '../theme'

export interface CloudProps {
  model: Model
  colours: Int32Array // of each point, as pixels
  chosen: number[] // points that a lasso caught
  marked: number // the point whose row is open; -1 for none
  lasso: boolean // whether dragging draws a lasso
  choose: (points: number[]) => void
  pick: (point: number) => void
  themes: number // changes with the colours of the page
  label: string
}

/** The cloud of points: drag, wheel, pinch and keys move it; clicks and lassos choose points. */
export function Cloud(props: CloudProps) {
  const place = useRef<HTMLDivElement>(null)
  const pictures = useRef<HTMLCanvasElement>(null)
  const overlay = useRef<HTMLCanvasElement>(null)
  const now = useRef(props)
  now.current = props
  const engine = useRef<Engine | null>(null)
  useEffect(() => {
    if (!place.current || !pictures.current || !overlay.current) return
    const e = new Engine(place.current, pictures.current, overlay.current, () => now.current)
    engine.current = e
    return () => { e.end(); engine.current = null }
  }, [props.model])
  useEffect(() => engine.current?.restyle(), [props.colours, props.themes, props.chosen])
  useEffect(() => engine.current?.touch('overlay'), [props.marked])
  return (
    <div ref={place} class={props.lasso ? 'cloud lasso' : 'cloud'} tabIndex={0} role="application" aria-label={props.label}>
      <canvas ref={pictures} />
      <canvas ref={overlay} />
    </div>
  )
}

/** The fastest painter that the browser has for a canvas. */
function painterOf(canvas: HTMLCanvasElement, repaint: () => void): Painter | null {
  const gl = glPainter(canvas, repaint)
  if (gl) return gl
  const plain = canvas.getContext('2d', { alpha: false })
  return plain && new PixelPainter(canvas, plain)
}

const clickSlack = 5 // pixels that a click may move
const reach = 14 // pixels from a click to its point

class Engine {
  private size: Size = { width: 1, height: 1 }
  private camera: Camera | null = null
  private ratio = 1
  private readonly painter: Painter | null
  private cells: Cells
  private stale: 'nothing' | 'overlay' | 'all' = 'nothing'
  private frame = 0
  private readonly down = new Map<number, { x: number; y: number }>()
  private moved = 0
  private path: { x: number; y: number }[] = [] // of the lasso, in data coordinates
  private lassoing = false
  private readonly ends: (() => void)[] = []
  private ink = { accent: '', text: '' } // asking the page for its colours in every frame would cost more than drawing

  constructor(private readonly place: HTMLElement, private readonly picture: HTMLCanvasElement, private readonly overlay: HTMLCanvasElement, private readonly props: () => CloudProps) {
    this.cells = new Cells(props().model.points)
    this.painter = painterOf(picture, () => this.touch())
    place.dataset['painter'] = this.painter?.name ?? 'none'
    const watcher = new ResizeObserver(() => this.resize())
    watcher.observe(place)
    this.ends.push(() => watcher.disconnect())
    this.on('pointerdown', e => this.press(e))
    this.on('pointermove', e => this.move(e))
    this.on('pointerup', e => this.release(e))
    this.on('pointercancel', e => { this.down.delete(e.pointerId); this.dropLasso() })
    this.on('keydown', e => this.key(e))
    this.on('focus', () => this.touch('overlay'))
    this.on('blur', () => this.touch('overlay'))
    const wheel = (e: WheelEvent) => {
      e.preventDefault()
      const at = this.at(e)
      this.look(zoomed(this.view(), this.size, at.x, at.y, Math.exp(-e.deltaY * (e.deltaMode === 1 ? .05 : .0016))))
    }
    place.addEventListener('wheel', wheel, { passive: false })
    this.ends.push(() => place.removeEventListener('wheel', wheel))
    this.resize()
    this.restyle()
  }

  end(): void {
    cancelAnimationFrame(this.frame)
    this.painter?.end()
    for (const e of this.ends) e()
  }

  private on<K extends keyof HTMLElementEventMap>(name: K, run: (e: HTMLElementEventMap[K]) => void): void {
    this.place.addEventListener(name, run)
    this.ends.push(() => this.place.removeEventListener(name, run))
  }

  private resize(): void {
    const first = this.camera === null
    this.size = { width: Math.max(1, this.place.clientWidth), height: Math.max(1, this.place.clientHeight) }
    this.ratio = Math.min(2, devicePixelRatio || 1)
    for (const c of [this.picture, this.overlay]) {
      c.width = Math.round(this.size.width * this.ratio)
      c.height = Math.round(this.size.height * this.ratio)
    }
    if (first && this.size.width > 1) this.camera = fitted(this.props().model.points, this.size)
    this.restyle()
  }

  /** Prepares the layers again: colours, statuses or the selection have changed. */
  restyle(): void {
    const { model, colours, chosen } = this.props()
    const { open, retired, failed, labelled, asked, waiting } = model.byStatus
    const surface = pixel(rgbOf(colour('--surface')))
    const ring = pixel(rgbOf(colour('--text')))
    this.ink = { accent: colour('--accent'), text: colour('--text') }
    const n = model.points.x.length
    const [small, middle, large, outline, halo] = [n > 30000 ? 1.3 : n > 5000 ? 1.8 : 2.6, 2.6, 3.6, 4.6, 6].map(r => r * this.ratio) as [number, number, number, number, number]
    const layers: Layer[] = [
      { points: open, radius: small, colours },
      { points: retired, radius: small, colours },
      { points: failed, radius: middle, colours },
      { points: labelled, radius: outline, colours: surface },
      { points: labelled, radius: large, colours },
      { points: waiting, radius: halo, colours: surface },
      { points: waiting, radius: large, colours },
      { points: asked, radius: halo, colours: ring },
      { points: asked, radius: large, colours },
    ]
    if (chosen.length > 0) {
      const points = Uint32Array.from(chosen)
      layers.push({ points, radius: small + 1.6 * this.ratio, colours: ring }, { points, radius: small, colours })
    }
    this.painter?.style(surface, model.points, layers)
    this.touch()
  }

  /** Has the next frame drawn: all of it, or what lies over the points alone. */
  touch(part: 'overlay' | 'all' = 'all'): void {
    if (this.stale === 'nothing') this.frame = requestAnimationFrame(() => this.paint())
    if (this.stale !== 'all') this.stale = part
  }

  private view(): Camera {
    return this.camera ??= fitted(this.props().model.points, this.size)
  }

  private look(camera: Camera): void {
    this.camera = camera
    this.touch()
  }

  private paint(): void {
    const begin = performance.now()
    const c = this.view()
    if (this.stale === 'all') this.painter?.paint({ ...c, scale: c.scale * this.ratio })
    this.stale = 'nothing'
    this.paintOver(c)
    this.place.dataset['drew'] = (performance.now() - begin).toFixed(1)
    this.place.dataset['frames'] = String(Number(this.place.dataset['frames'] ?? 0) + 1)
  }

  private paintOver(c: Camera): void {
    const g = this.overlay.getContext('2d')
    if (!g) return
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    g.clearRect(0, 0, this.size.width, this.size.height)
    const { accent, text } = this.ink
    const { model: { points: p }, marked } = this.props()
    if (marked >= 0) {
      g.strokeStyle = accent
      g.lineWidth = 3
      g.beginPath()
      g.arc(screenX(c, this.size, p.x[marked]!), screenY(c, this.size, p.y[marked]!), 9, 0, 7)
      g.stroke()
    }
    if (this.path.length > 1) {
      g.strokeStyle = accent
      g.lineWidth = 2
      g.setLineDash([5, 4])
      g.beginPath()
      for (const v of this.path) g.lineTo(screenX(c, this.size, v.x), screenY(c, this.size, v.y))
      g.closePath()
      g.stroke()
      g.setLineDash([])
    }
    if (document.activeElement === this.place && this.place.matches(':focus-visible')) {
      const [x, y] = [this.size.width / 2, this.size.height / 2]
      g.strokeStyle = text
      g.lineWidth = 1.5
      g.beginPath()
      for (const [a, b] of [[-12, -4], [4, 12]] as const) {
        g.moveTo(x + a, y); g.lineTo(x + b, y)
        g.moveTo(x, y + a); g.lineTo(x, y + b)
      }
      g.stroke()
    }
  }

  private at(e: { clientX: number; clientY: number }): { x: number; y: number } {
    const box = this.place.getBoundingClientRect()
    return { x: e.clientX - box.left, y: e.clientY - box.top }
  }

  private press(e: PointerEvent): void {
    if (e.button !== 0) return
    this.place.setPointerCapture(e.pointerId)
    this.down.set(e.pointerId, this.at(e))
    this.moved = 0
    if (this.down.size === 1 && (this.props().lasso || e.shiftKey)) {
      this.lassoing = true
      this.path = []
    } else {
      this.dropLasso()
    }
  }

  private move(e: PointerEvent): void {
    const before = this.down.get(e.pointerId)
    if (!before) return
    const at = this.at(e)
    this.down.set(e.pointerId, at)
    this.moved += Math.hypot(at.x - before.x, at.y - before.y)
    if (this.lassoing) {
      this.path.push({ x: dataX(this.view(), this.size, at.x), y: dataY(this.view(), this.size, at.y) })
      this.touch('overlay')
      return
    }
    const other = [...this.down].find(([id]) => id !== e.pointerId)?.[1]
    if (!other) {
      if (this.moved > clickSlack) this.look(panned(this.view(), at.x - before.x, at.y - before.y))
      return
    }
    const [apart, was] = [Math.hypot(at.x - other.x, at.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)]
    const shifted = panned(this.view(), (at.x - before.x) / 2, (at.y - before.y) / 2)
    this.look(zoomed(shifted, this.size, (at.x + other.x) / 2, (at.y + other.y) / 2, apart / Math.max(was, 1)))
  }

  private release(e: PointerEvent): void {
    if (!this.down.delete(e.pointerId)) return
    if (this.moved <= clickSlack) {
      this.dropLasso()
      const at = this.at(e)
      this.pickAt(at.x, at.y)
    } else if (this.lassoing) {
      const path = this.path
      this.dropLasso()
      this.props().choose(lassoed(this.props().model.points, path))
    }
  }

  private dropLasso(): void {
    this.lassoing = false
    this.path = []
    this.touch('overlay')
  }

  private pickAt(x: number, y: number): void {
    const c = this.view()
    const point = this.cells.nearest(dataX(c, this.size, x), dataY(c, this.size, y), reach / c.scale)
    if (point >= 0) this.props().pick(point)
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    const step = 60
    const shifts: Record<string, [number, number]> = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }
    const shift = shifts[e.key]
    const [x, y] = [this.size.width / 2, this.size.height / 2]
    if (shift) this.look(panned(this.view(), ...shift))
    else if (e.key === '+' || e.key === '=') this.look(zoomed(this.view(), this.size, x, y, 1.4))
    else if (e.key === '-') this.look(zoomed(this.view(), this.size, x, y, 1 / 1.4))
    else if (e.key === '0') this.look(fitted(this.props().model.points, this.size))
    else if (e.key === 'Enter') this.pickAt(x, y)
    else return
    e.preventDefault()
    e.stopPropagation()
  }
}

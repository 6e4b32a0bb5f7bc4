import type { Camera, Points } from './camera'
import type { Layer, Painter } from './mapdraw'

// Draws points on the graphics card. Places and colours lie there; a frame sends nothing but
// where the camera is.

// The camera's place comes in two parts, because one of 32 bits would make points jump about
// when they are enlarged.
const vertexText = `
attribute vec2 place;
attribute vec4 colour;
uniform vec2 middle;
uniform vec2 rest;
uniform vec2 scale;
uniform mediump float radius; // as precise as in the other shader, or the two do not fit
varying lowp vec4 tint;
void main() {
  gl_Position = vec4((place - middle - rest) * scale, 0.0, 1.0);
  gl_PointSize = 2.0 * radius + 2.0;
  tint = colour;
}`

const fragmentText = `
precision mediump float;
uniform mediump float radius;
varying lowp vec4 tint;
void main() {
  float far = distance(gl_PointCoord, vec2(0.5)) * (2.0 * radius + 2.0);
  gl_FragColor = vec4(tint.rgb, 1.0) * clamp(radius + 0.5 - far, 0.0, 1.0);
}`

const placeAt = 0, colourAt = 1

interface Batch { places: WebGLBuffer; colours: WebGLBuffer; count: number; radius: number }

const options: WebGLContextAttributes = { alpha: false, antialias: false, depth: false, stencil: false, failIfMajorPerformanceCaveat: true }

/** A painter that uses the graphics card; null without one, where drawing pixels is faster. */
export function glPainter(canvas: HTMLCanvasElement, repaint: () => void): Painter | null {
  // A canvas that was drawn on by one means cannot be drawn on by another, so another one tries.
  if (!hasCard(document.createElement('canvas'))) return null
  const gl = canvas.getContext('webgl', options)
  return gl && new GlPainter(canvas, gl, repaint)
}

/** Whether there is a graphics card, and not software that plays one. */
function hasCard(trial: HTMLCanvasElement): boolean {
  const gl = trial.getContext('webgl', options)
  if (!gl) return false
  const names = gl.getExtension('WEBGL_debug_renderer_info')
  const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER))
  gl.getExtension('WEBGL_lose_context')?.loseContext() // browsers allow few at a time
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)
}

class GlPainter implements Painter {
  readonly name = 'webgl'
  private batches: Batch[] = []
  private styled: { background: number; points: Points; layers: Layer[] } | null = null
  private program: WebGLProgram | null = null
  private at: Partial<Record<'middle' | 'rest' | 'scale' | 'radius', WebGLUniformLocation | null>> = {}
  private readonly lost = (e: Event) => e.preventDefault() // or the browser never gives it back
  private readonly restored = () => this.recover()

  constructor(private readonly canvas: HTMLCanvasElement, private readonly gl: WebGLRenderingContext, private readonly repaint: () => void) {
    canvas.addEventListener('webglcontextlost', this.lost)
    canvas.addEventListener('webglcontextrestored', this.restored)
    this.prepare()
  }

  private prepare(): void {
    const { gl } = this
    const program = gl.createProgram()
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertexText], [gl.FRAGMENT_SHADER, fragmentText]] as const) {
      const shader = gl.createShader(kind)
      if (!shader) return // the card is lost; recover prepares it again
      gl.shaderSource(shader, text)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
    }
    gl.bindAttribLocation(program, placeAt, 'place')
    gl.bindAttribLocation(program, colourAt, 'colour')
    gl.linkProgram(program)
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(`the map cannot be drawn: ${gl.getProgramInfoLog(program) ?? ''}`)
    gl.useProgram(program)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    gl.enableVertexAttribArray(placeAt)
    gl.enableVertexAttribArray(colourAt)
    this.program = program
    const find = (name: string) => gl.getUniformLocation(program, name)
    this.at = { middle: find('middle'), rest: find('rest'), scale: find('scale'), radius: find('radius') }
  }

  private recover(): void {
    this.batches = []
    this.prepare()
    if (this.styled) this.style(this.styled.background, this.styled.points, this.styled.layers)
    this.repaint()
  }

  style(background: number, points: Points, layers: Layer[]): void {
    const { gl } = this
    this.styled = { background, points, layers }
    this.drop()
    gl.clearColor((background & 255) / 255, (background >> 8 & 255) / 255, (background >> 16 & 255) / 255, 1)
    this.batches = layers.filter(l => l.points.length > 0).map(l => {
      const places = new Float32Array(2 * l.points.length)
      l.points.forEach((p, k) => { places[2 * k] = points.x[p]!; places[2 * k + 1] = points.y[p]! })
      const colours = Int32Array.from(l.points, p => typeof l.colours === 'number' ? l.colours : l.colours[p]!)
      return { places: this.upload(places), colours: this.upload(colours), count: l.points.length, radius: l.radius }
    })
  }

  private upload(data: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>): WebGLBuffer {
    const { gl } = this
    const buffer = gl.createBuffer()
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW)
    return buffer
  }

  paint(camera: Camera): void {
    const { gl, at } = this
    const { width, height } = this.canvas
    const [x, y] = [Math.fround(camera.x), Math.fround(camera.y)]
    gl.viewport(0, 0, width, height)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.uniform2f(at.middle ?? null, x, y)
    gl.uniform2f(at.rest ?? null, camera.x - x, camera.y - y)
    gl.uniform2f(at.scale ?? null, 2 * camera.scale / width, 2 * camera.scale / height)
    for (const b of this.batches) {
      gl.uniform1f(at.radius ?? null, b.radius)
      gl.bindBuffer(gl.ARRAY_BUFFER, b.places)
      gl.vertexAttribPointer(placeAt, 2, gl.FLOAT, false, 0, 0)
      gl.bindBuffer(gl.ARRAY_BUFFER, b.colours)
      gl.vertexAttribPointer(colourAt, 4, gl.UNSIGNED_BYTE, true, 0, 0)
      gl.drawArrays(gl.POINTS, 0, b.count)
    }
  }

  private drop(): void {
    for (const b of this.batches) {
      this.gl.deleteBuffer(b.places)
      this.gl.deleteBuffer(b.colours)
    }
    this.batches = []
  }

  end(): void {
    this.canvas.removeEventListener('webglcontextlost', this.lost)
    this.canvas.removeEventListener('webglcontextrestored', this.restored)
    this.drop()
    this.gl.deleteProgram(this.program)
  }
}

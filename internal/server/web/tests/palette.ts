import { crc32, deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'

/** Writes a picture again with at most 256 colours, which takes a third of the space. A page decodes it. */
export async function withPalette(page: Page, png: Buffer): Promise<Buffer> {
  const { width, height, rgba } = await page.evaluate(async source => {
    const image = new Image()
    image.src = source
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    const g = canvas.getContext('2d')!
    g.drawImage(image, 0, 0)
    const data = g.getImageData(0, 0, image.width, image.height).data
    let text = ''
    for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768))
    return { width: image.width, height: image.height, rgba: btoa(text) }
  }, `data:image/png;base64,${png.toString('base64')}`)
  const pixels = Buffer.from(rgba, 'base64')
  const counts = new Map<number, number>()
  const colourAt = (i: number) => pixels.readUIntBE(4 * i, 3)
  for (let i = 0; i < width * height; i++) counts.set(colourAt(i), (counts.get(colourAt(i)) ?? 0) + 1)
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([c]) => c)
  const index = new Map([...counts.keys()].map(c => [c, nearest(palette, c)]))
  const rows = Buffer.alloc((width + 1) * height) // each row starts with its filter, 0 for none
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(colourAt(y * width + x))!
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8) // 8 bits, a palette
  const colours = Buffer.from(palette.flatMap(c => [c >> 16, (c >> 8) & 255, c & 255]))
  return Buffer.concat([png.subarray(0, 8), chunk('IHDR', head), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))])
}

/** The place of the most similar colour. */
function nearest(palette: number[], c: number): number {
  const far = (p: number) => ((p >> 16) - (c >> 16)) ** 2 + (((p >> 8) & 255) - ((c >> 8) & 255)) ** 2 + ((p & 255) - (c & 255)) ** 2
  let best = 0
  for (let i = 1; i < palette.length; i++) if (far(palette[i]!) < far(palette[best]!)) best = i
  return best
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data]), size = Buffer.alloc(4), sum = Buffer.alloc(4)
  size.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([size, body, sum])
}

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { withPalette } from './palette'
import { Service } from './service'

// Makes the pictures of docs/dashboard.md: a campaign about the prices of diamonds, as it is
// after a few batches, in the real program. The table lies in the folder "shared" beside the checkout.

const checkout = join(import.meta.dirname, '..', '..', '..', '..')
const docs = process.env['PICTURES'] ?? join(checkout, 'docs')

interface Diamond { id: string; cells: string[]; price: number }

/** Every so many rows of the table, with an id each. */
function diamonds(rows: number): { header: string[]; list: Diamond[] } {
  const [head, ...lines] = gunzipSync(readFileSync(join(checkout, '..', 'shared', 'data', 'diamonds.csv.gz'))).toString().replaceAll('"', '').trim().split('\n')
  const names = head!.split(','), price = names.indexOf('price')
  const step = Math.floor(lines.length / rows)
  const list = Array.from({ length: rows }, (_, i) => {
    const cells = lines[i * step]!.split(',')
    return { id: `d${String(i * step).padStart(5, '0')}`, price: Number(cells[price]), cells: cells.filter((_, c) => c !== price) }
  })
  return { header: names.filter((_, c) => c !== price), list }
}

const { header, list } = diamonds(1500)
const prices = new Map(list.map(d => [d.id, d.price]))
const target = 'price ($)'

/** The table as a program writes it, or as a spreadsheet does in Germany. */
function table(labelled: (i: number) => boolean, comma = false): string {
  const units: Record<string, string> = { x: 'x (mm)', y: 'y (mm)', z: 'z (mm)', depth: 'depth (%)', table: 'table (%)' }
  const lines = [['id', ...header.map(h => units[h] ?? h), target], ...list.map((d, i) => [d.id, ...d.cells, labelled(i) ? String(d.price) : ''])]
  return lines.map(l => comma ? l.map(c => c.replace(/^(\d+)\.(\d+)$/, '$1,$2')).join(';') : l.join(',')).join('\n') + '\n'
}

const random = (i: number) => (i * 7919) % 1500 < 60 // the first labels were drawn at random

/** A campaign in which three people label, one of them slips, and everything that can be computed is. */
async function prepared(service: Service): Promise<void> {
  const query = new URLSearchParams({ name: 'diamonds', target, id: 'id', random_start: 'true' })
  await service.call('POST', `/v1/campaigns?${query.toString()}`, table(random))
  const of = '/v1/campaigns/diamonds'
  const { settings } = await service.call<{ settings: object }>('GET', of)
  await service.call('PUT', `${of}/settings`, { ...settings, batch: 24, audit: .25 })
  const people = [service.person('Ada', 'labeller'), service.person('Ben', 'labeller'), service.token]
  for (let ask = 0; ask < 5; ask++) {
    const token = people[ask % people.length]!
    const rows = await service.ask('diamonds', 24, token)
    await service.call('POST', `${of}/tells`, { rows: rows.map((r, i) => ({ id: r.id, values: { [target]: prices.get(r.id)! * (ask === 4 && i === 0 ? 100 : 1) } })) }, token)
    console.log(`batch ${ask + 1} of 5`)
  }
  await service.ask('diamonds', 8)
  await service.job('diamonds', 'gains', {})
  await service.job('diamonds', 'audits', {})
  await service.job('diamonds', 'maps', {})
}

/** A small benchmark on the same table. */
function benchmarked(binary: string, folder: string): void {
  writeFileSync(join(folder, 'stones.csv'), table(() => true))
  execFileSync(binary, ['bench', 'run', '--quiet', '--table', 'stones.csv', '--target', target, '--id', 'id', '--specs', 'random; default; maxdist-tp:grad>sketch(512)',
    '--start', '64', '--valid', '128', '--batch', '64', '--rounds', '5', '--splits', '0-1', '--hidden', '64,64', '--epochs', '64', '--results', 'results.db'], { cwd: folder, stdio: 'inherit' })
}

const settled = async (page: Page) => {
  await page.waitForLoadState('networkidle')
  await page.locator('.loading').waitFor({ state: 'detached' })
}

/** The views, and what is done in each before its picture is taken. */
const views: { name: string; path: string; act?: (page: Page) => Promise<void> }[] = [
  { name: 'overview', path: '/c/diamonds/overview' },
  {
    name: 'label', path: '/c/diamonds/label', act: async page => {
      while (!await page.locator('.why').isVisible()) await page.getByRole('button', { name: 'Skip' }).click() // rows that were drawn at random say no reason
      await page.getByRole('textbox', { name: 'price' }).fill('12,500')
    },
  },
  { name: 'map', path: '/c/diamonds/map', act: async page => { await page.locator('.cloud[data-frames]').waitFor() } },
  { name: 'rows', path: '/c/diamonds/rows', act: async page => { await page.getByRole('gridcell').first().waitFor() } },
  { name: 'history', path: '/c/diamonds/history' },
  { name: 'check', path: '/c/diamonds/check' },
  {
    name: 'new', path: '/new', act: async page => {
      await page.locator('input[type=file]').setInputFiles({ name: 'diamonds.csv', mimeType: 'text/csv', buffer: Buffer.from(table(random, true)) })
      await page.locator('form.create').waitFor()
      await settled(page)
    },
  },
  { name: 'benchmarks', path: '/benchmarks' },
]

const looks = [
  { look: 'light', width: 1280, height: 860, dark: false },
  { look: 'dark', width: 1280, height: 860, dark: true },
  { look: '390', width: 390, height: 844, dark: false },
]

async function pictures(service: Service, browser: Browser): Promise<void> {
  for (const { look, width, height, dark } of looks) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
    const page = await context.newPage()
    const blank = await context.newPage() // the page of the service may not load pictures from elsewhere
    await page.goto(`${service.address}/#token=${service.token}`)
    await page.locator('nav.side').waitFor()
    for (const { name, path, act } of views) {
      await page.goto(service.address + path)
      await settled(page)
      await act?.(page)
      const picture = await page.screenshot({ fullPage: process.env['WHOLE'] !== undefined })
      writeFileSync(join(docs, `dashboard-${name}-${look}.png`), await withPalette(blank, picture))
    }
    await context.close()
  }
}

mkdirSync(docs, { recursive: true })
const service = await Service.start(['--results', 'results.db'], benchmarked)
try {
  await prepared(service)
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-swiftshader'] })
  try {
    await pictures(service, browser)
  } finally {
    await browser.close()
  }
} finally {
  await service.stop()
}

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Service, measured, quick, table } from './service'

let service: Service
let browser: Browser
let faults: string[] = []
const contexts: BrowserContext[] = []

beforeAll(async () => {
  service = await Service.start()
  browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-swiftshader'] })
})
afterAll(async () => {
  await browser.close()
  await service.stop()
})
afterEach(async () => {
  for (const c of contexts.splice(0)) await c.close()
  const found = faults
  faults = []
  expect(found).toEqual([])
})

/** Opens a page as a person would; errors in its console and requests to other hosts make the test fail. */
async function open(options: { token?: string; width?: number; height?: number; dark?: boolean } = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: options.width ?? 1280, height: options.height ?? 860 }, colorScheme: options.dark ? 'dark' : 'light', reducedMotion: 'reduce' })
  contexts.push(context)
  const page = await context.newPage()
  page.setDefaultTimeout(45_000)
  page.on('pageerror', e => faults.push(`error: ${e.message}`))
  page.on('dialog', d => { faults.push(`dialog: ${d.message()}`); void d.dismiss() })
  page.on('console', m => {
    if (m.type() === 'error') faults.push(`console: ${m.text()} ${m.location().url}`)
  })
  page.on('request', r => { if (!r.url().startsWith(service.address) && !r.url().startsWith('data:')) faults.push(`request to ${r.url()}`) })
  await page.goto(`${service.address}/#token=${options.token ?? service.token}`)
  await page.locator('nav.side').waitFor()
  return page
}

const at = (view: string, campaign = 'solubility') => `${service.address}/c/${campaign}/${view}`

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe-core objects to, in words. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  return await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (o: object) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }
    const found = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    return found.violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.html.slice(0, 160)} ${n.failureSummary.slice(0, 240)}`))
  })
}

const settled = async (page: Page) => {
  await page.waitForLoadState('networkidle')
  await page.locator('.loading').waitFor({ state: 'detached' })
}

describe('a campaign, from the file to the curve', () => {
  test('the link signs in, and its token leaves the address', async () => {
    const page = await open()
    expect(page.url()).toBe(`${service.address}/`)
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
    console.log(`first paint after ${paint?.toFixed(0) ?? '?'} ms`)
    await page.reload()
    await page.getByRole('heading', { name: 'No campaigns yet' }).waitFor()
    expect(await violations(page)).toEqual([])
  })

  test('a dropped CSV becomes a campaign', async () => {
    const page = await open()
    await page.getByRole('link', { name: 'Start with a table' }).click()
    const data = await page.evaluateHandle(text => {
      const d = new DataTransfer()
      d.items.add(new File([text], 'solubility.csv', { type: 'text/csv' }))
      return d
    }, table(400))
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: data })
    await page.getByText('400 rows, 5 columns').waitFor()
    expect(await page.locator('.preview').getByText('<b>grade</b>').count()).toBe(1)
    for (const box of await page.locator('.preview input[aria-label^=Predict]:checked').all()) await box.uncheck()
    await page.getByLabel('Predict y (mg/mL)').check()
    await page.getByLabel('Column that names the rows').selectOption('name')
    await page.getByLabel('Rows per batch').fill('10')
    await page.getByLabel('Use phase').uncheck()
    await page.getByLabel('Lease').selectOption('3 days')
    await page.getByLabel('The first labels were drawn at random').check()
    await page.getByText('400 rows, 5 columns').waitFor()
    await settled(page)
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Start the campaign' }).click()
    await page.getByRole('heading', { name: 'solubility', exact: true }).waitFor()
    expect(page.url()).toBe(at('overview'))
    await page.getByText('Too few labels to tell the error').waitFor()
    const made = await service.call<{ labelled: number; columns: { name: string }[]; settings: { lease: string; random_start: boolean; batch: number } }>('GET', '/v1/campaigns/solubility')
    expect([made.labelled, made.columns.map(c => c.name), made.settings.lease, made.settings.random_start, made.settings.batch])
      .toEqual([40, ['temperature (K)', '<b>grade</b>'], '72h0m0s', true, 10])
  })

  test('ten rows are labelled with the keyboard, and the curve moves', async () => {
    await service.call('PUT', '/v1/campaigns/solubility/settings', quick)
    const first = await service.ask('solubility', 10)
    await service.call('POST', '/v1/campaigns/solubility/tells', { rows: first.map(r => ({ id: r.id, values: { 'y (mg/mL)': measured(Number(r.id.slice(1))) } })) })
    const page = await open()
    await page.goto(at('overview'))
    const plot = page.locator('.curve .plot')
    const before = await plot.getAttribute('aria-label')
    await page.keyboard.press('2')
    await page.getByLabel('How many?').fill('10')
    await page.keyboard.press('Enter')
    const seen: string[] = []
    for (let i = 0; i < 10; i++) {
      const field = page.getByRole('textbox', { name: 'y' })
      await field.waitFor()
      await page.waitForFunction(() => document.activeElement?.id === 'target-0')
      const task = await page.locator('.task').innerText()
      expect(task).not.toMatch(/predicted\s/)
      const id = await page.locator('.task .id').innerText()
      seen.push(id)
      await page.keyboard.type(String(measured(Number(id.slice(1)))))
      await page.keyboard.press('Enter')
      await page.locator('.deeds strong.id', { hasText: id }).waitFor()
      expect(await page.locator('.deeds li').first().innerText()).toMatch(/predicted -?\d/)
    }
    expect(new Set(seen).size).toBe(10)
    await page.getByRole('heading', { name: 'Your queue is done' }).waitFor()
    await page.goto(at('overview'))
    const after = await plot.getAttribute('aria-label')
    expect(before).toMatch(/with 50 labels/)
    expect(after).toMatch(/with 60 labels/)
    expect(after).not.toBe(before?.replace('50 labels', '60 labels'))
  })

  test('a label can be undone, and a row can fail, be skipped and be given back', async () => {
    const page = await open()
    await page.goto(at('label'))
    await page.getByLabel('How many?').fill('4')
    await page.keyboard.press('Enter')
    const id = async () => await page.locator('.task .id').innerText()
    await page.locator('.task').waitFor()
    const shown = [await id(), ...await page.evaluate(skippedAtOnce, 2)]
    expect(new Set(shown).size).toBe(3)
    const told = shown[2]!
    await page.keyboard.type('not a number')
    await page.keyboard.press('Enter')
    await page.getByText('is not a number').waitFor()
    await page.getByRole('textbox', { name: 'y' }).fill('1,5')
    await page.keyboard.press('Enter')
    await page.locator('.deeds strong.id', { hasText: told }).waitFor()
    await page.keyboard.press('Alt+u')
    await page.locator('.task .id', { hasText: told }).waitFor()
    expect(await page.locator('.deeds').count()).toBe(0)
    await page.keyboard.press('Alt+f')
    await page.getByLabel('What happened?').fill('did not dissolve')
    await page.keyboard.press('Enter')
    await page.getByText('Failed: did not dissolve').waitFor()
    for (let left = 3; left > 0; left--) {
      const now = await id()
      await page.keyboard.press('Alt+b')
      if (left > 1) await page.locator('.task .id', { hasNotText: now }).waitFor()
    }
    await page.getByRole('heading', { name: 'Your queue is done' }).waitFor()
    const counts = await service.call<{ asked: number; failed: number; labelled: number }>('GET', '/v1/campaigns/solubility')
    expect([counts.asked, counts.failed, counts.labelled]).toEqual([0, 1, 60])
  })

  test('a slip waits for a second look, and is corrected or confirmed with one key, in a list and in the dialog of its row', async () => {
    const page = await open()
    await page.goto(at('label'))
    await page.getByLabel('How many?').fill('1')
    await page.keyboard.press('Enter')
    const id = await page.locator('.task .id').innerText()
    await page.waitForFunction(() => document.activeElement?.id === 'target-0')
    await page.keyboard.type('150')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your queue is done' }).waitFor()
    await page.locator('.deeds .doubtful').getByText(/150.*expected/).waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Alt+c')
    await page.getByRole('dialog').getByRole('textbox', { name: 'y' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.type('1.5') // replaces what is there
    await page.keyboard.press('Enter')
    await page.locator('.deeds li').first().getByText('corrected').waitFor()
    const row = Number(id.slice(1))
    const known = async () => await service.call<{ status: string; labels: Record<string, number | null> }>('GET', `/v1/campaigns/solubility/rows/${row}`)
    const label = async () => { const { status, labels } = await known(); return [status, labels['y (mg/mL)']] }
    expect(await label()).toEqual(['labelled', 1.5])
    await page.keyboard.press('Alt+u')
    await page.locator('.deeds .tag').waitFor({ state: 'detached' })
    expect(await label()).toEqual(['waiting', null])
    await page.keyboard.press('Alt+r')
    await page.locator('.deeds li').first().getByText('confirmed').waitFor()
    expect(await label()).toEqual(['labelled', 150])
    await page.keyboard.press('Alt+u') // the confirmation and the label
    await page.locator('.task .id', { hasText: id }).waitFor()
    await page.waitForFunction(() => document.activeElement?.id === 'target-0')
    await page.keyboard.type('150')
    await page.keyboard.press('Enter')
    await page.locator('.deeds .doubtful').waitFor()
    await page.goto(at('overview'))
    await page.locator('.reminder').getByText('waits for a second look').waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Take a second look' }).click()
    await page.getByRole('button', { name: id, exact: true }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: `${id} is right` }).click()
    await page.getByText('No label waits.').waitFor()
    expect(await label()).toEqual(['labelled', 150])
    await page.goto(at('rows'))
    await page.getByLabel('Search by id').fill(id)
    await page.getByText('1 of 400 rows').waitFor()
    await page.getByRole('gridcell', { name: id }).click()
    await page.getByRole('button', { name: 'Correct the label' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'y' }).fill('2.5')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('2.5').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('gridcell', { name: '2.5' }).waitFor()
    await page.goto(at('history'))
    for (let i = 0; i < 3; i++) { // the correction, the confirmation and the label
      const undone = await page.locator('.entry.undone').count()
      await page.locator('.entry:not(.undone)', { hasText: id }).first().getByRole('button', { name: /^Undo/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Undo it' }).click()
      await page.waitForFunction(n => document.querySelectorAll('.entry.undone').length > n, undone)
    }
    await service.call('POST', '/v1/campaigns/solubility/returns', { ids: [id] })
  })

  test('the labels are looked through for wrong ones', async () => {
    const page = await open()
    await page.goto(at('check'))
    await page.getByRole('button', { name: /^Look through \d+ labels/ }).click()
    await page.getByText(/labels? of \d+ looks? wrong/i).waitFor({ timeout: 150_000 })
    expect(await violations(page)).toEqual([])
    await page.locator('.checks tbody button').first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Correct the label' }).waitFor()
  })

  test('the history groups single labels and names what changed in the settings', async () => {
    const page = await open()
    await page.goto(at('overview'))
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('dialog').getByLabel('Rows per batch').fill('12')
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.goto(at('history'))
    await page.getByText('batch size 10 → 12').waitFor()
    const run = page.locator('.entry.run', { hasText: 'labelled 10 rows' })
    expect(await run.locator('.entry').first().isVisible()).toBe(false)
    await run.locator('summary').click()
    expect(await run.locator('.entry').count()).toBe(10)
    expect(await violations(page)).toEqual([])
  })

  test('the history undoes an event', async () => {
    const page = await open()
    await page.goto(at('history'))
    const failed = page.locator('.entry', { hasText: 'could not be labelled' })
    await failed.getByRole('button').click()
    await page.getByLabel('Why?').fill('it did, after all')
    await page.keyboard.press('Enter')
    await page.getByText('it did, after all').waitFor()
    await failed.getByText('undone').waitFor()
    expect((await service.call<{ failed: number }>('GET', '/v1/campaigns/solubility')).failed).toBe(0)
    // The row is out again, in the queue of the same person.
    const queue = await service.call<{ rows: { id: string }[] }>('GET', '/v1/campaigns/solubility/queue')
    expect(queue.rows).toHaveLength(1)
    await service.call('POST', '/v1/campaigns/solubility/returns', { ids: queue.rows.map(r => r.id) })
  })
})

/** Skips rows, the later ones as soon as the page shows them and before the browser paints them; returns the rows that came next. */
async function skippedAtOnce(times: number): Promise<string[]> {
  const rows: string[] = []
  const id = () => document.querySelector('.task .id')?.textContent ?? ''
  for (let i = 0; i < times; i++) {
    const before = id()
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Alt+S did not skip ${before}`)), 5000)
      const watcher = new MutationObserver(() => {
        if (id() === before) return
        watcher.disconnect()
        clearTimeout(timer)
        if (document.activeElement?.id === 'target-0') resolve()
        else reject(new Error(`the field of ${id()} lacks the focus`))
      })
      watcher.observe(document.body, { childList: true, subtree: true, characterData: true })
      document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key: 's', code: 'KeyS', altKey: true, bubbles: true, cancelable: true }))
    })
    rows.push(id())
  }
  return rows
}

test('two people at once never get the same row', async () => {
  const [one, two] = await Promise.all([open(), open({ token: service.person('bo', 'labeller') })])
  const label = async (page: Page): Promise<string[]> => {
    await page.goto(at('label'))
    await page.getByLabel('How many?').fill('5')
    await page.keyboard.press('Enter')
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      await page.waitForFunction(() => document.activeElement?.id === 'target-0')
      const id = await page.locator('.task .id').innerText()
      ids.push(id)
      await page.keyboard.type(String(measured(Number(id.slice(1)))))
      await page.keyboard.press('Enter')
      await page.locator('.deeds strong.id', { hasText: id }).waitFor()
    }
    return ids
  }
  const ids = (await Promise.all([label(one), label(two)])).flat()
  expect(new Set(ids).size).toBe(10)
  await one.goto(at('overview'))
  await one.locator('.card', { hasText: 'Who labelled what' }).getByText('bo', { exact: false }).first().waitFor()
})

describe('a hundred thousand rows', () => {
  beforeAll(async () => {
    await service.call('POST', '/v1/campaigns?name=large&target=y%20(mg%2FmL)&id=name', table(100_000, hostileEnd(100_000)))
  })

  test('are scrolled, searched, filtered, sorted and opened', async () => { await browseRows('large', 100_000) })

  test('are a map that moves smoothly, with lasso and click', async () => {
    const page = await open()
    await page.route('**/v1/campaigns/large/map', async route => await route.fulfill({ json: { map: cloud(100_000) } }))
    await page.goto(at('map', 'large'))
    const box = page.locator('.cloud')
    await box.waitFor()
    const { x, y, width, height } = (await box.boundingBox())!
    expect(await box.getAttribute('data-painter')).toBe('pixels') // there is no graphics card
    await showFrames(page)
    await page.getByLabel('Colour by').selectOption('prediction')
    await page.getByText('predicted y (mg/mL)').waitFor()
    await page.keyboard.press('Tab')
    await box.focus()
    await page.keyboard.press('0')
    await page.getByRole('button', { name: 'Lasso' }).click()
    for (const [i, [a, b]] of [[.3, .3], [.7, .3], [.7, .7], [.3, .7]].entries()) {
      await page.mouse.move(x + width * a!, y + height * b!)
      if (i === 0) await page.mouse.down()
    }
    await page.mouse.up()
    const caught = Number((await page.locator('.caught h2').innerText()).replace(/\D/g, ''))
    expect(caught).toBeGreaterThan(1000)
    expect(caught).toBeLessThan(100_000)
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Move' }).click()
    await box.click()
    await page.getByRole('dialog').getByText('temperature').waitFor()
  })
})

test.runIf(process.env['NEXTBATCH_SOAK'] === '1')('a million rows are scrolled, searched, filtered, sorted and opened', { timeout: 560_000 }, async () => {
  await service.call('POST', '/v1/campaigns?name=million&target=y%20(mg%2FmL)&id=name', table(1_000_000, hostileEnd(1_000_000)))
  await browseRows('million', 1_000_000)
})

/** Ids whose last one would do harm if it were taken for HTML. */
const hostileEnd = (rows: number) => (i: number) => i === rows - 1 ? '<img src=x onerror=alert(1)>' : `s${String(i).padStart(6, '0')}`

/** Goes through a table of many rows as a person would, and prints how long the steps take. */
async function browseRows(campaign: string, rows: number) {
  const all = rows.toLocaleString('en')
  const page = await open()
  const times: string[] = []
  const timed = async (step: string, act: () => Promise<unknown>) => {
    const begin = performance.now()
    await act()
    times.push(`${step} ${Math.round(performance.now() - begin)} ms`)
  }
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true }).first()
  const grid = page.getByRole('grid')
  await timed('first rows', async () => {
    await page.goto(at('rows', campaign))
    await page.getByText(`All ${all} rows`).waitFor()
    await cell('s000000').waitFor()
  })
  await grid.focus()
  await timed('last row', async () => {
    await page.keyboard.press('End')
    await cell('<img src=x onerror=alert(1)>').waitFor()
  })
  expect(await page.locator('.grid-row').count()).toBeLessThan(100)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('no label').waitFor()
  expect(await page.locator('dialog img').count()).toBe(0)
  await page.keyboard.press('Escape')
  await grid.focus()
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowUp')
  await page.locator(`#row-${rows - 4}.active`).waitFor()
  await timed('the middle', async () => {
    await grid.evaluate(g => { g.scrollTop = (g.scrollHeight - g.clientHeight) / 2 })
    await cell(`s${String(rows / 2).padStart(6, '0')}`).waitFor()
  })
  await grid.evaluate(g => { g.scrollTop = g.scrollHeight })
  await cell('<img src=x onerror=alert(1)>').waitFor()
  const last = (await cell('<img src=x onerror=alert(1)>').boundingBox())!, box = (await grid.boundingBox())!
  expect(last.y + last.height).toBeLessThanOrEqual(box.y + box.height + 1)
  await timed('search', async () => {
    await page.getByLabel('Search by id').fill('0123')
    await cell('s000123').waitFor()
  })
  await page.getByLabel('Search by id').fill('')
  await page.getByLabel('Column').selectOption('temperature (K)')
  await page.getByLabel('Value').fill('376')
  const hot = Math.floor((rows - 97) / 97) + 1 // every 97th row is as warm
  await timed('filter', async () => {
    await page.keyboard.press('Enter')
    await page.getByText(`${hot.toLocaleString('en')} of ${all} rows`, { exact: true }).waitFor()
  })
  await page.getByRole('columnheader', { name: 'name' }).getByRole('button').click()
  await timed('sort', async () => {
    await page.getByRole('columnheader', { name: 'name' }).getByRole('button').click()
    await page.locator('[aria-sort=descending]').waitFor()
    await cell(`s${String(97 * hot - 1).padStart(6, '0')}`).waitFor()
  })
  await page.locator('.menu summary').click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()])
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n')
  expect(lines.length).toBe(hot + 1)
  expect(lines[0]).toContain('temperature (K)')
  console.log(`${all} rows: ${times.join(', ')}`)
}

/** Prints how long frames take while the map is moved, zoomed and a lasso is drawn. */
async function showFrames(page: Page) {
  const box = page.locator('.cloud')
  const painter = await box.getAttribute('data-painter')
  const { x, y, width, height } = (await box.boundingBox())!
  for (const gesture of ['panning', 'zooming', 'lasso']) {
    if (gesture === 'lasso') await page.getByRole('button', { name: 'Lasso' }).click()
    await page.mouse.move(x + width / 2, y + height / 2)
    if (gesture !== 'zooming') await page.mouse.down()
    const { frames, drawing } = await page.evaluate(gestured, gesture)
    if (gesture !== 'zooming') await page.mouse.up()
    console.log(`100,000 points (${painter}), ${gesture}: a frame every ${quantiles(frames)}, of which drawing takes ${quantiles(drawing)}`)
  }
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Move' }).click()
}

function quantiles(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * sorted.length)]!.toFixed(1)
  return `${at(.5)} ms (median), ${at(.95)} ms (95 %)`
}

/** Makes a gesture, a step for each frame, within the page, and returns the times between frames and those of drawing. */
async function gestured(gesture: string): Promise<{ frames: number[]; drawing: number[] }> {
  const box = document.querySelector<HTMLElement>('.cloud')!
  const { left, top, width, height } = box.getBoundingClientRect()
  const next = () => new Promise<number>(resolve => { requestAnimationFrame(resolve) })
  const frames: number[] = [], drawing: number[] = []
  let last = await next()
  for (let i = 0; i < 150; i++) {
    const at = { clientX: left + width * (.5 + .2 * Math.cos(i / 15)), clientY: top + height * (.5 + .2 * Math.sin(i / 15)), bubbles: true, cancelable: true }
    if (gesture === 'zooming') box.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: Math.floor(i / 30) % 2 ? 20 : -20 }))
    else box.dispatchEvent(new PointerEvent('pointermove', { ...at, pointerId: 1, buttons: 1 })) // of the mouse, which is down
    const now = await next()
    frames.push(now - last)
    drawing.push(Number(box.dataset['drew']))
    last = now
  }
  return { frames, drawing }
}

/** A map as the service would send it, in the shape of a disc. */
function cloud(n: number) {
  const rows = Array.from({ length: n }, (_, i) => i)
  const angle = (i: number) => i * 2.399963, far = (i: number) => Math.sqrt(i / n)
  return {
    labels: 40, rows, x: rows.map(i => far(i) * Math.cos(angle(i))), y: rows.map(i => far(i) * Math.sin(angle(i))), status: rows.map(i => i % 500 === 0 ? 2 : i % 701 === 0 ? 1 : 0),
    prediction: rows.map(i => [far(i)]), interval: rows.map(() => [1]), label: rows.map(i => i % 500 === 0 ? [i] : null), distance: rows.map(far), sampled: false, of: n, explained: [.6, .2],
  }
}

describe('the map on a graphics card', () => {
  /** Opens a map; with software that plays the card where there is none. */
  const mapped = async (points: number, card: boolean) => {
    const page = await open()
    if (card) {
      await page.addInitScript(() => {
        WebGLRenderingContext.prototype.getParameter = () => 'a card' // the page asks for the name alone
      })
    }
    await page.route('**/v1/campaigns/solubility/map', async route => await route.fulfill({ json: { map: cloud(points) } }))
    await page.goto(at('map'))
    await page.locator(`.cloud[data-painter=${card ? 'webgl' : 'pixels'}][data-frames]`).waitFor()
    return page
  }
  /** The mean colours of squares of 8 pixels. */
  const squares = async (page: Page) => {
    const picture = `data:image/png;base64,${(await page.locator('.cloud').screenshot()).toString('base64')}`
    return await page.evaluate(async source => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = Math.floor(image.width / 8)
      canvas.height = Math.floor(image.height / 8)
      const g = canvas.getContext('2d')!
      g.imageSmoothingQuality = 'high'
      g.drawImage(image, 0, 0, canvas.width, canvas.height)
      return [...g.getImageData(0, 0, canvas.width, canvas.height).data]
    }, picture)
  }
  const apart = (a: number[], b: number[]) => a.reduce((sum, v, i) => sum + Math.abs(v - b[i]!), 0) / a.length

  test('looks as it does without one, also after the graphics card was lost', async () => {
    const plain = await squares(await mapped(2000, false))
    const page = await mapped(2000, true)
    const drawn = await squares(page)
    expect(drawn.length).toBe(plain.length)
    expect(apart(plain, plain.map(() => plain[0]!))).toBeGreaterThan(5) // it is not empty
    expect(apart(drawn, plain)).toBeLessThan(2)
    await page.evaluate(async () => {
      const card = document.querySelector<HTMLCanvasElement>('.cloud canvas')!.getContext('webgl')!.getExtension('WEBGL_lose_context')!
      const restored = new Promise(resolve => { document.querySelector('.cloud canvas')!.addEventListener('webglcontextrestored', resolve) })
      card.loseContext()
      await new Promise(resolve => { setTimeout(resolve, 50) })
      card.restoreContext()
      await restored
      await new Promise(resolve => { requestAnimationFrame(() => requestAnimationFrame(resolve)) })
    })
    expect(apart(await squares(page), drawn)).toBeLessThan(.1)
  })
})

test('the map of a real campaign is drawn', async () => {
  const page = await open()
  await page.goto(at('map'))
  await page.getByRole('button', { name: 'Draw the map' }).click()
  await page.locator('.cloud').waitFor()
  await page.getByText(/which hold .* of what sets them apart/).waitFor()
  await page.getByLabel('Colour by').selectOption('distance')
  await page.getByText('distance to the nearest known row').waitFor()
})

test('a job that cannot be cancelled says why', async () => {
  await service.call('POST', '/v1/campaigns?name=stuck&target=y', 'a,y\n1,\n2,\n3,\n')
  const page = await open()
  const { person } = await service.call<{ person: string }>('GET', '/v1/session')
  const job = { id: 'j1', campaign: 'stuck', kind: 'map', person, state: 'running', begun: '2026-03-02T12:00:00Z', progress: { stage: 'training', done: 1, of: 9 } }
  await page.route('**/v1/campaigns/stuck/jobs', async route => await route.fulfill({ json: [job] }))
  await page.route('**/v1/campaigns/stuck/jobs/j1/events', async route => await route.fulfill({ contentType: 'text/event-stream', body: '' }))
  await page.route('**/v1/campaigns/stuck/jobs/j1', async route => await (route.request().method() === 'DELETE'
    ? route.fulfill({ status: 507, json: { detail: 'the disk of the service is full' } })
    : route.fulfill({ json: job })))
  await page.goto(at('map', 'stuck'))
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('alert').getByText('The disk of the service is full.').waitFor()
  faults = faults.filter(f => !f.includes('507'))
})

/** Text that is cut off without a sign of it, and boxes that stick out of the page. What scrolls or ends in an ellipsis may be longer. */
function cut(): string[] {
  const found: string[] = []
  const name = (e: Element) => `${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''}: ${e.textContent.slice(0, 60)}`
  const scrolls = (e: Element) => { const s = getComputedStyle(e); return /auto|scroll/.test(s.overflowX + s.overflowY) }
  const hidden = (e: Element) => e.closest('.hidden, .skip, [hidden], option, svg, .cloud, .u-wrap') !== null || !e.checkVisibility()
  for (const e of document.querySelectorAll('body *')) {
    if (hidden(e)) continue
    const s = getComputedStyle(e), box = e.getBoundingClientRect()
    if (box.width < 2) continue
    const clips = s.overflowX === 'hidden' && s.textOverflow !== 'ellipsis'
    if (clips && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)) found.push(`cut off: ${name(e)}`)
    let inside = e.parentElement
    while (inside && !scrolls(inside)) inside = inside.parentElement
    if (!inside && (box.right > innerWidth + 1 || box.left < -1)) found.push(`sticks out: ${name(e)}`)
    if (/^(BUTTON|SELECT|TH|TD|DT|DD|LABEL)$/.test(e.tagName) && s.overflowX === 'visible' && e.scrollWidth > e.clientWidth + 2 && e.clientWidth > 0) found.push(`too narrow: ${name(e)}`)
  }
  return found
}

const results = (() => {
  const methods = ['lcmd-tp:grad>sketch(512)', 'random', 'bait-fb-p:grad']
  const curves = ['sgemm', 'protein'].flatMap(set => ['RMSE', 'MAE'].flatMap(metric => methods.flatMap((spec, m) =>
    Array.from({ length: 8 }, (_, round) => ({ setting: 'relu, 7 × 256', set, spec, metric, round, labels: 256 * (round + 1), mean: -1 - .2 * round - .1 * m, se: .02, splits: 4 })))))
  return {
    name: 'runs', notes: ['These runs differ from the paper\'s experiments: 4 splits.'], curves, metrics: ['RMSE', 'MAE'],
    paper: [{ activation: 'relu', spec: methods[0], metric: 'RMSE', mean: -1.56 }],
    tables: [{ section: 'relu', name: 'means', title: 'Mean log RMSE', note: 'Lower is better.', header: ['method', 'sgemm', 'protein'], rows: methods.map(m => [m, '-1.70', '-1.68']) }],
  }
})()

/** Has the service answer with results of a benchmark. */
async function withResults(page: Page): Promise<void> {
  await page.route('**/v1/benchmarks', async route => await route.fulfill({ json: [{ name: 'runs', changed: '2026-03-02T12:00:00Z', bytes: 1000 }] }))
  await page.route('**/v1/benchmarks/runs', async route => await route.fulfill({ json: results }))
  await page.route('**/v1/benchmarks/runs/progress', async route => await route.fulfill({ json: {
    runs: 24, done: 20, working: 3, failed: 1, rounds: 192, rounds_done: 170, seconds_left: 600,
    workers: [{ host: 'node7', process: 4242, started: '2026-03-02T12:00:00Z', runs: 3, cpu: 'a processor' }],
  } }))
}

/** A table as a spreadsheet writes it in Germany: semicolons, decimal commas, a limit and a word among numbers. */
const german = (rows: number, from = 0): string => ['Probe;Temperatur (°C);Konzentration;Phase;Ausbeute', ...Array.from({ length: rows }, (_, i) =>
  [`p${from + i}`, `${20 + i % 30},${i % 10}`, i % 9 === 4 ? '< 0,5' : `${i % 7},25`, i % 2 ? 'fest' : 'flüssig', i % 3 || from ? '' : `${i},5`].join(';'))].join('\r\n') + '\r\n'

const upload = async (page: Page, name: string, text: string) => {
  await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  await page.locator('.reading').waitFor()
  await settled(page)
}

test('an uploaded table shows how it was read, and lets people change that', async () => {
  const page = await open()
  await page.goto(`${service.address}/new`)
  await upload(page, 'ausbeute.csv', german(60))
  expect(await page.getByLabel('Separator').inputValue()).toBe('semicolon')
  expect(await page.getByLabel('Decimal mark').inputValue()).toBe('comma')
  expect(await page.getByLabel('First line').inputValue()).toBe('present')
  await page.locator('.first-rows').getByRole('cell', { name: 'p0' }).waitFor()
  await page.getByRole('button', { name: 'Why can Phase not be predicted?' }).click()
  await page.getByText(/labels must be numbers, but this column holds words/i).waitFor()
  expect(await violations(page)).toEqual([])
  await page.getByLabel('First line').selectOption('absent')
  await page.getByText('61 rows').waitFor()
  await page.getByRole('button', { name: 'Guess everything again' }).click()
  await page.getByText('60 rows').waitFor()
  if (!await page.getByLabel('Predict Ausbeute').isChecked()) await page.getByLabel('Predict Ausbeute').check()
  await page.getByLabel('Column that names the rows').selectOption('Probe')
  await page.getByRole('button', { name: 'Start the campaign' }).click()
  await page.getByRole('heading', { name: 'ausbeute', exact: true }).waitFor()
  expect((await service.call<{ decimal?: string }>('GET', '/v1/campaigns/ausbeute')).decimal).toBe('comma')

  await page.goto(at('rows', 'ausbeute'))
  await page.getByRole('button', { name: 'Add rows' }).click()
  await upload(page, 'mehr.csv', german(5, 100))
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Add 5 rows' }).click()
  await page.getByText('5 rows added.').waitFor()
  expect((await service.call<{ rows: number }>('GET', '/v1/campaigns/ausbeute')).rows).toBe(65)
})

test('a column that is measured together with the label is neither predicted nor used unless somebody says so', async () => {
  const page = await open()
  await page.goto(`${service.address}/new`)
  const tables = new URL('../../../../tables/testdata/leaks/', import.meta.url)
  await upload(page, 'two.csv', readFileSync(new URL('conversion.csv', tables), 'utf8').replace('yield', 'outcome'))
  await settled(page)
  expect(await page.locator('.preview input[aria-label^=Predict]:checked').count()).toBe(0)
  await upload(page, 'conversion.csv', readFileSync(new URL('conversion.csv', tables), 'utf8'))
  await page.getByText('It has values in 24 of 24 labelled rows and in 0 of 96 others, so it is measured together with the label.').waitFor()
  expect(await page.getByLabel('Predict yield').isChecked()).toBe(true)
  expect(await page.getByLabel('Predict conversion').isChecked()).toBe(false)
  expect(await page.getByLabel('Use conversion').isChecked()).toBe(false)
  expect(await page.getByLabel('Use temperature').isChecked()).toBe(true)
  expect(await violations(page)).toEqual([])
  for (let turn = 0; turn < 2; turn++) { // what is said changes with the preview, the box at once
    await page.getByLabel('Use conversion').check()
    await page.getByText('is not used').waitFor({ state: 'detached' })
    await page.getByLabel('Use conversion').uncheck()
    await page.getByText('ticking “Use” makes it an input').waitFor()
  }
  await page.getByLabel('Use conversion').check()
  await page.getByText('It has values in 24 of 24 labelled rows').waitFor({ state: 'detached' })
  expect(await page.getByLabel('Use conversion').isChecked()).toBe(true)
  await page.getByRole('button', { name: 'Start the campaign' }).click()
  await page.getByRole('heading', { name: 'conversion', exact: true }).waitFor()
  const { settings } = await service.call<{ settings: Record<string, unknown> }>('GET', '/v1/campaigns/conversion')
  expect(settings).toMatchObject({ keep: ['conversion'] })
})

test('a column that counts the rows is no input, and can name them', async () => {
  const page = await open()
  await page.goto(`${service.address}/new`)
  const lines = Array.from({ length: 40 }, (_, i) => `${i + 1},${i * 7 % 40},${i < 12 ? measured(i) : ''}`)
  await upload(page, 'counted.csv', ['Nr,x,yield', ...lines, ''].join('\n'))
  await page.getByText('It numbers the rows. Tick “Use” if you know it').waitFor()
  expect(await page.getByLabel('Use Nr').isChecked()).toBe(false)
  await page.getByText('column "Nr" is not used: it looks like row numbers, whole numbers that only rise or only fall; ticking “Use” makes it an input').waitFor()
  await page.getByLabel('Column that names the rows').selectOption('Nr')
  await page.getByText('It numbers the rows').waitFor({ state: 'detached' })
})

test('a limit that waits for a second look keeps its sign', async () => {
  const lines = Array.from({ length: 60 }, (_, i) => `r${i},${i * 7 % 60},${i < 40 ? 100 + i * 7 % 60 : ''}`)
  await service.call('POST', '/v1/campaigns?name=limits&target=y&id=id&learner=gp', ['id,t,y', ...lines, ''].join('\n'))
  const [row] = await service.ask('limits', 1)
  const told = await service.call<{ waiting: { censored?: number }[] }>('POST', '/v1/campaigns/limits/tells', { rows: [{ id: row!.id, values: { y: .5 }, censored: { y: -1 } }] })
  expect(told.waiting.map(w => w.censored)).toEqual([-1])
  const page = await open()
  await page.goto(at('check', 'limits'))
  await page.getByText('y <0.5', { exact: true }).waitFor()
  await page.getByRole('button', { name: `Correct ${row!.id}` }).click()
  expect(await page.getByRole('dialog').getByRole('textbox').first().inputValue()).toBe('<0.5')
})

test('what is said about added rows and about a batch is on the page', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `r${i},${20 + i * 7 % 40},${100 + i * 13 % 50} mg,${i < 12 ? measured(i) : ''}`)
  const query = new URLSearchParams({ name: 'units', target: 'y', id: 'id', learner: 'trees' })
  await service.call('POST', `/v1/campaigns?${query.toString()}`, ['id,t,mass,y', ...lines, ''].join('\n'))
  const page = await open()
  await page.goto(at('rows', 'units'))
  await page.getByRole('button', { name: 'Add rows' }).click()
  await upload(page, 'more.csv', 'id,t,mass,y\nn1,33,0.12 g,\n')
  await page.getByRole('button', { name: 'Add 1 row' }).click()
  await page.getByText('column "mass": numbers in g are converted to mg').waitFor()
  await page.getByRole('button', { name: 'Add earlier data' }).click()
  await page.locator('input[type=file]').setInputFiles({ name: 'old.csv', mimeType: 'text/csv', buffer: Buffer.from(['id,t,mass,y', ...lines.slice(0, 8), ''].join('\n').replaceAll(' mg', '')) })
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('old.csv: column "mass": numbers without a unit are taken as mg').waitFor()
  expect(await violations(page)).toEqual([])

  await service.ask('units', 2)
  await page.goto(at('label', 'units'))
  await page.getByText(/remarks? on how the rows were picked/).click()
  await page.getByText('old.csv', { exact: false }).first().waitFor()
  expect(await violations(page)).toEqual([])
})

test('the label field says how it read a number, by the decimal mark of the campaign', async () => {
  const page = await open()
  await service.ask('ausbeute', 1)
  await page.goto(at('label', 'ausbeute'))
  const field = page.getByRole('textbox', { name: 'Ausbeute' })
  await field.fill('12,500')
  await page.getByText('read as 12,5, because this campaign writes decimals with a comma').waitFor()
  await field.fill('12,5')
  await page.getByText('read as 12,5', { exact: true }).waitFor()
  await field.fill('1.234,5')
  await page.getByText('read as 1.234,5', { exact: true }).waitFor()
  await field.fill('12.5')
  await page.locator('.how').waitFor({ state: 'hidden' })
})

const openPlates = async (page: Page) => {
  await page.getByRole('button', { name: 'Plates' }).click()
  await page.getByRole('dialog').locator('.plate svg').first().waitFor()
}

const openLimits = async (page: Page) => {
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByText('Limits of the batch').click()
  await page.getByLabel('Rows of a run share').selectOption('oven')
  await page.getByLabel('Column of groups').selectOption('oven')
}

/** A row for each of 24 mixtures in two ovens. */
const mixtures = ['name,oven,amount,yield (%)', ...Array.from({ length: 24 }, (_, i) => [`m${String(i).padStart(2, '0')}`, i % 2 ? 350 : 400, i / 4, i < 6 ? 20 + i : ''].join(','))].join('\n') + '\n'

test('a campaign with replicates and a plate is labelled measurement by measurement', async () => {
  const page = await open()
  await page.goto(`${service.address}/new`)
  await upload(page, 'mixtures.csv', mixtures)
  for (const box of await page.locator('.preview input[aria-label^=Predict]:checked').all()) await box.uncheck()
  await page.getByLabel('Predict yield (%)').check()
  await page.getByLabel('Column that names the rows').selectOption('name')
  await page.getByLabel('Rows per batch').fill('8')
  await page.getByText('Limits of the batch').click()
  await page.getByLabel('Replicates').fill('2')
  await page.getByLabel('Plate', { exact: true }).fill('4x6')
  await page.getByLabel('Controls').fill('A1, 6')
  await page.getByLabel('Model').selectOption('gp')
  await page.getByRole('button', { name: 'Start the campaign' }).click()
  await page.getByRole('heading', { name: 'mixtures', exact: true }).waitFor()
  const { settings } = await service.call<{ settings: Record<string, unknown> }>('GET', '/v1/campaigns/mixtures')
  expect(settings).toMatchObject({ batch: 8, replicates: 2, plate: '4x6', controls: ['A1', '6'] })

  await page.goto(at('label', 'mixtures'))
  await page.getByText('4 rows, each measured 2 times.').waitFor()
  await page.getByText('Limits of the batch').click()
  await page.getByLabel('Rows of a run share').selectOption('oven')
  await page.getByLabel('Runs').fill('5')
  await page.getByRole('button', { name: 'Ask for rows' }).click()
  await page.locator('.batch-limits [role=alert]').getByText(/Runs is 5, but the batch has 4 rows \(.* 8 with replicates 2\)/).waitFor()
  faults = faults.filter(f => !f.includes('422'))
  expect(await violations(page)).toEqual([])
  await page.getByLabel('Runs').fill('2')
  await page.getByRole('button', { name: 'Ask for rows' }).click()
  await page.locator('.plate svg').first().waitFor()
  const wells = page.locator('.plate g.well')
  expect(await wells.count()).toBe(8)
  expect(await page.locator('.plate circle.control').count()).toBe(2 * 5) // A1 and column 6, on the plates of both runs
  await page.locator('.place').getByText(/^run 1 \(oven \d+\)$/).waitFor()
  await page.locator('.place').getByText(/^well [A-D][1-5] of plate 1$/).waitFor()

  const id = await page.locator('.task .id').innerText()
  for (const replicate of [1, 2]) {
    await page.locator(`.plate g.well[aria-label*="${id}, replicate ${replicate}"]`).click()
    await page.locator('.place').getByText(`replicate ${replicate}`).waitFor()
    await page.waitForFunction(() => document.activeElement?.id === 'target-0')
    await page.keyboard.type('25') // the same number twice: both count
    await page.keyboard.press('Enter')
    await page.locator(`.plate g.well.done[aria-label*="${id}, replicate ${replicate}"]`).waitFor()
  }
  expect(await violations(page)).toEqual([])
  const told = await service.call<{ rows: { row: number; id: string; measured: number }[] }>('GET', `/v1/campaigns/mixtures/rows?search=${id}`)
  expect(told.rows.map(r => r.measured)).toEqual([2])

  await page.goto(at('rows', 'mixtures'))
  await page.getByRole('button', { name: 'Plates' }).click()
  await page.getByRole('dialog').locator(`g.well[aria-label*="${id}, replicate 2"]`).click()
  await page.getByRole('dialog', { name: `name ${id}` }).getByText(/replicate 2; run 1.*; well [A-D]\d of plate 1/).waitFor()
  await page.getByRole('button', { name: 'Correct replicate 2' }).click()
  await page.getByRole('textbox', { name: 'yield' }).fill('26')
  await page.keyboard.press('Enter')
  const numbers = page.getByRole('list', { name: 'Measurements', exact: true }).locator('strong')
  await numbers.getByText('26', { exact: true }).waitFor()
  expect((await numbers.allInnerTexts()).map(t => t.trim())).toEqual(['25', '26'])
  expect(await violations(page)).toEqual([])
})

describe.each([
  { name: 'light, 1280 px', width: 1280, dark: false }, { name: 'dark, 1280 px', width: 1280, dark: true },
  { name: 'light, 390 px', width: 390, dark: false }, { name: 'dark, 390 px', width: 390, dark: true },
])('$name', ({ width, dark }) => {
  test('every view is accessible and fits', async () => {
    const page = await open({ width, dark })
    await withResults(page)
    const asked = await service.ask('solubility', 1) // so that there is a row to label
    try {
      for (const path of ['/', '/new', '/benchmarks', '/c/solubility/overview', '/c/solubility/label', '/c/solubility/map', '/c/solubility/rows', '/c/solubility/history', '/c/solubility/check', '/c/mixtures/overview', '/c/mixtures/label', '/c/mixtures/rows', '/nowhere']) {
        await page.goto(service.address + path)
        await settled(page)
        if (path === '/new') await upload(page, 'ausbeute.csv', german(60))
        if (path.endsWith('solubility/label')) {
          await page.locator('.task .with-unit').waitFor()
          await page.getByRole('textbox', { name: 'y' }).fill('12,500')
        }
        if (path.endsWith('mixtures/label')) await page.locator('.plate svg').first().waitFor()
        if (path.endsWith('mixtures/rows')) await openPlates(page)
        if (path.endsWith('mixtures/overview')) await openLimits(page)
        expect(await violations(page), path).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), `${path} is too wide by`).toBeLessThanOrEqual(0)
        expect(await page.evaluate(cut), path).toEqual([])
      }
    } finally {
      await service.call('POST', '/v1/campaigns/solubility/returns', { ids: asked.map(row => row.id) })
    }
    const [r] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g)!.map(Number)
    expect(r! < 128).toBe(dark)
  })
})

test('results of a benchmark are curves and tables beside the paper', async () => {
  const page = await open()
  await withResults(page)
  await page.goto(`${service.address}/benchmarks`)
  await page.getByRole('heading', { name: 'Learning curves on sgemm' }).waitFor()
  await page.getByText('20 of 24 runs done, 3 under way, 1 failed; 170 of 192 rounds, about 10 minutes left.').waitFor()
  await page.getByRole('cell', { name: 'node7' }).waitFor()
  await page.getByLabel('Data set').selectOption('protein')
  await page.getByRole('heading', { name: 'Learning curves on protein' }).waitFor()
  await page.getByText('-1.56').waitFor()
  await page.getByLabel('Filter the tables').fill('random')
  expect(await page.locator('.bench-table tbody tr').count()).toBe(1)
  expect(await violations(page)).toEqual([])
})

test('a theme that is chosen stays', async () => {
  const page = await open()
  const background = async () => await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await background()
  await page.getByRole('button', { name: /Switch to light/ }).click()
  await page.getByRole('button', { name: /Switch to dark/ }).click()
  expect(await background()).not.toBe(light)
  await page.reload()
  await page.locator('nav.side').waitFor()
  expect(await background()).not.toBe(light)
})

test('the shortcuts are listed under ?', async () => {
  const page = await open()
  await page.goto(at('overview'))
  await page.locator('.advice').waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('Rows').waitFor()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await page.keyboard.press('4')
  await page.getByRole('grid').waitFor()
})

test('a viewer cannot label, and a wrong token is refused in words', async () => {
  const page = await open({ token: service.person('vi', 'viewer') })
  await page.goto(at('label'))
  await page.getByRole('heading', { name: 'You can look, but not label' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  const question = page.getByRole('dialog')
  await question.getByText('not shown again').waitFor()
  expect(await violations(page)).toEqual([])
  await question.getByRole('button', { name: 'Stay' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await question.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').fill('nb_wrong_token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  expect(await page.getByRole('alert').innerText()).toMatch(/wrong, expired or revoked/)
  expect(await violations(page)).toEqual([])
  faults = faults.filter(f => !f.includes('401'))
})

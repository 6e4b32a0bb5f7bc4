import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const dist = join(import.meta.dirname, '..', 'dist')
const assets = readdirSync(join(dist, 'assets'))
const most = 150 * 1000 // bytes, gzipped

test('the whole JavaScript has at most 150 KB gzipped', () => {
  const bytes = assets.filter(f => f.endsWith('.js')).map(f => gzipSync(readFileSync(join(dist, 'assets', f))).length).reduce((a, b) => a + b, 0)
  console.log(`JavaScript: ${(bytes / 1000).toFixed(1)} KB gzipped`)
  expect(bytes).toBeLessThanOrEqual(most)
})

test('the page has no inline script, no inline style, and names no other host', () => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/)
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/)
  expect(html).not.toMatch(/(src|href)="(https?:)?\/\//)
  for (const f of assets.filter(f => f.endsWith('.css'))) expect(readFileSync(join(dist, 'assets', f), 'utf8')).not.toMatch(/url\((?!#)|@import/)
})

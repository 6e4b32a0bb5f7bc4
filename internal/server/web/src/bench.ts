import { number } from './format'
import type { BenchmarkPoint, BenchmarkResults, Published } from './types'

// Results of benchmarks, arranged for drawing.

export const unique = (list: string[]): string[] => [...new Set(list)]

/** A cell of a table: a number with many digits is rounded to four. */
export const rounded = (cell: string): string => /^-?\d*\.\d{4,}(e[-+]?\d+)?$/.test(cell) ? number(Number(cell)) : cell

export interface Choice { setting: string; metric: string; set: string }

/** The learning curve of each method: the mean logarithm of the metric after each number of labels. */
export function curvesOf(points: BenchmarkPoint[], c: Choice): { labels: number[]; methods: { spec: string; values: (number | null)[]; errors: (number | null)[] }[] } {
  const own = points.filter(p => p.setting === c.setting && p.metric === c.metric && p.set === c.set)
  const labels = [...new Set(own.map(p => p.labels))].sort((a, b) => a - b)
  const at = new Map(labels.map((n, i) => [n, i]))
  const methods = unique(own.map(p => p.spec)).map(spec => ({ spec, values: labels.map((): number | null => null), errors: labels.map((): number | null => null) }))
  for (const p of own) {
    const m = methods.find(x => x.spec === p.spec)!
    m.values[at.get(p.labels)!] = p.mean
    m.errors[at.get(p.labels)!] = p.se
  }
  return { labels, methods }
}

export interface Beside { spec: string; ours: number | null; sets: number; paper: number | null }

/** Our means over the rounds after the start, then over data sets, as reports have them, and the paper's numbers beside them where there are any. */
export function besideThePaper(r: BenchmarkResults, setting: string, metric: string): Beside[] {
  const own = r.curves.filter(p => p.setting === setting && p.metric === metric && p.mean !== null && p.round > 0)
  const activation = setting.split(',')[0] ?? ''
  return unique(own.map(p => p.spec)).map(spec => {
    const mine = own.filter(p => p.spec === spec)
    const sets = unique(mine.map(p => p.set))
    const ours = mean(sets.map(set => mean(mine.filter(p => p.set === set).map(p => p.mean!))!))
    const paper = r.paper.find((x: Published) => x.spec === spec && x.metric === metric && x.activation === activation)
    return { spec, ours, sets: sets.length, paper: paper?.mean ?? null }
  }).sort((a, b) => (a.ours ?? Infinity) - (b.ours ?? Infinity))
}

const mean = (list: number[]): number | null => list.length > 0 ? list.reduce((a, b) => a + b, 0) / list.length : null

/** The rows of a table that contain every word of a filter. */
export function filtered(rows: string[][], words: string): string[][] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter(row => {
    const text = row.join(' ').toLowerCase()
    return wanted.every(w => text.includes(w))
  })
}

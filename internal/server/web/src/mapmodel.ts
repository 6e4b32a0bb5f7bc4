import type { Points } from './camera'
import type { Status } from './kinds'
import type { PoolMap } from './types'
import { statuses } from './kinds'

// The map of the pool as the view needs it.

export type Mode = 'status' | 'prediction' | 'interval' | 'label' | 'distance'

export interface Model {
  map: PoolMap
  points: Points
  byStatus: Record<Status, Uint32Array>
}

export function modelOf(map: PoolMap): Model {
  const lists: Record<Status, number[]> = { open: [], asked: [], labelled: [], failed: [], retired: [], waiting: [] }
  map.status.forEach((s, i) => lists[statuses[s] ?? 'open'].push(i))
  return {
    map,
    points: { x: Float32Array.from(map.x, v => v ?? 0), y: Float32Array.from(map.y, v => v ?? 0) },
    byStatus: Object.fromEntries(statuses.map(s => [s, Uint32Array.from(lists[s])])) as Record<Status, Uint32Array>,
  }
}

/** The number that colours a point; NaN where there is none. */
export function valuesOf(map: PoolMap, mode: Mode, target: number): Float64Array {
  const n = map.rows.length
  const out = new Float64Array(n).fill(NaN)
  if (mode === 'status') return out
  const source = map[mode]
  if (!source) return out
  for (let i = 0; i < n; i++) {
    const v = source[i]
    const one = typeof v === 'number' ? v : v?.[target]
    if (typeof one === 'number') out[i] = one
  }
  return out
}

/** Whether the map has such numbers at all. */
export function offers(map: PoolMap, mode: Mode): boolean {
  return mode === 'status' || (map[mode] ?? []).some(v => v !== null)
}

export interface Summary { total: number; byStatus: { status: Status; n: number }[]; mean: number | null }

/** What a lasso caught. */
export function summary(map: PoolMap, chosen: number[], values: Float64Array): Summary {
  const counts = new Map<Status, number>()
  let sum = 0, n = 0
  for (const i of chosen) {
    const s = statuses[map.status[i]!] ?? 'open'
    counts.set(s, (counts.get(s) ?? 0) + 1)
    if (Number.isFinite(values[i])) { sum += values[i]!; n++ }
  }
  return { total: chosen.length, byStatus: statuses.filter(s => counts.has(s)).map(status => ({ status, n: counts.get(status)! })), mean: n > 0 ? sum / n : null }
}

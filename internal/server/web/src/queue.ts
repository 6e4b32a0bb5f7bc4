import type { Predictions } from './kinds'
import { keyOf } from './places'
import type { QueueRow, Told } from './types'

// The queue of one person: measurements, named by their keys. Skipped ones go to the end; those that came later keep their order.

/** The order of the measurements: skipped ones last, in the order in which they were skipped. */
export function ordered(rows: QueueRow[], skipped: string[]): QueueRow[] {
  const late = new Map(skipped.map((key, i) => [key, i]))
  return [...rows].sort((a, b) => (late.get(keyOf(a)) ?? -1) - (late.get(keyOf(b)) ?? -1))
}

/** Whether the row of a measurement is measured more than once, so that its number says something. */
export function isReplicate(m: QueueRow, queue: QueueRow[]): boolean {
  return m.replicate > 1 || m.measured > 0 || queue.some(other => other.row === m.row && other.replicate !== m.replicate)
}

/** The predictions that were written down for a row before its label came. */
export function predictionsOf(told: Told, id: string): Predictions {
  return told.predictions[id] ?? {}
}

/** Whether a label lies within the interval of its prediction; null without one. */
export function within(label: number, p: { low?: number; high?: number }): boolean | null {
  if (p.low === undefined || p.high === undefined) return null
  return label >= p.low && label <= p.high
}

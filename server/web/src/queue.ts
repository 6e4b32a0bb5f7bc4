import type { Predictions } from './kinds'
import type { QueueRow, Told } from './types'

// The queue of one person. Skipped rows go to the end; rows that came later keep their order.

/** The order of the rows: skipped ones last, in the order in which they were skipped. */
export function ordered(rows: QueueRow[], skipped: number[]): QueueRow[] {
  const late = new Map(skipped.map((row, i) => [row, i]))
  return [...rows].sort((a, b) => (late.get(a.row) ?? -1) - (late.get(b.row) ?? -1))
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

/** Why a row was picked, without what was predicted for it: a prediction must not steer the label. */
export function withoutPrediction(reason: string): string {
  return reason.replace(/(^|;\s*)predicted\s[\s\S]*$/, '')
}

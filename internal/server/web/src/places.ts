import { valueText } from './values'
import type { Outstanding } from './types'

// Which measurement of its row one is, and where it is made.

export type Place = Pick<Outstanding, 'replicate' | 'repeat' | 'run' | 'shared' | 'plate' | 'well'>

/** A measurement by its row and its number. */
export const keyOf = (m: { row: number; replicate: number }): string => `${m.row}#${m.replicate}`

/** The run and what its rows share: "run 2 (temperature 350)". */
export function runText(p: Place): string {
  const shared = Object.entries(p.shared ?? {}).map(([column, v]) => `${column} ${valueText(v)}`).join(', ')
  return `run ${p.run ?? 1}${shared && ` (${shared})`}`
}

/** Which measurement it is, as far as that is worth saying: the replicate only where the row has several. */
export function measurementText(p: Place, several: boolean): string[] {
  return [
    ...(several || p.replicate > 1 ? [`replicate ${p.replicate}`] : []),
    ...(p.repeat ? ['measured once more, to learn the noise'] : []),
    ...(p.run ? [runText(p)] : []),
  ]
}

/** The same with its well. */
export function placeText(p: Place, several: boolean): string[] {
  return [...measurementText(p, several), ...(p.well ? [`well ${p.well} of plate ${p.plate ?? 1}`] : [])]
}

/** The name of a measurement in failures and returns; a row with one of them is named by its id. */
export const measurementName = (id: string, replicate: number, several: boolean): string => several ? `${id}#${replicate}` : id

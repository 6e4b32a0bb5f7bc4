import type { Batch, Picked } from './types'
import { runText } from './places'
import { valueText } from './values'

// The plates of a batch: their shape, the wells for controls, and what is in the others.

export interface Shape { rows: number; columns: number }

/** The rows and columns of a plate such as 8x12; null without one. */
export function shapeOf(plate: string | undefined): Shape | null {
  const found = /^\s*(\d+) *[xX×] *(\d+)\s*$/.exec(plate ?? '')
  return found ? { rows: Number(found[1]), columns: Number(found[2]) } : null
}

/** The name of a row, from 0: A to Z, AA, AB and so on. */
export function rowName(row: number): string {
  const letter = String.fromCharCode(65 + row % 26)
  return row < 26 ? letter : rowName(Math.floor(row / 26) - 1) + letter
}

export const wellName = (row: number, column: number): string => `${rowName(row)}${column + 1}`

const rowNumber = (name: string): number => Array.from(name.toUpperCase(), letter => letter.charCodeAt(0) - 64).reduce((n, letter) => 26 * n + letter, 0) - 1

/** The rows and columns, from 0, that A1, A, 12 or a range of them covers. */
function covered(item: string, shape: Shape): [top: number, bottom: number, left: number, right: number] | null {
  const ends = item.split('-').map(end => /^\s*([A-Za-z]{0,2})(\d{0,3})\s*$/.exec(end))
  const first = ends[0], last = ends[1] ?? first
  if (!first || !last) return null
  const span = (a: string, b: string, number: (text: string) => number, count: number): [number, number] =>
    a ? [Math.min(number(a), number(b || a)), Math.max(number(a), number(b || a))] : [0, count - 1]
  return [...span(first[1]!, last[1]!, rowNumber, shape.rows), ...span(first[2]!, last[2]!, text => Number(text) - 1, shape.columns)]
}

/** The names of the wells that stay free for controls. */
export function controlWells(controls: string[], shape: Shape): Set<string> {
  const wells = new Set<string>()
  for (const item of controls) {
    const found = covered(item, shape)
    if (!found) continue
    const [top, bottom, left, right] = found
    for (let row = top; row <= bottom; row++) for (let column = left; column <= right; column++) wells.add(wellName(row, column))
  }
  return wells
}

/** What is in the wells of each plate, by the number of the plate and the name of the well. */
export function platesOf(batch: Pick<Batch, 'rows'>): Map<number, Map<string, Picked>> {
  const plates = new Map<number, Map<string, Picked>>()
  for (const m of batch.rows) {
    if (!m.well) continue
    const number = m.plate ?? 1
    plates.set(number, (plates.get(number) ?? new Map<string, Picked>()).set(m.well, m))
  }
  return new Map([...plates].sort(([a], [b]) => a - b))
}

/** What the colour of a well stands for: its group or, without groups, its run; empty without either. */
export function kindOf(m: Picked, groupColumn: string | undefined): string {
  if (groupColumn) return `${groupColumn} ${valueText(m.inputs[groupColumn])}`
  return m.run ? runText(m) : ''
}

import { exact } from './format'
import type { Row } from './types'

/** A value of a row as text. */
export function valueText(v: Row['inputs'][string] | undefined): string {
  if (v === null || v === undefined) return 'missing'
  return typeof v === 'number' ? exact(v) : v
}

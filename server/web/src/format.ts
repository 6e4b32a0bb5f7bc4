import type { Interval } from './types'

// Numbers as people read them. Every one of them is shown with what it is of.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** A count, such as 12,345. */
export const count = (n: number): string => whole.format(n)

/** A count with its noun: 1 row, 2 rows. */
export function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`
}

/** A measured number with three significant digits, four for larger ones; never more than it needs. */
export function number(v: number, digits = 3): string {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? 'not a number' : v > 0 ? '∞' : '−∞'
  if (v === 0) return '0'
  const size = Math.abs(v)
  if (size >= 1e7 || size < 1e-4) {
    const [mantissa, power] = v.toExponential(digits - 1).split('e') as [string, string]
    return minus(`${mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa}×10${superscript(Number(power))}`)
  }
  if (size >= 1000) return minus(whole.format(Number(v.toPrecision(Math.max(digits, 4)))))
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)))
  return minus(new Intl.NumberFormat('en', { maximumFractionDigits: Math.min(decimals, 12) }).format(v))
}

const minus = (text: string) => text.replace(/^-/, '−')

function superscript(n: number): string {
  return String(n).replace(/./g, c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(Number(c)))
}

/** An input of a row, in full: people compare it with the label on the flask. */
export function exact(v: number): string {
  return minus(Number.isInteger(v) && Math.abs(v) < 1e15 ? String(v) : String(Number(v.toPrecision(12))))
}

/** The limits of an interval in words: "0.55 to 0.71", "at least 0.55". */
export function limits(i: Interval, show: (v: number) => string = number): string {
  if (i.low === null && i.high === null) return 'no limit can be told'
  if (i.high === null) return `at least ${show(i.low ?? 0)}`
  if (i.low === null) return `at most ${show(i.high)}`
  return `${show(i.low)} to ${show(i.high)}`
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${number(100 * share, 2)} %`
}

/** The unit in a column's name: "yield (%)" has "%", "t [°C]" has "°C". Without one it is empty. */
export function unitOf(column: string): string {
  const found = /[([]\s*([^()[\]]{1,12}?)\s*[)\]]\s*$/.exec(column)
  return found?.[1] ?? ''
}

/** A column's name without its unit. */
export function nameWithoutUnit(column: string): string {
  return unitOf(column) ? column.replace(/\s*[([][^()[\]]*[)\]]\s*$/, '') || column : column
}

/** A time as people say it: "just now", "5 minutes ago", then the date. */
export function ago(time: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(time)) / 1000)
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${many(Math.max(1, Math.round(seconds / 60)), 'minute')} ago`
  if (seconds < 86400) return `${many(Math.round(seconds / 3600), 'hour')} ago`
  if (seconds < 7 * 86400) return `${many(Math.round(seconds / 86400), 'day')} ago`
  return day(time)
}

export const day = (time: string): string =>
  new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

export const moment = (time: string): string =>
  new Date(time).toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' })

/** A length of time: "40 seconds", "3 minutes". */
export function duration(seconds: number): string {
  if (seconds < 1) return 'less than a second'
  if (seconds < 90) return many(Math.round(seconds), 'second')
  if (seconds < 90 * 60) return many(Math.round(seconds / 60), 'minute')
  return many(Math.round(seconds / 3600), 'hour')
}

/** An amount of memory. */
export function bytes(n: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const i = Math.min(units.length - 1, Math.floor(Math.log(Math.max(n, 1)) / Math.log(1000)))
  return `${number(n / 1000 ** i, 2)} ${units[i]!}`
}

/** Reads a number as people type it: a comma is a decimal sign only where it cannot be a separator of thousands. */
export function parseNumber(text: string): number | null {
  const t = text.trim().replace(/^[−–]/, '-').replace(/[\s_]/g, '')
  const comma = /^([+-]?\d*),(\d+)$/.exec(t)
  const plain = comma && (comma[2]!.length !== 3 || /^[+-]?0?$/.test(comma[1]!)) ? `${comma[1]!}.${comma[2]!}` : t
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return null
  const v = Number(plain)
  return Number.isFinite(v) ? v : null
}

import type { Interval } from './types'

// Numbers as people read them, by the rules of package words, whose cases the tests read. Every
// one of them is shown with what it is of.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export type Mark = 'point' | 'comma'

let mark: Mark = 'point'

/** From now on numbers have this decimal mark: that of the campaign on the page. */
export const writeWith = (other: Mark): void => { mark = other }

/** The text of a number with the decimal mark; a comma swaps places with the mark of thousands. */
const marked = (text: string): string => mark === 'comma' ? text.replace(/[.,]/g, c => c === ',' ? '.' : ',') : text

/** A sentence of the service, whose numbers get the decimal mark. */
export const markedIn = (text: string): string => text.replace(/\d+(,\d{3})*(\.\d+)?/g, marked)

/** A count, such as 12,345. */
export const count = (n: number): string => marked(whole.format(n))

/** A count with its noun: 1 row, 2 rows. */
export function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`
}

const exponentOf = (v: number): number => Number(v.toExponential().split('e')[1])

/** Puts commas between the thousands of a number in decimal digits. */
function commas(text: string): string {
  if (!/[1-9]/.test(text)) return '0' // not -0
  const [whole, part] = text.split('.') as [string, string | undefined]
  return marked(whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : ''))
}

/** A number with so many decimals; what lies exactly between two is rounded to the even one. */
function fixed(v: number, decimals: number): string {
  const [whole, part] = Math.abs(v).toFixed(100).split('.') as [string, string]
  const kept = BigInt(whole + part.slice(0, decimals)), rest = part.slice(decimals), half = '5'.padEnd(rest.length, '0')
  const digits = String(rest > half || (rest === half && kept % 2n === 1n) ? kept + 1n : kept).padStart(decimals + 1, '0')
  return (v < 0 ? '-' : '') + (decimals > 0 ? `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}` : digits)
}

const withoutZeros = (text: string): string => text.includes('.') ? text.replace(/\.?0+$/, '') : text

/** A number with an exponent of at least two digits. */
function scientific(mantissa: string, exponent: number): string {
  return `${marked(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

const notFinite = (v: number): string => Number.isNaN(v) ? 'not a number' : v > 0 ? '∞' : '-∞'

/** A measured number with at least four significant digits, and with an exponent only where people would write one. */
export function number(v: number): string {
  if (!Number.isFinite(v)) return notFinite(v)
  if (v === 0) return '0'
  const size = Math.abs(v)
  if (size >= 1e-4 && size < 1e12) return commas(withoutZeros(fixed(v, Math.max(0, 3 - exponentOf(size)))))
  const [mantissa, exponent] = v.toExponential(100).split('e') as [string, string]
  const short = fixed(Number(mantissa), 3)
  return Math.abs(Number(short)) < 10 ? scientific(withoutZeros(short), Number(exponent)) : scientific(v < 0 ? '-1' : '1', Number(exponent) + 1)
}

/** A number with all of its digits: 9,999,999 and 0.25. */
export function grouped(v: number): string {
  if (!Number.isFinite(v)) return notFinite(v)
  const size = Math.abs(v)
  if (v === 0 || (size >= 1e-6 && size < 1e15)) return commas(String(v))
  const [mantissa, exponent] = v.toExponential().split('e') as [string, string]
  return scientific(mantissa, Number(exponent))
}

/** Numbers in multiples of the same power of ten, without zeros that all would end in: 66 to 74, not 66.0 to 74.0. */
function alike(unit: number, numbers: number[]): string[] {
  const texts = numbers.map(v => {
    const step = 10 ** unit
    return unit <= 0 ? fixed(v, -unit) : fixed(Math.sign(v) * Math.round(Math.abs(v) / step) * step, 0)
  })
  return unit < 0 && texts.every(t => t.endsWith('0')) ? alike(unit + 1, numbers) : texts.map(commas)
}

/** The limits of a range with as many digits as its width deserves: 58,000 and 83,000. */
export function range(low: number, high: number): [string, string] {
  const width = Math.abs(high - low)
  if (!(width >= 1e-6 && Math.max(Math.abs(low), Math.abs(high)) < 1e15)) return [grouped(low), grouped(high)]
  return alike(exponentOf(width) - 1, [low, high]) as [string, string]
}

/** A number and the limits around it, all to the same digit: three digits of the largest, and at least two of the width. */
export function estimated(v: number, low: number, high: number): [string, string, string] {
  const width = Math.abs(high - low), largest = Math.max(Math.abs(v), Math.abs(low), Math.abs(high))
  if (!(width >= 1e-6 * largest && width >= 1e-9 && largest < 1e12)) return [number(v), number(low), number(high)]
  return alike(Math.min(exponentOf(largest) - 2, exponentOf(width) - 1), [v, low, high]) as [string, string, string]
}

/** A number and its interval: 3,030 (2,310 to 4,560). */
export function estimate(v: number, low: number, high: number): string {
  const [value, from, to] = estimated(v, low, high)
  return `${value} (${from} to ${to})`
}

/** A prediction, with its interval where there is one. */
export function predicted(p: { value: number; low?: number; high?: number }): string {
  return p.low === undefined || p.high === undefined ? number(p.value) : estimate(p.value, p.low, p.high)
}

/** A number of few digits, where more would mean nothing. */
export const rough = (v: number, digits = 2): string => grouped(Number(v.toPrecision(digits)))

/** An input or a label of a row, in full: people compare it with the label on the flask. */
export const exact = (v: number): string => grouped(Number(v.toPrecision(12)))

/** The middle of an interval with the digits that its limits have. */
export function middle(i: Interval): string {
  if (i.value === null) return 'out of reach'
  return i.low === null || i.high === null ? number(i.value) : estimated(i.value, i.low, i.high)[0]
}

/** The limits of an interval in words: "0.55 to 0.71", "at least 0.55". */
export function limits(i: Interval, show?: (v: number) => string): string {
  const one = show ?? number
  if (i.low === null && i.high === null) return 'no limit can be told'
  if (i.high === null) return `at least ${one(i.low ?? 0)}`
  if (i.low === null) return `at most ${one(i.high)}`
  if (show) return `${show(i.low)} to ${show(i.high)}`
  const [from, to] = i.value === null ? range(i.low, i.high) : estimated(i.value, i.low, i.high).slice(1) as [string, string]
  return `${from} to ${to}`
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${rough(100 * share)} %`
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
  return `${rough(n / 1000 ** i)} ${units[i]!}`
}

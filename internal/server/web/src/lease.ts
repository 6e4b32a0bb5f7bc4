import { many, number } from './format'
import { defaultLease } from './types'

// How long rows are out, as the service spells it: 168h0m0s, or a negative time without end.

/** The hours of a lease; null without end. */
export function leaseHours(lease: string): number | null {
  if (lease.startsWith('-')) return null
  const units: Record<string, number> = { h: 1, m: 1 / 60, s: 1 / 3600 }
  return [...lease.matchAll(/([\d.]+)(h|m|s)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * (units[unit!] ?? 0), 0)
}

/** A lease in words: "7 days", "36 hours", "no end". */
export function leaseText(lease: string): string {
  const hours = leaseHours(lease)
  if (hours === null) return 'no end'
  return hours % 24 === 0 ? many(hours / 24, 'day') : hours === 1 ? '1 hour' : `${number(hours)} hours`
}

/** Those that are offered; another one that a campaign has is offered, too. */
export function leases(now = defaultLease): string[] {
  const usual = ['24h0m0s', '72h0m0s', defaultLease, '336h0m0s', '720h0m0s', '-1ns']
  return usual.includes(now) ? usual : [now, ...usual]
}

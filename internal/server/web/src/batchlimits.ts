import type { AskRequest, Settings } from './types'

// Limits of the whole batch, as people type them and as the service takes them.

export type BatchLimits = Pick<Settings, 'same' | 'runs' | 'group_column' | 'per_group' | 'min_per_group' | 'at_most_groups' | 'replicates' | 'replicate_share' | 'plate' | 'controls'>

export interface TypedLimits {
  same: string[]; runs: string; group_column: string; per_group: string; min_per_group: string; at_most_groups: string
  replicates: string; replicate_share: string; plate: string; controls: string
}

/** What the fields are called on the page. The service's messages to a browser name them like this, too. */
export const limitNames: Record<keyof TypedLimits, string> = {
  same: 'Rows of a run share', runs: 'Runs', group_column: 'Column of groups', per_group: 'Most per group', min_per_group: 'Fewest per group', at_most_groups: 'Most groups',
  replicates: 'Replicates', replicate_share: 'Share of repeats', plate: 'Plate', controls: 'Controls',
}

const typedCount = (n: number | undefined) => n ? String(n) : ''

/** A share as people write it: 1/8 rather than 0.125. */
export function shareText(share: number | undefined): string {
  if (!share) return ''
  const parts = 1 / share
  return parts > 1 && Math.abs(parts - Math.round(parts)) < 1e-9 ? `1/${Math.round(parts)}` : String(share)
}

/** The fields for limits that a campaign has. */
export function typedLimits(s: BatchLimits): TypedLimits {
  return {
    same: s.same ?? [], runs: typedCount(s.runs), group_column: s.group_column ?? '', per_group: typedCount(s.per_group), min_per_group: typedCount(s.min_per_group),
    at_most_groups: typedCount(s.at_most_groups), replicates: typedCount(s.replicates), replicate_share: shareText(s.replicate_share), plate: s.plate ?? '', controls: (s.controls ?? []).join(', '),
  }
}

/** A whole number from 0 on, where an empty field means 0; null for anything else. */
const countOf = (text: string): number | null => /^\d{0,7}$/.test(text.trim()) ? Number(text) : null

/** A share such as 1/8 or 0.125, also with a decimal comma; null for any other text. */
export function shareOf(text: string): number | null {
  const found = /^(\d*[.,]?\d*)(?:\/(\d+))?$/.exec(text.replaceAll(' ', ''))
  if (!found) return null
  const share = Number(found[1]!.replace(',', '.')) / Number(found[2] ?? 1)
  return share >= 0 && share <= 1 ? share : null
}

const counts = ['runs', 'per_group', 'min_per_group', 'at_most_groups', 'replicates'] as const

/** The fields whose text cannot be read. The service checks the rest. */
export function wrongLimits(t: TypedLimits): (keyof TypedLimits)[] {
  return [...counts.filter(name => countOf(t[name]) === null), ...(shareOf(t.replicate_share) === null ? ['replicate_share' as const] : [])]
}

const wells = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean)

/** All limits, those that are not set as 0 or empty; a field that cannot be read counts as empty. */
export function limitsOf(t: TypedLimits): Required<BatchLimits> {
  const count = (name: typeof counts[number]) => countOf(t[name]) ?? 0
  const plate = t.plate.trim()
  return {
    same: t.same, runs: t.same.length > 0 ? count('runs') : 0, group_column: t.group_column,
    per_group: t.group_column ? count('per_group') : 0, min_per_group: t.group_column ? count('min_per_group') : 0, at_most_groups: t.group_column ? count('at_most_groups') : 0,
    replicates: count('replicates'), replicate_share: shareOf(t.replicate_share) ?? 0, plate, controls: plate ? wells(t.controls) : [],
  }
}

/** What an ask wants other than the settings do. */
export function overrides(settings: BatchLimits, typed: TypedLimits): Omit<AskRequest, 'rows'> {
  const before = limitsOf(typedLimits(settings)), now = limitsOf(typed)
  const names = ['same', 'runs', 'min_per_group', 'at_most_groups', 'replicates', 'replicate_share', 'plate', 'controls'] as const
  // A plate without its controls would have none: they belong together.
  const changed = (name: typeof names[number]) => JSON.stringify(before[name]) !== JSON.stringify(now[name]) || (name === 'controls' && before.plate !== now.plate)
  return Object.fromEntries(names.filter(changed).map(name => [name, now[name]]))
}

/** How many limits are set. Most groups need not be counted apart from their column. */
export function limitsSet(t: TypedLimits): number {
  return Object.values(limitsOf(t)).filter(v => Array.isArray(v) ? v.length > 0 : v).length
}

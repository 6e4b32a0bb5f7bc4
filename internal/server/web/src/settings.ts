import { leaseText } from './lease'
import { learnerOf } from './learners'
import { grouped, percent } from './format'
import { defaultAudit, defaultBatch, defaultLease } from './types'
import type { SettingChange } from './types'

// Settings in words, for the history.

const names: Record<string, string> = {
  at_most_groups: 'most groups', audit: 'share of random rows', batch: 'batch size', categorical: 'columns of categories', controls: 'wells for controls', cost_column: 'column of costs', group_column: 'column of groups',
  group_is_input: 'groups as inputs', keep: 'columns to keep', latest: 'latest measurement as label', learner: 'model', lod: 'limit of detection', members: 'networks', min_per_group: 'fewest rows of a group', missing: 'missing inputs',
  per_cost: 'picks by cost', range: 'range of the labels', per_group: 'rows of a group', random_start: 'random start', replicate_share: 'share of repeats', same: 'columns that a run shares', spec: 'method',
  'network.architecture.activation': 'activation', 'network.architecture.hidden': 'hidden layers', 'network.seed': 'seed of networks', 'network.training.epochs': 'epochs',
}

const defaults: Record<string, unknown> = {
  audit: defaultAudit, batch: defaultBatch, group_is_input: false, latest: false, learner: 'network', lease: defaultLease, per_cost: false, random_start: false, controls: 'none', plate: 'none', replicate_share: 0, replicates: 1, runs: 1, same: 'none',
}

const isDefault = (setting: string, v: unknown) => v === null || v === undefined || v === '' || (setting.startsWith('network.') && v === 0)

function valueText(setting: string, v: unknown): string {
  const is = isDefault(setting, v) ? defaults[setting] : v
  if (typeof is === 'boolean') return is ? 'on' : 'off'
  if (Array.isArray(is)) return is.join(', ')
  if (typeof is === 'number') return setting === 'audit' || setting === 'replicate_share' ? percent(is) : setting === 'seed' || setting === 'network.seed' ? String(is) : grouped(is)
  if (typeof is !== 'string') return setting.endsWith('_column') ? 'none' : 'default'
  return setting === 'lease' ? leaseText(is) : setting === 'learner' ? learnerOf(is).name : is
}

/** What changed: "batch size 16 → 32". */
export function changeText({ setting, from, to }: SettingChange): string {
  const name = names[setting] ?? setting.replaceAll('_', ' ').replaceAll('.', ' ')
  return `${name} ${valueText(setting, from)} → ${valueText(setting, to)}`
}

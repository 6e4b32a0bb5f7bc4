import { leaseText } from './lease'
import { learnerOf } from './learners'
import { grouped, percent } from './format'
import { defaultAudit, defaultBatch, defaultLease } from './types'
import type { SettingChange } from './types'

// Settings in words, for the history.

const names: Record<string, string> = {
  audit: 'share of random rows', batch: 'batch size', categorical: 'columns of categories', cost_column: 'column of costs', group_column: 'column of groups',
  group_is_input: 'groups as inputs', keep: 'columns to keep', latest: 'latest measurement as label', learner: 'model', members: 'networks', missing: 'missing inputs',
  per_cost: 'picks by cost', per_group: 'rows of a group', random_start: 'random start', spec: 'method',
  'network.architecture.activation': 'activation', 'network.architecture.hidden': 'hidden layers', 'network.seed': 'seed of networks', 'network.training.epochs': 'epochs',
}

const defaults: Record<string, unknown> = {
  audit: defaultAudit, batch: defaultBatch, group_is_input: false, latest: false, learner: 'network', lease: defaultLease, per_cost: false, random_start: false,
}

const isDefault = (setting: string, v: unknown) => v === null || v === undefined || v === '' || (setting.startsWith('network.') && v === 0)

function valueText(setting: string, v: unknown): string {
  const is = isDefault(setting, v) ? defaults[setting] : v
  if (typeof is === 'boolean') return is ? 'on' : 'off'
  if (Array.isArray(is)) return is.join(', ')
  if (typeof is === 'number') return setting === 'audit' ? percent(is) : setting === 'seed' || setting === 'network.seed' ? String(is) : grouped(is)
  if (typeof is !== 'string') return setting.endsWith('_column') ? 'none' : 'default'
  return setting === 'lease' ? leaseText(is) : setting === 'learner' ? learnerOf(is).name : is
}

/** What changed: "batch size 16 → 32". */
export function changeText({ setting, from, to }: SettingChange): string {
  const name = names[setting] ?? setting.replaceAll('_', ' ').replaceAll('.', ' ')
  return `${name} ${valueText(setting, from)} → ${valueText(setting, to)}`
}

// The answers of the service, as /openapi.json describes them.

export interface Session { person: string; role: Role; campaign?: string; expires?: string }
export type Role = 'viewer' | 'labeller' | 'owner'

export interface Counts { rows: number; open: number; asked: number; labelled: number; failed: number; retired: number }

export interface Column { name: string; kind: string }

export interface Settings {
  spec?: string
  batch?: number
  audit?: number
  lease?: string
  cost_column?: string
  budget?: number
  group_column?: string
  [other: string]: unknown
}

export interface Campaign extends Counts {
  name: string
  targets: string[]
  id_column?: string
  columns: Column[]
  settings: Settings
  event: number
  asks: number
}

export type Status = 'open' | 'asked' | 'labelled' | 'failed' | 'retired'
export const statuses: Status[] = ['open', 'asked', 'labelled', 'failed', 'retired']

export type Value = number | string | boolean | null

export interface RowRef { row: number; id: string }

export interface Row extends RowRef {
  status: Status
  inputs: Record<string, Value>
  labels: Record<string, number | null>
  lease_end?: string
  failures: number
}

export interface RowPage { rows: Row[]; total: number }

export interface Prediction { value: number; low?: number; high?: number }
export type Predictions = Record<string, Prediction | null>

/** A row with what was written down about it before its label came. */
export interface RowHistory extends Row { ask?: number; reason?: string; predictions?: Predictions; person?: string }

export interface QueueRow extends Row { ask: number; reason: string }
export interface Queue { rows: QueueRow[]; targets: string[] }

export interface Changed { event: number; rows: RowRef[]; repeated: boolean }
export interface Told extends Changed {
  known: number
  wrong: { line: number; id: string; reason: string }[]
  predictions?: Record<string, Predictions> // by id
}

export interface Job {
  id: string
  campaign: string
  kind: string
  person: string
  state: 'running' | 'done' | 'failed' | 'cancelled'
  begun: string
  ended?: string
  progress: { stage: string; done: number; of: number }
  problem?: string
  ask?: number
}

/** null stands for infinity: the labels set no such limit. */
export interface Interval { value: number | null; low: number | null; high: number | null }

export interface CurvePoint { labels: number; rows: number; rmse: Interval }
export interface Curve {
  labels: number
  rows: number
  slope: Interval
  rmse: Interval
  mae: Interval
  q95: Interval
  points: CurvePoint[] | null
}
export interface Forecast { metric: Metric; wanted: number; labels: Interval; more: Interval; cost: Interval | null }
export type Metric = 'rmse' | 'mae' | 'q95'
export interface Gain { labels: number; rows: number; random: Interval; factor: Interval }
export interface Advice { verdict: 'stop' | 'go on' | 'too early to tell'; because: string }
export interface TargetStanding {
  target: string
  labels: number
  audited: number
  random: number
  noise: { deviation: number | null; freedom: number }
  curve: Curve | null
  next: Interval | null
  forecast: Forecast | null
  gain: Gain | null
  advice: Advice
}
export interface Standing extends Counts { targets: TargetStanding[]; advice: Advice }

export interface Person { person: string; asked: number; told: number; failed: number; last?: string }

export interface LogEvent {
  event: number
  time: string
  person?: string
  request?: string
  kind: 'created' | 'rows_added' | 'asked' | 'told' | 'corrected' | 'failed' | 'returned' | 'retired' | 'settings' | 'undone'
  undone: boolean
  rows: RowRef[]
  detail: Record<string, unknown>
}

export interface PoolMap {
  labels: number
  rows: number[]
  x: (number | null)[]
  y: (number | null)[]
  status: number[]
  prediction: ((number | null)[] | null)[] | null
  interval: ((number | null)[] | null)[] | null
  label: ((number | null)[] | null)[] | null
  distance: (number | null)[] | null
  sampled: boolean
  of: number
  explained: (number | null)[]
}

export interface PreviewColumn {
  name: string
  type: 'number' | 'category' | 'text' | 'date'
  levels?: number
  missing: number
  examples: string[]
}
export interface Preview {
  rows: number
  columns: PreviewColumn[]
  warnings: string[]
  suggested: { target?: string; id?: string }
  forecast?: { seconds: number; bytes: number; text: string }
}

export interface BenchmarkFile { name: string; changed: string; bytes: number }
export interface BenchmarkWorker { host: string; process: number; started: string; runs: number; cpu: string }
export interface BenchmarkProgress {
  runs: number
  done: number
  working: number
  failed: number
  rounds: number
  rounds_done: number
  seconds_left: number | null
  workers: BenchmarkWorker[]
}
export interface BenchmarkPoint {
  setting: string
  set: string
  spec: string
  metric: string
  round: number
  labels: number
  mean: number | null // of the logarithm of the metric
  se: number | null
  splits: number
}
export interface BenchmarkTable { section: string; name: string; title: string; note: string; header: string[]; rows: string[][] }
export interface Published { activation: string; spec: string; metric: string; mean: number | null }
export interface BenchmarkResults {
  name: string
  notes: string[]
  curves: BenchmarkPoint[]
  tables: BenchmarkTable[]
  metrics: string[]
  paper: Published[]
}

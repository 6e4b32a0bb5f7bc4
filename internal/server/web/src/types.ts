// What the service takes and answers, made from /openapi.json: change the types of Go, then run make web-types.

export interface Added {
  event: number
  labelled: number // rows that came with a label
  new_levels?: Record<string, string[]> // by column, levels that no row had before
  repeated: boolean
  rows: number // how many
  waiting: Waiting[] // labels that wait for a second look
  warnings: string[] // what the cells of the table gave cause for, units that were converted, and columns that are measured together with the label
}

export interface AddedEarlier {
  event: number // number of the event; 0 if nothing changed
  repeated: boolean // the request had been made before; this is the answer of that time
  rows: RowRef[] // rows that changed
  warnings: string[] // what the cells of the table gave cause for, and units that were converted
}

export interface Advice {
  audits?: number // where it is too early to tell, about how many more audit rows would tell; absent if that is not known
  because: string
  verdict: 'stop' | 'go on' | 'too early to tell'
}

export interface Architecture {
  activation: string
  hidden: number[] | null
  outputs: number
  sigma_b: number | null
  sigma_w: number
}

export interface AskRequest {
  at_most_groups?: number // most groups that the batch has rows of; 0 means any number
  audit?: number // share of audit rows; by default as the settings say
  controls?: string[] | null // wells, rows or columns of a plate that stay free, such as A1, H12 or 12
  exclude?: string[] | null // ids of rows that may not be in the batch
  lease?: string // how long the rows are out, such as 36h, 7d or 2w, or never; empty means as the settings say
  min_per_group?: number // fewest rows of every group that has open rows or, with at_most_groups, of each group in the batch; 0 means any number
  must?: string[] | null // ids of rows that must be in the batch
  plate?: string // rows x columns of the plates, such as 8x12; empty means no wells
  replicate_share?: number | string // share of the batch that measures labelled rows once more, such as 0.125 or 1/8
  replicates?: number // how often each row is measured; the batch counts measurements
  rows?: number // how many measurements: rows, times how often each is measured; 0 means as the settings say
  runs?: number // number of runs; needs same
  same?: string[] | null // columns whose values all rows of a run share; an empty list means none
}

export interface Audit {
  labelled: number // labelled rows when it was made
  targets: AuditTarget[]
  warnings: string[]
}

export interface AuditFinding {
  changed: boolean // the label has changed since, or counts no longer
  high: number
  id: string
  label: number
  low: number // a right label lies between low and high with a probability of 95 %
  p?: number // p-value, corrected for the number of labels; absent where it says nothing
  prediction: number
  row: number // number of the row, in the order in which rows were added, from 0
  score: number // the error over the error that is typical for such a row
}

export interface AuditTarget {
  answer: string // in a sentence
  findings: AuditFinding[] // labels that disagree most with predictions by models that have not seen them
  suspects: number // labels that look wrong: the first findings
  target: string
}

export interface Batch {
  ask: number // number of the ask, from 1
  controls?: string[] // wells, rows or columns of the plates that stay free
  event: number
  lease_end?: string // when its rows are open again; never if it is absent
  person: string
  plate?: string // rows x columns of its plates, such as 8x12; absent without wells
  rows: Picked[] // the measurements, in the order of the picks; a row that is measured several times is there several times
  spec: string // method that picked
  time: string
  trained: number // labelled rows that the model was fitted to; 0 without a model
  warnings: string[]
}

export interface BenchmarkFile {
  bytes: number
  changed: string
  name: string
}

export interface BenchmarkPoint {
  labels: number
  mean: number | null // of the logarithm of the metric
  metric: string
  round: number
  se: number | null // standard error; null for a single split
  set: string
  setting: string // activation, rows of a batch, batches
  spec: string
  splits: number
}

export interface BenchmarkProgress {
  done: number
  failed: number
  rounds: number
  rounds_done: number
  runs: number
  seconds_left: number | null // forecast, with as many runs at the same time as now; null if it is unknown
  workers: BenchmarkWorker[]
  working: number // runs under way
}

export interface BenchmarkResults {
  curves: BenchmarkPoint[]
  metrics: string[]
  name: string
  notes: string[] // what to know before comparing
  paper: Published[] // the paper's numbers for the same settings
  tables: BenchmarkTable[]
}

export interface BenchmarkTable {
  header: string[]
  name: string
  note: string
  rows: string[][]
  section: string
  title: string
}

export interface BenchmarkWorker {
  cpu: string
  host: string
  process: number
  runs: number // under way
  started: string
}

export interface Campaign {
  asked: number
  asks: number // batches that were handed out
  columns: Column[] // of the rows, without ids and labels
  decimal?: 'comma' // decimal mark of the table's file; absent for a point
  event: number // number of the last event
  failed: number
  id_column?: string
  labelled: number
  labels: Record<string, History> // by target, what its labels are so far: how many, their unit, the sizes of the smallest but zero and of the largest, and the decimal mark of the first table
  name: string
  open: number
  repeats: number // measurements that are out of rows that have a label
  retired: number
  rows: number
  settings: Settings // as PUT settings takes them
  targets: string[]
  waiting: number // rows whose labels all wait for a second look
  warnings?: string[] // about a new campaign: what the cells of the table gave cause for, and columns that are measured together with the label
}

export interface Candidate {
  error: number
  left?: string
  name: string
  notes?: string[]
  scale?: string
  weight: number
}

export interface Changed {
  event: number // number of the event; 0 if nothing changed
  repeated: boolean // the request had been made before; this is the answer of that time
  rows: RowRef[] // rows that changed
}

export interface Column {
  kind: string
  name: string
  unit?: string
}

export interface Config {
  architecture: Architecture
  seed: number
  training: Training
}

export interface Cost {
  bytes: number
  seconds: number
  text: string
}

export interface Curve {
  labels: number
  mae: Interval
  points: CurvePoint[] | null
  q95: Interval
  rmse: Interval
  rows: number
  slope: Interval
}

export interface CurvePoint {
  labels: number
  rmse: Interval
  rows: number
}

export interface Doubt {
  high: number
  low: number
  prediction?: number
  scale?: string
  slip?: string
}

export interface ErrorDetail {
  location?: string // Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id'
  message?: string // Error message text
  value?: unknown // The value at the given location
}

export interface ErrorModel {
  detail?: string // A human-readable explanation specific to this occurrence of the problem.
  errors?: ErrorDetail[] // Optional list of individual error details
  instance?: string // A URI reference that identifies the specific occurrence of the problem.
  status?: number // HTTP status code
  title?: string // A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
  type?: string // A URI reference to human-readable documentation for the error.
}

export interface FailRequest {
  again?: boolean // the rows are open again; otherwise they are never asked for again
  ids: string[] | null // ids of the rows; for failures and returns also single measurements, such as s017#2
  reason?: string
}

export interface Fault {
  id: string
  line: number // its place in the request, from 0
  reason: string
}

export interface Fitted {
  ask: number // number of the first ask that used it
  candidates: Candidate[] // what was tried
  error: number // root mean square error of the blend on held-out labelled rows; 0 for a network alone
  labels: number // labelled rows that it was fitted to
  learner: string // in a line: the weights, and why
}

export interface Forecast {
  cost: Interval | null
  labels: Interval // in total; a limit is null where it is more than there are rows, a value also where the limits are more than a factor of four apart
  metric: 'rmse' | 'mae' | 'q95'
  more: Interval
  rows: number // that can have a label: all but those that failed or were retired
  wanted: number
}

export interface Gain {
  factor: Interval
  labels: number
  random: Interval
  rows: number
}

export interface History {
  decimal?: string
  high?: number
  labels: number
  low?: number
  unit?: string
}

export interface IDsRequest {
  ids: string[] | null // ids of the rows; for failures and returns also single measurements, such as s017#2
  reason?: string
}

export interface Interval {
  high: number | null
  low: number | null
  value: number | null
}

export interface Job {
  ask?: number // number of the ask that it made
  begun: string
  campaign: string
  ended?: string
  id: string
  kind: 'ask' | 'predict' | 'map' | 'gain' | 'audit' // what it does
  person: string // who started it
  problem?: string // why it failed
  progress: Progress
  state: 'running' | 'done' | 'failed' | 'cancelled'
}

export interface LastAudit {
  audit: Audit | null // null if there was none since the service started
}

export interface LastMap {
  map: PoolMap | null // null if none was made since the service started
}

export interface LogEvent {
  changes?: SettingChange[] // what it changed in the settings
  detail: Record<string, unknown> // the entry as it is stored
  event: number // its number, from 1
  kind: 'created' | 'rows_added' | 'asked' | 'told' | 'corrected' | 'failed' | 'returned' | 'retired' | 'confirmed' | 'earlier' | 'settings' | 'undone'
  person?: string
  request?: string
  rows: RowRef[] // rows that it names
  time: string
  undone: boolean // it has no effect: it was undone, or undoes another
}

export interface Measured {
  censored?: Record<string, number> // by target, for values of which only a limit is known: -1 where the true one lies below the limit, which is the value, 1 where it lies above
  id: string // of the row
  inputs?: Record<string, string> // by column: inputs of the row as the client has them. Where they are not those of the row, to nine digits, its id is probably wrong, and so is the row
  replicate?: number // which measurement of the row it is, as the batch numbers them; without it, the first that is out with the caller. A correction with it replaces that measurement alone
  values: Record<string, number> // by target
}

export interface Measurement {
  ask?: number // that handed it out; absent if nobody had asked for it
  censored?: Record<string, number> // by target, for values of which only a limit is known: -1 where the true one lies below the limit, which is the value, 1 where it lies above
  event: number // number of its event
  person?: string // who told it
  plate?: number // number of the plate, from 1
  repeat?: boolean // it measures a row once more that had a label, to learn the noise
  replicate: number // number of the measurement among those of the row, from 1; a tell may name it
  run?: number // number of the run, from 1; absent without columns that the rows of a run share
  shared?: Record<string, number | string | null> // by column, what the rows of the run share
  time: string
  values: Record<string, number> // by target; absent where there is none
  well?: string // on the plate, such as A1
}

export interface ModelStanding {
  ask: number // that used it
  changed: number // of these, rows whose label has changed or is gone since: it was corrected, undone, confirmed or measured again, or the row was retired
  trained: number // labelled rows that it was fitted to
}

export interface Noise {
  deviation: number | null
  freedom: number
  rows: number // that were measured twice or more
}

export interface Outstanding {
  ask: number // that handed it out
  lease_end?: string // when the lease ends; never if it is absent
  person?: string // who asked
  plate?: number // number of the plate, from 1
  repeat?: boolean // it measures a row once more that had a label, to learn the noise
  replicate: number // number of the measurement among those of the row, from 1; a tell may name it
  run?: number // number of the run, from 1; absent without columns that the rows of a run share
  shared?: Record<string, number | string | null> // by column, what the rows of the run share
  well?: string // on the plate, such as A1
}

export interface Person {
  asked: number // measurements that they asked for
  failed: number // rows
  last: string // when they last did something
  person: string
  told: number // measurements, with corrections
}

export interface Picked {
  audit: boolean // drawn at random, to estimate the error
  censored?: Record<string, number> // by target, for labels of which only a limit is known: -1 where the true one lies below the limit, which is the label, 1 where it lies above
  failures: number // how often it could not be labelled
  id: string
  inputs: Record<string, number | string | null> // by column; null where a value is missing
  labels: Record<string, number | null> // by target; null where there is none
  lease_end?: string // when a row that is out is open again
  measured: number // how often it was measured
  plate?: number // number of the plate, from 1
  predictions: Record<string, Prediction> // by target, made before the label came; empty without a model
  reason: string // why it was picked
  reason_alone: string // the same without what is predicted, which may steer who labels the row
  repeat?: boolean // it measures a row once more that had a label, to learn the noise
  replicate: number // number of the measurement among those of the row, from 1; a tell may name it
  row: number // number of the row, in the order in which rows were added, from 0
  run?: number // number of the run, from 1; absent without columns that the rows of a run share
  shared?: Record<string, number | string | null> // by column, what the rows of the run share
  status: 'open' | 'asked' | 'waiting' | 'labelled' | 'failed' | 'retired'
  well?: string // on the plate, such as A1
}

export interface PoolMap {
  distance: (number | null)[] | null // from the nearest labelled row, in the kernel; null without labels
  explained: (number | null)[] // share of the variance along each direction
  interval: (number | null)[][] | null // half the width of each target's interval
  label: (number | null)[][] // of each target
  labels: number // labelled rows that the model was fitted to; 0 without a model
  of: number // rows that could be shown
  prediction: (number | null)[][] | null // of each target; null without a model
  rows: number[] // numbers of the rows
  sampled: boolean // some open rows are not shown
  status: number[] // 0 open, 1 asked, 2 labelled, 3 failed, 4 retired, 5 waiting
  x: (number | null)[]
  y: (number | null)[]
}

export interface Predicted {
  rows: PredictedRow[]
  total: number // rows that were predicted
  trained: number // labelled rows that the model was fitted to
  warnings: string[]
}

export interface PredictedRow {
  id: string
  predictions: Record<string, Prediction> // by target; empty for a row that lacks inputs
  row: number // number of the row, in the order in which rows were added, from 0
}

export interface Prediction {
  high?: number
  low?: number
  value: number
}

export interface Preview {
  columns: PreviewColumn[]
  first: string[][] // the values of the first rows, at most 10
  forecast?: Cost // of one ask; absent if it cannot be told
  rows: number
  suggested: Suggested // what the columns look like
  understood: Understood // how the table was read; the parameters of the request change it
  warnings: string[]
}

export interface PreviewColumn {
  examples: string[] // the first values, at most 3
  levels?: number // of a category: how many values it has
  missing: number // rows without a value
  name: string
  no_input?: string // why the column is not an input beside these labels, unless it is kept: it is measured together with them, or numbers the rows
  no_target?: string // why the column cannot hold the labels, and what to do
  type: 'number' | 'category' | 'text' | 'date'
}

export interface Progress {
  done: number
  of: number
  stage: string // waiting, fitting, training, embedding, picking, comparing or auditing
}

export interface Published {
  activation: string
  mean: number | null
  metric: string
  spec: string
}

export interface Queue {
  rows: QueueRow[] // the measurements in the order in which they were asked for or, on plates, well by well; a row that is measured several times is there several times
  targets: string[]
  warnings: string[] // what was said about the batches that the rows belong to, each text once
}

export interface QueueRow {
  ask: number // number of the ask that handed it out
  censored?: Record<string, number> // by target, for labels of which only a limit is known: -1 where the true one lies below the limit, which is the label, 1 where it lies above
  failures: number // how often it could not be labelled
  id: string
  inputs: Record<string, number | string | null> // by column; null where a value is missing
  labels: Record<string, number | null> // by target; null where there is none
  lease_end?: string // when a row that is out is open again
  measured: number // how often it was measured
  plate?: number // number of the plate, from 1
  reason: string // why it was picked, without what was predicted; empty for rows that were drawn at random
  repeat?: boolean // it measures a row once more that had a label, to learn the noise
  replicate: number // number of the measurement among those of the row, from 1; a tell may name it
  row: number // number of the row, in the order in which rows were added, from 0
  run?: number // number of the run, from 1; absent without columns that the rows of a run share
  shared?: Record<string, number | string | null> // by column, what the rows of the run share
  status: 'open' | 'asked' | 'waiting' | 'labelled' | 'failed' | 'retired'
  well?: string // on the plate, such as A1
}

export interface Row {
  censored?: Record<string, number> // by target, for labels of which only a limit is known: -1 where the true one lies below the limit, which is the label, 1 where it lies above
  failures: number // how often it could not be labelled
  id: string
  inputs: Record<string, number | string | null> // by column; null where a value is missing
  labels: Record<string, number | null> // by target; null where there is none
  lease_end?: string // when a row that is out is open again
  measured: number // how often it was measured
  row: number // number of the row, in the order in which rows were added, from 0
  status: 'open' | 'asked' | 'waiting' | 'labelled' | 'failed' | 'retired'
}

export interface RowHistory {
  ask?: number // the last ask that handed it out before its label came
  censored?: Record<string, number> // by target, for labels of which only a limit is known: -1 where the true one lies below the limit, which is the label, 1 where it lies above
  failures: number // how often it could not be labelled
  id: string
  inputs: Record<string, number | string | null> // by column; null where a value is missing
  labels: Record<string, number | null> // by target; null where there is none
  lease_end?: string // when a row that is out is open again
  measured: number // how often it was measured
  measurements: Measurement[] // the oldest first; the label is their mean or, by the settings, the last
  out: Outstanding[] // measurements that are out
  person?: string // who asked
  predictions?: Record<string, Prediction> // by target, made before the label came; only of rows that have one, so that no prediction can steer a label
  reason?: string // why it was picked
  row: number // number of the row, in the order in which rows were added, from 0
  status: 'open' | 'asked' | 'waiting' | 'labelled' | 'failed' | 'retired'
  waiting: Waiting[] // numbers of its measurements that wait for a second look; its labels are without them
}

export interface RowPage {
  rows: Row[]
  total: number // rows that the filter leaves
}

export interface RowRef {
  id: string
  row: number // number of the row, in the order in which rows were added, from 0
}

export interface Schedule {
  peak: number
}

export interface Session {
  campaign?: string // the only campaign that the token opens; all if it is absent
  expires?: string // when the token or the session ends; never if it is absent
  person: string // whom events name
  role: 'viewer' | 'labeller' | 'owner'
}

export interface SettingChange {
  from: unknown // null: it had its default
  setting: string // its name in the JSON of settings, with dots between the names of objects and their parts
  to: unknown // null: it has its default
}

export interface Settings {
  at_most_groups?: number
  audit?: number
  batch?: number
  budget?: number
  categorical?: string[]
  controls?: string[]
  cost_column?: string
  group_column?: string
  group_is_input?: boolean
  keep?: string[]
  latest?: boolean
  learner?: 'auto' | 'network' | 'gp' | 'trees' | 'in-context'
  lease?: string
  lod?: string
  members?: number
  min_per_group?: number
  missing?: string
  network: Config
  ordered?: Record<string, string[]>
  per_cost?: boolean
  per_group?: number
  plate?: string
  random_start?: boolean
  range?: string[]
  replicate_share?: number
  replicates?: number
  runs?: number
  same?: string[]
  seed: number
  spec?: string
  weights?: number[]
}

export interface SignInRequest {
  token: string // as 'nextbatch token add' printed it
}

export interface Standing {
  advice: Advice
  asked: number
  doubtful: Waiting[] // labels that wait for a second look, the oldest first
  failed: number
  labelled: number
  learner?: string // auto, gp, trees or in-context is fitted; absent for a network alone
  model?: ModelStanding // the model of the last ask, whose errors are estimated
  open: number
  repeats: number // measurements that are out of rows that have a label
  retired: number
  rows: number
  targets: TargetStanding[]
  waiting: number // rows whose labels all wait for a second look
}

export interface Suggested {
  id?: string
  target?: string
}

export interface TargetStanding {
  advice: Advice
  audited: number
  curve: Curve | null
  forecast: Forecast | null
  gain: Gain | null
  held_out: number
  labels: number
  learners?: Fitted[]
  next: Interval | null // share by which 10 % more labels lower the RMSE
  noise: Noise
  random: number
  target: string
}

export interface TellRequest {
  accept?: boolean // no number waits for a second look, however far it is from what was expected
  again?: boolean // take numbers that rows already have as further measurements
  partial?: boolean // take the rows that are right, even if others are wrong
  rows: Measured[] | null // what was measured
  units?: Record<string, string> // by target: the unit of the values, such as mg. They are converted to that of the labels so far, or refused
}

export interface Told {
  event: number // number of the event; 0 if nothing changed
  known: number // numbers that the rows had already
  predictions: Record<string, Record<string, Prediction>> // by id and target: what was predicted before the labels came, of the rows that had been asked for
  repeated: boolean // the request had been made before; this is the answer of that time
  rows: RowRef[] // rows that changed
  waiting: Waiting[] // numbers that are far from what was expected: they are recorded, and count once somebody has confirmed or corrected them
  wrong: Fault[] // rows that were left out, with partial
}

export interface Training {
  batch: number
  beta1: number | null
  beta2: number | null
  decay: number
  epochs: number
  eps: number
  rate: number
  schedule: Schedule
}

export interface Understood {
  decimal?: string // point or comma; absent if no number tells
  encoding?: string
  format: string
  header: boolean // the first line has the names of the columns
  notes: string[] // what was understood and what was assumed, for people
  separator?: string // of a text file: comma, semicolon, tab, bar or blank
  thousands?: string // absent if digits are not grouped
  units?: string[] // the line with the units of the columns, which is not a row
}

export interface UndoRequest {
  event: number // number of the event to take back
  reason?: string
}

export interface Waiting {
  censored?: number // of a limit: -1 if the label is below the value, 1 if it is above
  doubt: Doubt // why it waits
  event: number // that told it
  id: string
  person?: string // who told it
  replicate?: number // which measurement of the row it is; absent where the label did not say
  row: number // number of the row, in the order in which rows were added, from 0
  since: string // when it was told
  target: string
  value: number | null
  why: string // the same in words, such as: 9,999,999; expected 58,000 to 83,000; two digits too many?
}

// What settings mean that a campaign does not have.
export const defaultBatch = 32
export const defaultAudit = 0.125
export const defaultLease = '168h0m0s'

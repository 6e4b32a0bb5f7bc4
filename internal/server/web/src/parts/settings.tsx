import { useState } from 'preact/hooks'
import { api } from '../api'
import { limitsOf, typedLimits, wrongLimits } from '../batchlimits'
import { leases, leaseText } from '../lease'
import { defaultAudit, defaultBatch, defaultLease } from '../types'
import type { Campaign } from '../types'
import { BatchLimitsFields } from './batchlimits'
import { Modal } from './modal'

export function BatchField({ value, change }: { value: string; change: (text: string) => void }) {
  return (
    <div class="field"><label for="batch">Rows per batch</label>
      <input id="batch" class="limit" inputMode="numeric" value={value} aria-invalid={batchOf(value) ? undefined : true} onInput={e => change(e.currentTarget.value)} />
      <span class="hint">How many rows you label before the model learns from them. Replicates count, too.</span></div>
  )
}

/** The size of a batch; 0 if the text is not one. */
export function batchOf(text: string): number {
  const n = Number(text)
  return Number.isInteger(n) && n > 0 ? n : 0
}

export function LeaseField({ value, change, now }: { value: string; change: (lease: string) => void; now?: string }) {
  return (
    <div class="field"><label for="lease">Lease</label>
      <select id="lease" value={value} onChange={e => change(e.currentTarget.value)}>{leases(now).map(l => <option key={l} value={l}>{leaseText(l)}</option>)}</select>
      <span class="hint">How long rows that somebody asked for are kept for them. Afterwards others can get them.</span></div>
  )
}

export function RandomStartField({ value, change }: { value: boolean; change: (random: boolean) => void }) {
  return (
    <div class="field"><label class="check"><input type="checkbox" checked={value} aria-describedby="random-hint" onChange={e => change(e.currentTarget.checked)} /> The first labels were drawn at random</label>
      <span class="hint" id="random-hint">Tick this if nobody chose which rows were labelled before the first batch. Then the error is estimated from them, too.</span></div>
  )
}

export function RangeField({ value, change }: { value: string; change: (text: string) => void }) {
  return (
    <div class="field"><label for="range">Range of the labels</label>
      <input id="range" class="limit" placeholder="any number" value={value} onInput={e => change(e.currentTarget.value)} />
      <span class="hint">Such as 0..100 for a yield in %, or 0.. for what cannot be negative. Predictions keep to it.</span></div>
  )
}

export function LodField({ value, change }: { value: string; change: (text: string) => void }) {
  return (
    <div class="field"><label for="limit-of-detection">Limit of detection</label>
      <input id="limit-of-detection" class="limit" placeholder="not known" value={value} onInput={e => change(e.currentTarget.value)} />
      <span class="hint">What labels such as &lt;LOD, n.d. or n.b. are below. Without it they are refused.</span></div>
  )
}

const shares = [0, 1 / 16, defaultAudit, 1 / 4, 1 / 2, 1]
const shareText = (share: number) => share === 0 ? 'none' : share === 1 ? 'all' : `1 in ${Math.round(10 / share) / 10}`

function AuditField({ value, change, now }: { value: number; change: (share: number) => void; now: number }) {
  const list = shares.includes(now) ? shares : [now, ...shares]
  return (
    <div class="field"><label for="audit">Random rows in each batch</label>
      <select id="audit" value={value} onChange={e => change(Number(e.currentTarget.value))}>{list.map(s => <option key={s} value={s}>{shareText(s)}</option>)}</select>
      <span class="hint">Only rows that were drawn at random show the error fairly.</span></div>
  )
}

/** Changes how a campaign asks. What it fits to the labels is changed where the model is shown. */
export function SettingsDialog({ status, close, done }: { status: Campaign; close: () => void; done: () => void }) {
  const now = status.settings
  const lease0 = now.lease ?? defaultLease, audit0 = now.audit ?? defaultAudit
  const [batch, setBatch] = useState(String(now.batch ?? defaultBatch))
  const [lease, setLease] = useState(lease0)
  const [audit, setAudit] = useState(audit0)
  const [random, setRandom] = useState(now.random_start ?? false)
  const [range, setRange] = useState(now.range?.join(',') ?? '')
  const [lod, setLod] = useState(now.lod ?? '')
  const [limits, setLimits] = useState(() => typedLimits(now))
  const [error, setError] = useState<unknown>(null)
  const right = batchOf(batch) > 0 && wrongLimits(limits).length === 0
  const save = async (event: Event) => {
    event.preventDefault()
    if (!right) return
    try {
      await api.changeSettings(status.name, { ...now, ...limitsOf(limits), batch: batchOf(batch), lease, audit, random_start: random, range: range.trim() ? range.split(',') : [], lod: lod.trim() })
      done()
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Modal title="Settings" close={close}>
      <form class="stack" onSubmit={save}>
        <BatchField value={batch} change={setBatch} />
        <LeaseField value={lease} change={setLease} now={lease0} />
        <AuditField value={audit} change={setAudit} now={audit0} />
        <RangeField value={range} change={setRange} />
        <LodField value={lod} change={setLod} />
        <RandomStartField value={random} change={setRandom} />
        <BatchLimitsFields typed={limits} change={setLimits} columns={status.columns.map(c => c.name)} groups error={error} />
        <div class="line"><button type="submit" class="primary" disabled={!right}>Save</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Modal>
  )
}

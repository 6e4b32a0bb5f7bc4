import { useState } from 'preact/hooks'
import { api, newKey, problemText, sentence } from '../api'
import { exact, many, nameWithoutUnit, predicted, unitOf } from '../format'
import { useJob } from '../jobs'
import { useShortcuts } from '../keys'
import { readLabels } from '../labels'
import { CorrectDialog } from '../parts/correct'
import { FailDialog } from '../parts/faildialog'
import { JobBar } from '../parts/job'
import { LabelFields } from '../parts/labelfields'
import { Empty, Loading, Lost, ProblemNote } from '../parts/notice'
import { Doubtful } from '../parts/secondlook'
import { Values } from '../parts/values'
import { markOf, parseNumber } from '../reading'
import { pathOf } from '../router'
import { ordered, predictionsOf, within, withoutPrediction } from '../queue'
import type { Predictions } from '../kinds'
import { defaultBatch } from '../types'
import type { Campaign, Job, QueueRow, Session, Waiting } from '../types'
import { useEvery, useLoad } from '../use'

/** Something that this person just did, for the list beside the form. */
interface Deed {
  event: number; row: QueueRow; values?: Record<string, number>; predictions?: Predictions; failed?: string; corrected?: boolean
  waiting?: Waiting[] // numbers among the values that wait for a second look
  confirmed?: number // event that confirmed them
}

export function Label({ campaign, session }: { campaign: string; session: Session }) {
  if (session.role !== 'viewer') return <Labelling campaign={campaign} session={session} />
  return (
    <>
      <header class="head"><h1>Label</h1></header>
      <Empty title="You can look, but not label"><p>Your token has the role viewer. Ask an owner for a token with the role labeller.</p></Empty>
    </>
  )
}

function Labelling({ campaign, session }: { campaign: string; session: Session }) {
  const { data, error, reload } = useLoad(async () => {
    const [status, queue] = await Promise.all([api.campaign(campaign), api.queue(campaign)])
    return { status, queue }
  }, [campaign])
  const [skipped, setSkipped] = useState<number[]>([])
  const [gone, setGone] = useState<number[]>([])
  const [deeds, setDeeds] = useState<Deed[]>([])
  const [fault, setFault] = useState<unknown>(null)
  const [correcting, setCorrecting] = useState<Deed | null>(null)
  const job = useJob(campaign, session.person, 'ask', (j: Job) => { if (j.state === 'done') reload() })
  useEvery(30, reload)
  const undo = async (d: Deed) => {
    setFault(null)
    try {
      if (d.confirmed) await api.undo(campaign, d.confirmed, 'undone while labelling')
      await api.undo(campaign, d.event, 'undone while labelling')
      setDeeds(list => list.filter(x => x !== d))
      if (!d.corrected) setGone(list => list.filter(x => x !== d.row.row))
      reload()
    } catch (e) {
      setFault(e)
    }
  }
  const confirm = async (d: Deed) => {
    setFault(null)
    try {
      const { event } = await api.confirm(campaign, [d.row.id])
      setDeeds(list => list.map(x => x === d ? { ...x, waiting: [], confirmed: event } : x))
    } catch (e) {
      setFault(e)
    }
  }
  const last = deeds[0]
  useShortcuts(last ? [
    { keys: 'Alt+U', does: 'Undo the last entry', run: () => { void undo(last) }, inFields: true },
    ...(last.values ? [{ keys: 'Alt+C', does: 'Correct the last label', run: () => setCorrecting(last), inFields: true }] : []),
    ...(last.waiting?.length ? [{ keys: 'Alt+R', does: 'The last label is right', run: () => { void confirm(last) }, inFields: true }] : []),
  ] : [])
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="your rows" />
  const { status, queue } = data
  const rows = ordered(queue.rows.filter(r => !gone.includes(r.row)), skipped)
  const row = rows[0]
  const add = (d: Deed) => setDeeds(list => [d, ...list].slice(0, 50))
  const leave = (r: QueueRow) => setGone(list => [...list, r.row])
  return (
    <>
      <header class="head">
        <h1>Label</h1>
        {row && <p class="queue-size"><strong>{many(rows.length, 'row')}</strong> in your queue. Nobody else is given these rows.</p>}
      </header>
      <ProblemNote error={fault ?? job.error ?? error} />
      <Lost lost={job.lost} />
      {job.job && <JobBar key={job.job.id} job={job.job} title="Picking rows for you" />}
      <div class={deeds.length > 0 ? 'labelling with-deeds' : 'labelling'}>
        {row
          ? <Task key={row.row} campaign={campaign} status={status} row={row} targets={queue.targets} more={rows.length > 1}
              done={d => { add(d); leave(row) }}
              skip={() => setSkipped(list => [...list.filter(x => x !== row.row), row.row])}
              givenBack={() => leave(row)} fail={setFault} />
          : !job.running && <AskForRows status={status} labelled={deeds.length} ask={n => job.start(key => api.ask(campaign, n, key))} />}
        {deeds.length > 0 && <Deeds deeds={deeds} campaign={campaign} undo={undo} correct={setCorrecting} confirm={confirm} />}
      </div>
      {correcting && <CorrectDialog of={{ campaign, id: correcting.row.id, targets: queue.targets, values: correcting.values ?? {}, mark: markOf(status) }} close={() => setCorrecting(null)}
        done={(told, values) => {
          setCorrecting(null)
          if (told.event > 0) add({ event: told.event, row: correcting.row, values, predictions: correcting.predictions ?? {}, corrected: true, waiting: told.waiting })
        }} />}
    </>
  )
}

function AskForRows({ status, labelled, ask }: { status: Campaign; labelled: number; ask: (rows: number) => void }) {
  const usual = Math.min(status.settings.batch ?? defaultBatch, status.open)
  const [text, setText] = useState(String(usual))
  const n = parseNumber(text)
  const right = n !== null && Number.isInteger(n) && n > 0 && n <= Math.max(1, status.open)
  if (status.open === 0) {
    return <Empty title="No row is left to label"><p>All {many(status.rows, 'row')} are labelled, waiting for a second look, out, failed or retired.</p></Empty>
  }
  return (
    <Empty title={labelled > 0 ? 'Your queue is done' : 'No rows are waiting for you'}>
      <p>Ask for rows: nextbatch picks those that teach the most, and keeps them for you until you have labelled them.</p>
      <form class="line ask" onSubmit={e => { e.preventDefault(); if (right) ask(n) }}>
        <label for="how-many">How many?</label>
        <input id="how-many" class="limit" inputMode="numeric" value={text} aria-invalid={right ? undefined : true} onInput={e => setText(e.currentTarget.value)} autofocus />
        <button type="submit" class="primary" disabled={!right}>Ask for rows</button>
      </form>
      <p class="small">{many(status.open, 'row')} can still be picked. Picking fits a model first, which may take a minute.</p>
    </Empty>
  )
}

function Task({ campaign, status, row, targets, more, done, skip, givenBack, fail }: {
  campaign: string; status: Campaign; row: QueueRow; targets: string[]; more: boolean
  done: (d: Deed) => void; skip: () => void; givenBack: () => void; fail: (e: unknown) => void
}) {
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [fault, setFault] = useState('')
  const [busy, setBusy] = useState(false)
  const [failing, setFailing] = useState(false)
  const [key] = useState(newKey)
  const why = withoutPrediction(row.reason)
  const save = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    const read = readLabels(targets, texts, markOf(status))
    if ('fault' in read) { setFault(read.fault); return }
    setBusy(true)
    try {
      const told = await api.tell(campaign, row.id, read.values, key)
      done({ event: told.event, row, values: read.values, predictions: predictionsOf(told, row.id), waiting: told.waiting })
    } catch (e) {
      setFault(problemText(e))
      setBusy(false)
    }
  }
  const act = (what: () => Promise<void>) => { what().catch(fail) }
  useShortcuts([
    { keys: 'Enter', does: 'Save the label and go to the next row' },
    { keys: 'Alt+F', does: 'The row failed', run: () => setFailing(true), inFields: true },
    ...(more ? [{ keys: 'Alt+S', does: 'Skip: show this row last', run: skip, inFields: true }] : []),
    { keys: 'Alt+B', does: 'Give the row back to everybody', run: () => act(async () => { await api.giveBack(campaign, [row.id], ''); givenBack() }), inFields: true },
  ])
  return (
    <article class="card task">
      <div class="line between">
        <h2>{status.id_column ?? 'Row'} <span class="id">{row.id}</span></h2>
        {row.lease_end && <p class="faint small">yours until {new Date(row.lease_end).toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })}</p>}
      </div>
      <Values inputs={row.inputs} columns={status.columns} />
      {why && <p class="why"><span>Why this row</span>{sentence(why)}</p>}
      <form onSubmit={save} noValidate>
        <LabelFields name="target" mark={markOf(status)} targets={targets} texts={texts} fault={fault} change={x => { setTexts(x); setFault('') }} />
        <div class="line actions">
          <button type="submit" class="primary" disabled={busy}>Save and next <kbd>Enter</kbd></button>
          <button type="button" onClick={() => setFailing(true)}>Failed</button>
          {more && <button type="button" onClick={skip}>Skip</button>}
          <button type="button" class="quiet" onClick={() => act(async () => { await api.giveBack(campaign, [row.id], ''); givenBack() })}>Give back</button>
        </div>
        <p class="faint small">The prediction is shown after you have entered the label, so that it cannot steer you.</p>
      </form>
      {failing && <FailDialog campaign={campaign} id={row.id} close={() => setFailing(false)}
        done={(event, reason) => { setFailing(false); done({ event, row, failed: reason || 'failed' }) }} />}
    </article>
  )
}

/** What the person did, the last first. It is shown where it cannot be missed, because that is when slips are noticed. */
function Deeds({ deeds, campaign, undo, correct, confirm }: {
  deeds: Deed[]; campaign: string; undo: (d: Deed) => Promise<void>; correct: (d: Deed) => void; confirm: (d: Deed) => Promise<void>
}) {
  return (
    <section class="card deeds" aria-label="What you just did" aria-live="polite">
      <h2>Just now</h2>
      <ol>
        {deeds.map((d, i) => (
          <li key={d.event}>
            <p><strong class="id">{d.row.id}</strong>{d.corrected && <span class="tag">corrected</span>}{d.confirmed && <span class="tag">confirmed</span>}</p>
            {d.failed !== undefined && <p>Failed{d.failed !== 'failed' && `: ${d.failed}`}</p>}
            {d.values && Object.entries(d.values).filter(([t]) => !d.waiting?.some(w => w.target === t)).map(([t, v]) => <Compared key={t} target={t} label={v} prediction={d.predictions?.[t] ?? null} />)}
            {d.waiting && d.waiting.length > 0 && (
              <Doubtful list={d.waiting}>
                <button type="button" aria-label={`${d.row.id} is right`} onClick={() => { void confirm(d) }}>It is right{i === 0 && <> <kbd>Alt R</kbd></>}</button>
                <button type="button" class="primary" aria-label={`Correct ${d.row.id}, which waits`} onClick={() => correct(d)}>Correct{i === 0 && <> <kbd>Alt C</kbd></>}</button>
              </Doubtful>
            )}
            <div class="line deed-actions">
              {d.values && !d.waiting?.length && <button type="button" class="quiet" aria-label={`Correct ${d.row.id}`} onClick={() => correct(d)}>Correct{i === 0 && <> <kbd>Alt C</kbd></>}</button>}
              <button type="button" class="quiet" aria-label={`Undo ${d.row.id}`} onClick={() => { void undo(d) }}>Undo{i === 0 && <> <kbd>Alt U</kbd></>}</button>
            </div>
          </li>
        ))}
      </ol>
      {deeds.length > 1 && <p class="small earlier"><a href={pathOf({ view: 'history', campaign })}>Earlier entries</a></p>}
    </section>
  )
}

function Compared({ target, label, prediction }: { target: string; label: number; prediction: { value: number; low?: number; high?: number } | null }) {
  const unit = unitOf(target)
  const inside = prediction && within(label, prediction)
  return (
    <p class="compared">
      <span>{nameWithoutUnit(target)} <strong>{exact(label)}</strong> {unit}</span>
      {prediction
        ? <span class="faint">predicted {predicted(prediction)}
            {inside === false && <span class="surprise"> a surprise: outside the 90 % interval</span>}</span>
        : <span class="faint">no prediction was made: too few labels for a model</span>}
    </p>
  )
}

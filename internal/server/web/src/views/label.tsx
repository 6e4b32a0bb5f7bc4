import { useState } from 'preact/hooks'
import { api, newKey, problemText, sentence } from '../api'
import { limitsOf, overrides, typedLimits, wrongLimits } from '../batchlimits'
import type { TypedLimits } from '../batchlimits'
import { count, exact, many, nameWithoutUnit, predicted, unitOf } from '../format'
import { useJob } from '../jobs'
import { useShortcuts } from '../keys'
import { readLabels, signOf } from '../labels'
import { BatchLimitsFields } from '../parts/batchlimits'
import { CorrectDialog } from '../parts/correct'
import { FailDialog } from '../parts/faildialog'
import { JobBar } from '../parts/job'
import { LabelFields } from '../parts/labelfields'
import { Empty, Loading, Lost, ProblemNote } from '../parts/notice'
import { Plates } from '../parts/plate'
import { RowDialog } from '../parts/rowdialog'
import { Doubtful } from '../parts/secondlook'
import { Values } from '../parts/values'
import { keyOf, measurementName, placeText } from '../places'
import { markOf, parseNumber } from '../reading'
import { pathOf } from '../router'
import { isReplicate, ordered, predictionsOf, within } from '../queue'
import type { Predictions } from '../kinds'
import { batchWords } from '../textstyle'
import { defaultBatch } from '../types'
import type { AskRequest, Campaign, Job, QueueRow, Session, Waiting } from '../types'
import { useEvery, useLoad } from '../use'

/** Something that this person just did, for the list beside the form. */
interface Deed {
  event: number; row: QueueRow; several: boolean; values?: Record<string, number>; censored?: Record<string, number>; predictions?: Predictions; failed?: string; corrected?: boolean
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
  const [skipped, setSkipped] = useState<string[]>([]) // keys of measurements
  const [gone, setGone] = useState<string[]>([])
  const [chosen, setChosen] = useState('') // on a plate
  const [looking, setLooking] = useState<number | null>(null) // at a row that is not in the queue
  const [wanted, setWanted] = useState<Wanted>({})
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
      if (!d.corrected) setGone(list => list.filter(x => x !== keyOf(d.row)))
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
  const rows = ordered(queue.rows.filter(r => !gone.includes(keyOf(r))), skipped)
  const row = rows.find(r => keyOf(r) === chosen) ?? rows[0]
  const add = (d: Deed) => setDeeds(list => [d, ...list].slice(0, 50))
  const leave = (r: QueueRow) => { setGone(list => [...list, keyOf(r)]); setChosen('') }
  const skip = (key: string) => { setSkipped(list => [...list.filter(x => x !== key), key]); setChosen('') }
  const choose = (key: string) => { setChosen(key); document.getElementById('target-0')?.focus() } // another measurement takes the focus itself
  const todo = new Set(rows.map(keyOf))
  return (
    <>
      <header class="head">
        <h1>Label</h1>
        {row && <p class="queue-size"><strong>{many(rows.length, new Set(rows.map(r => r.row)).size < rows.length ? 'measurement' : 'row')}</strong> in your queue. Nobody else is given these rows.</p>}
      </header>
      <ProblemNote error={fault ?? (row ? job.error : null) ?? error} />
      <Lost lost={job.lost} />
      {row && <Remarks warnings={queue.warnings} />}
      {job.job && <JobBar key={job.job.id} job={job.job} title="Picking rows for you" />}
      <div class={deeds.length > 0 ? 'labelling with-deeds' : 'labelling'}>
        {row
          ? <Task key={keyOf(row)} campaign={campaign} status={status} row={row} several={isReplicate(row, queue.rows)} targets={queue.targets} more={rows.length > 1}
              done={d => { add(d); leave(row) }}
              skip={() => skip(keyOf(row))}
              givenBack={() => leave(row)} fail={setFault} />
          : !job.running && <AskForRows status={status} labelled={deeds.length} wanted={wanted} change={setWanted} error={job.error} ask={w => job.start(key => api.ask(campaign, w, key))} />}
        {deeds.length > 0 && <Deeds deeds={deeds} campaign={campaign} undo={undo} correct={setCorrecting} confirm={confirm} />}
        {row?.well && <PlateCard status={status} ask={row.ask} current={keyOf(row)} todo={todo} choose={choose} look={setLooking} />}
      </div>
      {looking !== null && <RowDialog campaign={status} session={session} row={looking} close={() => setLooking(null)} changed={reload} />}
      {correcting && <CorrectDialog of={{ campaign, id: correcting.row.id, replicate: correcting.several ? correcting.row.replicate : undefined, targets: queue.targets, values: correcting.values ?? {}, censored: correcting.censored, lod: status.settings.lod, mark: markOf(status) }} close={() => setCorrecting(null)}
        done={(told, entered) => {
          setCorrecting(null)
          if (told.event > 0) add({ event: told.event, row: correcting.row, several: correcting.several, ...entered, predictions: correcting.predictions ?? {}, corrected: true, waiting: told.waiting })
        }} />}
    </>
  )
}

/** What was said about the batches of the queue, folded. */
function Remarks({ warnings }: { warnings: string[] }) {
  if (warnings.length === 0) return null
  return (
    <details class="note small remarks">
      <summary>{many(warnings.length, 'remark')} on how the rows were picked</summary>
      <ul>{warnings.map(w => <li key={w}>{sentence(batchWords(w))}</li>)}</ul>
    </details>
  )
}

/** The plates of the batch that is being measured. A click on a well goes to its measurement or, if that is not in the queue, to its row. */
function PlateCard({ status, ask, current, todo, choose, look }: {
  status: Campaign; ask: number; current: string; todo: Set<string>; choose: (key: string) => void; look: (row: number) => void
}) {
  const { data, error } = useLoad(() => api.batch(status.name, ask), [status.name, ask])
  return (
    <section class="card plate-card">
      <h2>Plates of batch {count(ask)}</h2>
      <ProblemNote error={error} />
      {data && <Plates batch={data} groupColumn={status.settings.group_column} current={current} todo={todo} open={m => todo.has(keyOf(m)) ? choose(keyOf(m)) : look(m.row)} />}
    </section>
  )
}

/** What a person has typed about the next batch; as the settings say where it is absent. */
interface Wanted { rows?: string; limits?: TypedLimits }

function AskForRows({ status, labelled, wanted, change, error, ask }: {
  status: Campaign; labelled: number; wanted: Wanted; change: (w: Wanted) => void; error: unknown; ask: (w: AskRequest) => void
}) {
  const typed = wanted.limits ?? typedLimits(status.settings)
  const { replicates, replicate_share: share } = limitsOf(typed)
  const times = Math.max(1, replicates)
  const most = times * status.open + (share > 0 ? status.labelled : 0)
  const text = wanted.rows ?? String(Math.min(status.settings.batch ?? defaultBatch, most))
  const n = parseNumber(text)
  const right = n !== null && Number.isInteger(n) && n > 0 && n <= Math.max(1, most)
  const submit = (event: Event) => {
    event.preventDefault()
    if (right && wrongLimits(typed).length === 0) ask({ rows: n, ...overrides(status.settings, typed) })
  }
  if (status.open === 0) {
    return <Empty title="No row is left to label"><p>All {many(status.rows, 'row')} are labelled, waiting for a second look, out, failed or retired.</p></Empty>
  }
  return (
    <Empty title={labelled > 0 ? 'Your queue is done' : 'No rows are waiting for you'}>
      <p>Ask for rows: nextbatch picks those that teach the most, and keeps them for you until you have labelled them.</p>
      <form class="ask-form" onSubmit={submit}>
        <div class="line ask">
          <label for="how-many">How many?</label>
          <input id="how-many" class="limit" inputMode="numeric" value={text} aria-invalid={right ? undefined : true} onInput={e => change({ ...wanted, rows: e.currentTarget.value })} autofocus />
          <button type="submit" class="primary" disabled={!right || wrongLimits(typed).length > 0}>Ask for rows</button>
        </div>
        {right && times > 1 && <p class="small" role="status">{share > 0 ? `Measurements: each new row is measured ${count(times)} times.` : n % times === 0 ? `${many(n / times, 'row')}, each measured ${count(times)} times.` : `Write a multiple of ${count(times)}: each row is measured so often.`}</p>}
        <BatchLimitsFields typed={typed} change={limits => change({ ...wanted, limits })} columns={status.columns.map(c => c.name)} groups={false} error={error} />
      </form>
      <p class="small">{many(status.open, 'row')} can still be picked. Picking fits a model first, which may take a minute.</p>
    </Empty>
  )
}

function Task({ campaign, status, row, several, targets, more, done, skip, givenBack, fail }: {
  campaign: string; status: Campaign; row: QueueRow; several: boolean; targets: string[]; more: boolean
  done: (d: Deed) => void; skip: () => void; givenBack: () => void; fail: (e: unknown) => void
}) {
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [fault, setFault] = useState('')
  const [busy, setBusy] = useState(false)
  const [failing, setFailing] = useState(false)
  const [key] = useState(newKey)
  const why = row.reason
  const name = measurementName(row.id, row.replicate, several)
  const place = placeText(row, several)
  const save = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    const read = readLabels(targets, texts, markOf(status), status.settings.lod, status.labels)
    if ('fault' in read) { setFault(read.fault); return }
    setBusy(true)
    try {
      const told = await api.tell(campaign, { id: row.id, ...read, ...(several ? { replicate: row.replicate } : {}) }, key)
      done({ event: told.event, row, several, ...read, predictions: predictionsOf(told, row.id), waiting: told.waiting })
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
    { keys: 'Alt+B', does: 'Give the row back to everybody', run: () => act(async () => { await api.giveBack(campaign, [name], ''); givenBack() }), inFields: true },
  ])
  return (
    <article class="card task">
      <div class="line between">
        <h2>{status.id_column ?? 'Row'} <span class="id">{row.id}</span></h2>
        {row.lease_end && <p class="faint small">yours until {new Date(row.lease_end).toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })}</p>}
      </div>
      {place.length > 0 && <ul class="place" aria-label="Which measurement it is">{place.map(p => <li key={p}>{p}</li>)}</ul>}
      <Values inputs={row.inputs} columns={status.columns} />
      {why && <p class="why"><span>Why this row</span>{sentence(why)}</p>}
      <form onSubmit={save} noValidate>
        <LabelFields name="target" mark={markOf(status)} labels={status.labels} targets={targets} texts={texts} fault={fault} change={x => { setTexts(x); setFault('') }} />
        <div class="line actions">
          <button type="submit" class="primary" disabled={busy}>Save and next <kbd>Enter</kbd></button>
          <button type="button" onClick={() => setFailing(true)}>Failed</button>
          {more && <button type="button" onClick={skip}>Skip</button>}
          <button type="button" class="quiet" onClick={() => act(async () => { await api.giveBack(campaign, [name], ''); givenBack() })}>Give back</button>
        </div>
        <p class="faint small">The prediction is shown after you have entered the label, so that it cannot steer you.</p>
      </form>
      {failing && <FailDialog campaign={campaign} id={name} title={several ? `Replicate ${row.replicate} of ${row.id}` : row.id} close={() => setFailing(false)}
        done={(event, reason) => { setFailing(false); done({ event, row, several, failed: reason || 'failed' }) }} />}
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
            <p><strong class="id">{d.row.id}</strong>{d.several && <span class="tag">replicate {d.row.replicate}</span>}{d.corrected && <span class="tag">corrected</span>}{d.confirmed && <span class="tag">confirmed</span>}</p>
            {d.failed !== undefined && <p>Failed{d.failed !== 'failed' && `: ${d.failed}`}</p>}
            {d.values && Object.entries(d.values).filter(([t]) => !d.waiting?.some(w => w.target === t)).map(([t, v]) => <Compared key={t} target={t} label={v} side={d.censored?.[t] ?? 0} prediction={d.predictions?.[t] ?? null} />)}
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

function Compared({ target, label, side, prediction }: { target: string; label: number; side: number; prediction: { value: number; low?: number; high?: number } | null }) {
  const unit = unitOf(target)
  const inside = prediction && (side !== 0 || within(label, prediction))
  return (
    <p class="compared">
      <span>{nameWithoutUnit(target)} <strong>{signOf(side)}{exact(label)}</strong> {unit}</span>
      {prediction
        ? <span class="faint">predicted {predicted(prediction)}
            {inside === false && <span class="surprise"> a surprise: outside the 90 % interval</span>}</span>
        : <span class="faint">no prediction was made: too few labels for a model</span>}
    </p>
  )
}

import { useEffect, useState } from 'preact/hooks'
import { api } from '../api'
import { byDay, eventText, grouped, labelsOf, reasonOf, runText, undoable } from '../events'
import type { Run } from '../events'
import { count, day, many } from '../format'
import { Modal } from '../parts/modal'
import { Loading, ProblemNote } from '../parts/notice'
import type { LogEvent, Session } from '../types'
import { useEvery, useLoad } from '../use'

const size = 100

export function History({ campaign, session }: { campaign: string; session: Session }) {
  const [pages, setPages] = useState(1)
  const [undoing, setUndoing] = useState<LogEvent | null>(null)
  const { data, error, loading, reload } = useLoad(async () => {
    const last = (await api.campaign(campaign)).event
    const events: LogEvent[] = []
    let after = Math.max(0, last - pages * size)
    const oldest = after
    while (after < last) {
      const part = await api.events(campaign, after, 1000)
      if (part.length === 0) break
      events.push(...part)
      after = part[part.length - 1]!.event
    }
    return { events: events.reverse(), older: oldest }
  }, [campaign, pages])
  useEvery(15, reload)
  useEffect(() => setPages(1), [campaign])
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the history" />
  const may = (e: LogEvent) => undoable(e) && (session.role === 'owner' || (session.role === 'labeller' && e.person === session.person))
  return (
    <>
      <header class="head"><h1>History</h1><p>Everything that ever happened here, the latest first. Nothing is deleted: undoing an event adds another one.</p></header>
      <ProblemNote error={error} retry={reload} />
      {byDay(data.events, day).map(d => (
        <section class="day" key={d.day}>
          <h2>{d.day}</h2>
          <ol class="card log">
            {grouped(d.events).map(e => 'events' in e
              ? <RunEntry key={`${e.person} ${e.events.at(-1)!.event}`} run={e} undo={x => may(x) ? () => setUndoing(x) : null} />
              : <Entry key={e.event} e={e} undo={may(e) ? () => setUndoing(e) : null} />)}
          </ol>
        </section>
      ))}
      {data.older > 0 && <p><button type="button" disabled={loading} onClick={() => setPages(n => n + 1)}>Show older events ({count(data.older)} more)</button></p>}
      {undoing && <UndoDialog campaign={campaign} e={undoing} close={() => setUndoing(null)} done={() => { setUndoing(null); reload() }} />}
    </>
  )
}

const clock = (time: string) => new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

/** Many labels that one person entered one by one. */
function RunEntry({ run, undo }: { run: Run; undo: (e: LogEvent) => (() => void) | null }) {
  const last = run.events[0]!, first = run.events.at(-1)!
  return (
    <li class="entry run">
      <time class="faint small" dateTime={last.time} title={`Events ${first.event} to ${last.event}`}>{clock(last.time)}</time>
      <details>
        <summary><strong>{run.person || 'Somebody'}</strong> {runText(run)}<span class="faint">, {clock(first.time) === clock(last.time) ? `at ${clock(last.time)}` : `${clock(first.time)} to ${clock(last.time)}`}</span></summary>
        <ol>{run.events.map(e => <Entry key={e.event} e={e} undo={undo(e)} />)}</ol>
      </details>
    </li>
  )
}

function Entry({ e, undo }: { e: LogEvent; undo: (() => void) | null }) {
  return (
    <li class={e.undone ? 'entry undone' : 'entry'}>
      <time class="faint small" dateTime={e.time} title={`Event ${e.event}`}>{clock(e.time)}</time>
      <div>
        <p><strong>{e.person || 'Somebody'}</strong> {eventText(e)}{e.undone && e.kind !== 'undone' && <span class="tag">undone</span>}</p>
        {reasonOf(e) && <p class="faint">“{reasonOf(e)}”</p>}
        <RowNames e={e} />
      </div>
      {undo && <button type="button" class="quiet" aria-label={`Undo event ${e.event}`} onClick={undo}>Undo</button>}
    </li>
  )
}

const shown = 6

function RowNames({ e }: { e: LogEvent }) {
  if (e.rows.length === 0) return null
  const labels = labelsOf(e)
  const first = e.rows.slice(0, shown)
  return (
    <p class="names small">
      {first.map(r => <span key={r.row} class="name">{r.id}{labels.has(r.id) && <b> {labels.get(r.id)}</b>}</span>)}
      {e.rows.length > shown && <span class="faint">and {many(e.rows.length - shown, 'more row')}</span>}
    </p>
  )
}

function UndoDialog({ campaign, e, close, done }: { campaign: string; e: LogEvent; close: () => void; done: () => void }) {
  const [reason, setReason] = useState('')
  const [error, setError] = useState<unknown>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      await api.undo(campaign, e.event, reason.trim())
      done()
    } catch (problem) {
      setError(problem)
    }
  }
  return (
    <Modal title={`Undo event ${e.event}?`} close={close}>
      <form class="stack" onSubmit={submit}>
        <p>{e.person || 'Somebody'} {eventText(e)}. Afterwards the campaign is as if that had not happened. You can undo the undoing, too.</p>
        <div class="field"><label for="undo-reason">Why?</label><input id="undo-reason" value={reason} maxLength={1000} autofocus placeholder="wrong flask" onInput={x => setReason(x.currentTarget.value)} /></div>
        <ProblemNote error={error} />
        <div class="line"><button type="submit" class="primary">Undo it</button><button type="button" onClick={close}>Leave it</button></div>
      </form>
    </Modal>
  )
}

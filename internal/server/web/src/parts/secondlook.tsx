import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '../api'
import { ago, exact, nameWithoutUnit, range, unitOf } from '../format'
import { mayCorrect, signOf } from '../labels'
import { markOf } from '../reading'
import type { Campaign, Session, Waiting } from '../types'
import { CorrectDialog } from './correct'
import { ProblemNote } from './notice'

/** Why a label waits: its value, what was expected, and what may have happened. */
export function Why({ w }: { w: Waiting }) {
  const { low, high, scale, slip } = w.doubt
  return (
    <p><strong>{nameWithoutUnit(w.target)} {w.value === null ? '' : signOf(w.censored) + exact(w.value)}</strong> {unitOf(w.target)}; expected {range(low, high).join(' to ')}{scale && ` on a ${scale} scale`}
      {slip && <>. <strong class="slip">{slip[0]!.toUpperCase() + slip.slice(1)}</strong></>}</p>
  )
}

/** Labels of one row that wait for a second look, with what one can do. */
export function Doubtful({ list, children }: { list: Waiting[]; children: ComponentChildren }) {
  return (
    <div class="doubtful">
      <p class="small">Waits for a second look. Nothing learns from it until somebody confirms or corrects it.</p>
      {list.map(w => <Why key={`${w.event} ${w.target}`} w={w} />)}
      <div class="line">{children}</div>
    </div>
  )
}

/** Labels that wait, by row, the oldest first. */
export function byRow(list: Waiting[]): Waiting[][] {
  const rows = new Map<number, Waiting[]>()
  for (const w of list) rows.set(w.row, [...rows.get(w.row) ?? [], w])
  return [...rows.values()]
}

/** The labels of a campaign that wait, each with buttons to confirm and to correct it. */
export function SecondLooks({ campaign, session, list, changed, open }: {
  campaign: Campaign; session: Session; list: Waiting[]; changed: () => void; open: (row: number) => void
}) {
  const [correcting, setCorrecting] = useState<Waiting[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const confirm = async (id: string) => {
    setError(null)
    try {
      await api.confirm(campaign.name, [id])
      changed()
    } catch (e) {
      setError(e)
    }
  }
  return (
    <>
      <ProblemNote error={error} />
      <ul class="second-looks">
        {byRow(list).map(of => {
          const { id, row, person, since } = of[0]!
          return (
            <li key={row}>
              <p class="line between"><button type="button" class="quiet id" onClick={() => open(row)}>{id}</button><span class="faint small">{person || 'somebody'}, {ago(since)}</span></p>
              {of.map(w => <Why key={`${w.event} ${w.target}`} w={w} />)}
              {session.role !== 'viewer' && (
                <div class="line">
                  <button type="button" aria-label={`${id} is right`} onClick={() => { void confirm(id) }}>It is right</button>
                  {mayCorrect(session, of.map(w => w.person)) && <button type="button" aria-label={`Correct ${id}`} onClick={() => setCorrecting(of)}>Correct</button>}
                </div>
              )}
            </li>
          )
        })}
      </ul>
      {correcting && <CorrectDialog of={{ campaign: campaign.name, id: correcting[0]!.id, targets: campaign.targets, values: Object.fromEntries(correcting.map(w => [w.target, w.value])), censored: Object.fromEntries(correcting.map(w => [w.target, w.censored ?? 0])), lod: campaign.settings.lod, mark: markOf(campaign) }}
        close={() => setCorrecting(null)} done={() => { setCorrecting(null); changed() }} />}
    </>
  )
}

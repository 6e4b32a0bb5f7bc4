import { useState } from 'preact/hooks'
import { api, sentence } from '../api'
import { exact, moment, predicted, unitOf } from '../format'
import { mayCorrect, signOf } from '../labels'
import { placeText } from '../places'
import { markOf } from '../reading'
import type { Campaign, Measurement, Outstanding, RowHistory, Session } from '../types'
import { useLoad } from '../use'
import { CorrectForm } from './correct'
import { Doubtful } from './secondlook'
import { Modal } from './modal'
import { Loading, ProblemNote } from './notice'
import { PlateDialog } from './plate'
import { Values } from './values'

/** Everything that is known about a row, and ways to correct its label and to see its plates. */
export function RowDialog({ campaign, session, row: first, close, changed }: { campaign: Campaign; session: Session; row: number; close: () => void; changed: () => void }) {
  const [row, setRow] = useState(first) // another one after a click on its well
  const [plates, setPlates] = useState<number | null>(null) // the ask whose plates are shown
  const [correcting, setCorrecting] = useState<Correcting | null>(null)
  const [fault, setFault] = useState<unknown>(null)
  const { data, error, reload } = useLoad(() => api.row(campaign.name, row), [campaign.name, row])
  const confirm = async (id: string) => {
    try {
      await api.confirm(campaign.name, [id])
      reload()
      changed()
    } catch (e) {
      setFault(e)
    }
  }
  const may = data !== null && data.status !== 'retired' && data.measurements.length > 0
  const mine = data ? data.measurements.filter(m => mayCorrect(session, [m.person])) : []
  const waits = data !== null && data.waiting.length > 0
  return (
    <Modal wide title={data ? `${campaign.id_column ?? 'Row'} ${data.id}` : `Row ${row}`} close={close}>
      <ProblemNote error={fault ?? error} />
      {!data && !error && <Loading what="the row" />}
      {data && <Known row={data} campaign={campaign} plates={setPlates} correct={may && !correcting ? mine : []} change={m => setCorrecting({ replicate: m.replicate, values: { ...m.values, ...waitingValues(data, m.replicate) }, censored: m.censored })} />}
      {waits && !correcting && (
        <Doubtful list={data.waiting}>
          {session.role !== 'viewer' && <button type="button" onClick={() => { void confirm(data.id) }}>It is right</button>}
        </Doubtful>
      )}
      {data && correcting
        ? <CorrectForm key={correcting.replicate} of={{ campaign: campaign.name, id: data.id, replicate: correcting.replicate, targets: campaign.targets, values: correcting.values, censored: correcting.censored, lod: campaign.settings.lod, mark: markOf(campaign) }} cancel={() => setCorrecting(null)}
            done={() => { setCorrecting(null); reload(); changed() }} />
        : (
          <form method="dialog" class="line">
            <button autofocus>Close</button>
            {may && data.measurements.length === 1 && mine.length === 1 &&
              <button type="button" onClick={() => setCorrecting({ values: { ...data.labels, ...waitingValues(data) }, censored: data.measurements[0]?.censored })}>Correct the label</button>}
          </form>
        )}
      {plates !== null && <PlateDialog campaign={campaign} ask={plates} close={() => setPlates(null)} open={r => { setPlates(null); setCorrecting(null); setRow(r) }} />}
    </Modal>
  )
}

/** What is being corrected: one of several measurements, or the only one. */
interface Correcting { replicate?: number; values: Record<string, number | null>; censored?: Record<string, number> | undefined }

/** The numbers of a measurement that wait for a second look; without its number those of the only one. */
function waitingValues(row: RowHistory, replicate?: number): Record<string, number | null> {
  return Object.fromEntries(row.waiting.filter(w => replicate === undefined || w.replicate === replicate).map(w => [w.target, w.value]))
}

function Known({ row, campaign, plates, correct, change }: {
  row: RowHistory; campaign: Campaign; plates: (ask: number) => void
  correct: Measurement[] // of several measurements, those that can be corrected one by one
  change: (m: Measurement) => void
}) {
  const why = row.reason
  return (
    <>
      <p><span class={`dot ${row.status}`} />{row.status}{row.failures > 0 && `, failed ${row.failures} times`}</p>
      <dl class="values labels">
        {campaign.targets.map(t => {
          const label = row.labels[t]
          const p = row.predictions?.[t]
          return (
            <div key={t}>
              <dt>{t}</dt>
              <dd><strong>{label === null || label === undefined ? 'no label' : signOf(row.censored?.[t]) + exact(label)}</strong> {label === null || label === undefined ? '' : unitOf(t)}
                {p && <span class="faint small"> predicted before: {predicted(p)}</span>}</dd>
            </div>
          )
        })}
      </dl>
      {row.measurements.length > 0 && <Measured list={row.measurements} targets={campaign.targets} plates={plates} correct={correct} change={change} />}
      <Out list={row.out} several={row.out.length + row.measurements.length > 1} plates={plates} />
      {why && <p class="why"><span>Why it was picked</span>{sentence(why)}</p>}
      <Values inputs={row.inputs} columns={campaign.columns} />
    </>
  )
}

/** Who measured the row, when and where; with several measurements, also what. */
function Measured({ list, targets, plates, correct, change }: {
  list: Measurement[]; targets: string[]; plates: (ask: number) => void; correct: Measurement[]; change: (m: Measurement) => void
}) {
  const several = list.length > 1
  return (
    <ul class="measurements faint small" aria-label="Measurements">
      {list.map(m => (
        <li key={m.replicate}>{several && <strong>{targets.filter(t => m.values[t] !== undefined).map(t => signOf(m.censored?.[t]) + exact(m.values[t]!)).join(', ')} </strong>}
          {several ? 'by' : 'Measured by'} {m.person || 'somebody'}, {[moment(m.time), ...placeText(m, several)].join('; ')}
          <PlateButton m={m} plates={plates} />
          {several && correct.includes(m) && <button type="button" class="quiet" aria-label={`Correct replicate ${m.replicate}`} onClick={() => change(m)}>Correct</button>}</li>
      ))}
    </ul>
  )
}

/** The measurements of a row that are out, where there is more to say than that. */
function Out({ list, several, plates }: { list: Outstanding[]; several: boolean; plates: (ask: number) => void }) {
  if (list.every(m => placeText(m, several).length === 0)) return null
  return (
    <ul class="measurements faint small" aria-label="Measurements that are out">
      {list.map(m => <li key={m.replicate}>Out with {m.person || 'somebody'}: {placeText(m, several).join('; ')}<PlateButton m={m} plates={plates} /></li>)}
    </ul>
  )
}

function PlateButton({ m, plates }: { m: Measurement | Outstanding; plates: (ask: number) => void }) {
  const { ask, well } = m
  if (!ask || !well) return null
  return <button type="button" class="quiet" aria-label={`Show well ${well} on its plate`} onClick={() => plates(ask)}>Plate</button>
}

import { useState } from 'preact/hooks'
import { api, sentence } from '../api'
import { exact, moment, predicted, unitOf } from '../format'
import { mayCorrect } from '../labels'
import { withoutPrediction } from '../queue'
import { markOf } from '../reading'
import type { Campaign, Measurement, RowHistory, Session } from '../types'
import { useLoad } from '../use'
import { CorrectForm } from './correct'
import { Doubtful } from './secondlook'
import { Modal } from './modal'
import { Loading, ProblemNote } from './notice'
import { Values } from './values'

/** Everything that is known about a row, and a way to correct its label. */
export function RowDialog({ campaign, session, row, close, changed }: { campaign: Campaign; session: Session; row: number; close: () => void; changed: () => void }) {
  const [correcting, setCorrecting] = useState(false)
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
  const waits = data !== null && data.waiting.length > 0
  return (
    <Modal wide title={data ? `${campaign.id_column ?? 'Row'} ${data.id}` : `Row ${row}`} close={close}>
      <ProblemNote error={fault ?? error} />
      {!data && !error && <Loading what="the row" />}
      {data && <Known row={data} campaign={campaign} />}
      {waits && !correcting && (
        <Doubtful list={data.waiting}>
          {session.role !== 'viewer' && <button type="button" onClick={() => { void confirm(data.id) }}>It is right</button>}
        </Doubtful>
      )}
      {data && correcting
        ? <CorrectForm of={{ campaign: campaign.name, id: data.id, targets: campaign.targets, values: { ...data.labels, ...Object.fromEntries(data.waiting.map(w => [w.target, w.value])) }, mark: markOf(campaign) }} cancel={() => setCorrecting(false)}
            done={() => { setCorrecting(false); reload(); changed() }} />
        : (
          <form method="dialog" class="line">
            <button autofocus>Close</button>
            {data && data.measurements.length > 0 && data.status !== 'retired' && mayCorrect(session, data.measurements.map(m => m.person)) &&
              <button type="button" onClick={() => setCorrecting(true)}>Correct the label</button>}
          </form>
        )}
    </Modal>
  )
}

function Known({ row, campaign }: { row: RowHistory; campaign: Campaign }) {
  const why = row.measurements.length > 0 ? row.reason : withoutPrediction(row.reason ?? '')
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
              <dd><strong>{label === null || label === undefined ? 'no label' : exact(label)}</strong> {label === null || label === undefined ? '' : unitOf(t)}
                {p && <span class="faint small"> predicted before: {predicted(p)}</span>}</dd>
            </div>
          )
        })}
      </dl>
      {row.measurements.length > 0 && <Measured list={row.measurements} targets={campaign.targets} />}
      {why && <p class="why"><span>Why it was picked</span>{sentence(why)}</p>}
      <Values inputs={row.inputs} columns={campaign.columns} />
    </>
  )
}

/** Who measured the row and when; with several measurements, also what. */
function Measured({ list, targets }: { list: Measurement[]; targets: string[] }) {
  return (
    <ul class="faint small">
      {list.map(m => (
        <li key={m.event}>{list.length > 1 && <>{targets.filter(t => m.values[t] !== undefined).map(t => exact(m.values[t]!)).join(', ')} </>}
          {list.length > 1 ? 'by' : 'Measured by'} {m.person || 'somebody'}, {moment(m.time)}</li>
      ))}
    </ul>
  )
}

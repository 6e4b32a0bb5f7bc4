import { api, sentence } from '../api'
import { exact, number, unitOf } from '../format'
import { withoutPrediction } from '../queue'
import type { Campaign, RowHistory } from '../types'
import { useLoad } from '../use'
import { Modal } from './modal'
import { Loading, ProblemNote } from './notice'
import { Values } from './values'

/** Everything that is known about a row. */
export function RowDialog({ campaign, row, close }: { campaign: Campaign; row: number; close: () => void }) {
  const { data, error } = useLoad(() => api.row(campaign.name, row), [campaign.name, row])
  return (
    <Modal wide title={data ? `${campaign.id_column ?? 'Row'} ${data.id}` : `Row ${row}`} close={close}>
      <ProblemNote error={error} />
      {!data && !error && <Loading what="the row" />}
      {data && <Known row={data} campaign={campaign} />}
      <form method="dialog"><button autofocus>Close</button></form>
    </Modal>
  )
}

function Known({ row, campaign }: { row: RowHistory; campaign: Campaign }) {
  const why = row.status === 'labelled' ? row.reason : withoutPrediction(row.reason ?? '')
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
                {p && <span class="faint small"> predicted before: {number(p.value)}{p.low !== undefined && p.high !== undefined && ` (${number(p.low)} to ${number(p.high)})`}</span>}</dd>
            </div>
          )
        })}
      </dl>
      {why && <p class="why"><span>Why it was picked</span>{sentence(why)}</p>}
      <Values inputs={row.inputs} columns={campaign.columns} />
    </>
  )
}

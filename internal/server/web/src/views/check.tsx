import { useState } from 'preact/hooks'
import { api } from '../api'
import { estimated, exact, many, nameWithoutUnit, rough } from '../format'
import { useJob } from '../jobs'
import { JobBar } from '../parts/job'
import { Loading, Lost, ProblemNote } from '../parts/notice'
import { RowDialog } from '../parts/rowdialog'
import { SecondLooks } from '../parts/secondlook'
import type { Audit, AuditTarget, Campaign, Session } from '../types'
import { useEvery, useLoad } from '../use'

/** Labels that somebody should look at again. */
export function Check({ campaign, session }: { campaign: string; session: Session }) {
  const [opened, setOpened] = useState<number | null>(null)
  const { data, error, reload } = useLoad(async () => {
    const [status, standing, audit] = await Promise.all([api.campaign(campaign), api.standing(campaign), api.audit(campaign)])
    return { status, list: standing.doubtful, audit }
  }, [campaign])
  useEvery(15, reload)
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the labels" />
  const { status, list, audit } = data
  return (
    <>
      <header class="head"><h1>Check labels</h1></header>
      <ProblemNote error={error} retry={reload} />
      <div class="stack checks">
        <section class="card">
          <h2>Waiting for a second look</h2>
          {list.length === 0
            ? <p class="faint">No label waits. One that is far from what was expected, as after a slip of the decimal point, would: it is kept, but nothing learns from it before somebody confirms or corrects it.</p>
            : <SecondLooks campaign={status} session={session} list={list} changed={reload} open={setOpened} />}
        </section>
        <Audited status={status} session={session} audit={audit} reload={reload} open={setOpened} />
      </div>
      {opened !== null && <RowDialog campaign={status} session={session} row={opened} close={() => setOpened(null)} changed={reload} />}
    </>
  )
}

const fewest = 20 // labels that say something about the tail of the errors

/** Labels among all that look wrong, once somebody has started the search. */
function Audited({ status, session, audit, reload, open }: { status: Campaign; session: Session; audit: Audit | null; reload: () => void; open: (row: number) => void }) {
  const job = useJob(status.name, session.person, 'audit', j => { if (j.state === 'done') reload() })
  const enough = status.labelled >= fewest
  return (
    <section class="card">
      <h2>Looks wrong among all labels</h2>
      <ProblemNote error={job.error} />
      <Lost lost={job.lost} />
      {job.job && <JobBar key={job.job.id} job={job.job} title="Looking through all labels" />}
      {audit
        ? audit.targets.map(t => <Findings key={t.target} t={t} many={audit.targets.length > 1} open={open} />)
        : <p class="faint">{enough ? 'Each label is compared with what models predict that have not seen it. That takes about as long as a few batches.' : `It takes ${fewest} labels to look for wrong ones.`}</p>}
      {audit?.warnings.map(w => <p key={w} class="note warn small">{w}</p>)}
      {session.role !== 'viewer' && enough && !job.running &&
        <p class="line"><button type="button" onClick={() => job.start(() => api.makeAudit(status.name))}>{audit ? `Look again, through ${many(status.labelled, 'label')}` : `Look through ${many(status.labelled, 'label')}`}</button></p>}
    </section>
  )
}

function Findings({ t, many: several, open }: { t: AuditTarget; many: boolean; open: (row: number) => void }) {
  return (
    <>
      <p>{several && <strong>{nameWithoutUnit(t.target)}: </strong>}{t.answer}</p>
      <div class="scroll" tabIndex={0} role="group" aria-label={`Labels of ${t.target} that disagree most`}>
        <table>
          <thead><tr><th>Row</th><th class="number">Label</th><th class="number more">Prediction</th><th class="number">Interval</th><th class="number more">Score</th><th class="number more">p</th></tr></thead>
          <tbody>{t.findings.map((f, i) => (
            <tr key={f.row} class={i < t.suspects && !f.changed ? 'suspect' : undefined}>
              <td><button type="button" class="quiet id" onClick={() => open(f.row)}>{f.id}</button>{f.changed && <span class="tag">changed since</span>}</td>
              <td class="number">{exact(f.label)}</td><td class="number more">{estimated(f.prediction, f.low, f.high)[0]}</td><td class="number">{estimated(f.prediction, f.low, f.high).slice(1).join(' to ')}</td>
              <td class="number more">{rough(f.score, 3)}</td><td class="number more">{f.p === undefined ? '–' : rough(f.p)}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      <p class="faint small">The interval holds a right label with a probability of 95 %. Score: the error over the median error of such rows. A label on this list may be right: the row may be unlike all others. Measure it again before you change it.</p>
    </>
  )
}

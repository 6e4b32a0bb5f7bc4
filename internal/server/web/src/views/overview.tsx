import { useEffect, useState } from 'preact/hooks'
import { api, sentence } from '../api'
import { ago, count, limits, many, markedIn, middle, nameWithoutUnit, number, percent, rough, unitOf } from '../format'
import { stageText, useJob } from '../jobs'
import { LearningCurve } from '../parts/curve'
import { Model } from '../parts/learners'
import { Loading, Lost, ProblemNote } from '../parts/notice'
import { SettingsDialog } from '../parts/settings'
import { StatusBar } from '../parts/statusbar'
import { StopRuleForm } from '../parts/stoprule'
import { pathOf } from '../router'
import { keepRule, keptRule, ruleText } from '../stop'
import type { StopRule } from '../stop'
import type { Counts, Status } from '../kinds'
import { defaultAudit, defaultBatch } from '../types'
import type { Campaign, Person, Session, Standing, TargetStanding } from '../types'
import { useEvery, useLoad } from '../use'

export function Overview({ campaign, session }: { campaign: string; session: Session }) {
  const [rule, setRule] = useState<StopRule>(() => keptRule(campaign))
  const { data, error, reload } = useLoad(async () => {
    const [status, standing, people] = await Promise.all([api.campaign(campaign), api.standing(campaign, ruleText(rule)), api.people(campaign)])
    return { status, standing, people }
  }, [campaign, rule])
  useEvery(15, reload)
  const [target, setTarget] = useState(0)
  const [setting, setSetting] = useState(false)
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the campaign" />
  const { status, standing, people } = data
  const t = standing.targets[Math.min(target, standing.targets.length - 1)]
  const unit = t ? unitOf(t.target) : ''
  return (
    <>
      <header class="head">
        <h1>{campaign}</h1>
        {standing.targets.length > 1 && (
          <div class="segments" role="group" aria-label="Target">
            {standing.targets.map((s, i) => <button key={s.target} type="button" aria-pressed={i === target} onClick={() => setTarget(i)}>{s.target}</button>)}
          </div>
        )}
        {session.role === 'owner' && <button type="button" onClick={() => setSetting(true)}>Settings</button>}
      </header>
      {setting && <SettingsDialog status={status} close={() => setSetting(false)} done={() => { setSetting(false); reload() }} />}
      <ProblemNote error={error} retry={reload} />
      <AdviceCard standing={standing} status={status} session={session} unit={unit} rule={rule}
        change={r => { keepRule(campaign, r); setRule(r) }} />
      <Reminder standing={standing} campaign={campaign} />
      {t && <Figures t={t} status={status} unit={unit} session={session} reload={reload} />}
      <OldModel model={standing.model} />
      <div class="columns even">
        <section class="card">
          <h2>Learning curve{t && ` of ${nameWithoutUnit(t.target)}`}</h2>
          {t?.curve ? <Curve t={t} unit={unit} rule={rule} /> : <TooFew audited={t?.audited ?? 0} status={status} />}
        </section>
        <Model t={t} status={status} session={session} reload={reload} />
      </div>
      <div class="halves">
        <section class="card"><h2>Rows</h2><RowCounts counts={status} campaign={campaign} /></section>
        <section class="card"><h2>Who labelled what</h2><People people={people} /></section>
      </div>
    </>
  )
}

const verdicts = { 'stop': 'You can stop', 'go on': 'Keep labelling', 'too early to tell': 'Too early to tell' }

function AdviceCard({ standing, status, session, unit, rule, change }: {
  standing: Standing; status: Campaign; session: Session; unit: string; rule: StopRule; change: (rule: StopRule) => void
}) {
  const { verdict, because } = standing.advice
  const times = Math.max(1, status.settings.replicates ?? 1)
  const batch = Math.min(status.settings.batch ?? defaultBatch, times * status.open)
  const title = verdict === 'go on' && batch > 0 ? `Ask for ${many(batch, times > 1 ? 'more measurement' : 'more row')}` : verdicts[verdict]
  return (
    <section class={`card advice ${verdict.replaceAll(' ', '-')}`} aria-label="Advice">
      <div>
        <h2>{title}</h2>
        <p>{markedIn(sentence(because)).replaceAll(' %', '\u00a0%')}</p>
      </div>
      {session.role !== 'viewer' && status.open + status.asked > 0 &&
        <a class={verdict === 'stop' ? 'button' : 'button primary'} href={pathOf({ view: 'label', campaign: status.name })}>Label rows</a>}
      <StopRuleForm key={ruleText(rule)} rule={rule} unit={unit} change={change} />
    </section>
  )
}

/** Says that labels wait, for how long, and where to look at them. */
function Reminder({ standing, campaign }: { standing: Standing; campaign: string }) {
  const [oldest] = standing.doubtful
  if (!oldest) return null
  const n = standing.doubtful.length
  return (
    <div class="note warn reminder">
      <p>{n === 1
        ? `A label, entered ${ago(oldest.since)}, waits for a second look. Nothing learns from it before somebody confirms or corrects it.`
        : `${count(n)} labels wait for a second look, the oldest entered ${ago(oldest.since)}. Nothing learns from them before somebody confirms or corrects them.`}</p>
      <a class="button" href={pathOf({ view: 'check', campaign })}>Take a second look</a>
    </div>
  )
}

/** Says that the estimates are of a model some of whose labels have changed. */
function OldModel({ model: m }: { model: Standing['model'] }) {
  if (!m || m.changed === 0) return null
  return <p class="note small">The estimates are of the model of ask {count(m.ask)} with {many(m.trained, 'label')}; {m.changed === 1 ? 'one of them has' : `${count(m.changed)} of them have`} changed since. The next ask fits a new one.</p>
}

function Figures({ t, status, unit, session, reload }: { t: TargetStanding; status: Campaign; unit: string; session: Session; reload: () => void }) {
  const cost = useCost(status)
  return (
    <dl class="figures">
      <ErrorNow t={t} unit={unit} />
      <div class="card figure">
        <dt>Labels spent</dt>
        <dd class="big">{count(t.labels)}</dd>
        <dd class="faint">of {many(status.rows, 'row')}{cost !== null && <>; {number(cost)} {status.settings.cost_column} spent</>}</dd>
      </div>
      <ForecastFigure t={t} unit={unit} />
      <GainFigure t={t} status={status} session={session} reload={reload} />
    </dl>
  )
}

function ErrorNow({ t, unit }: { t: TargetStanding; unit: string }) {
  return (
    <div class="card figure">
      <dt>Error now (RMSE of {nameWithoutUnit(t.target)})</dt>
      {t.curve ? (
        <>
          <dd class="big">{middle(t.curve.rmse)}{t.curve.rmse.value !== null && unit && <span class="unit"> {unit}</span>}</dd>
          <dd class="faint">{limits(t.curve.rmse)}, from {many(t.curve.rows, 'random row')}</dd>
          <dd class="faint">mean absolute error {t.curve.mae.value === null ? 'unknown' : middle(t.curve.mae)}; 95{'\u00a0'}% below {t.curve.q95.value === null ? 'no limit' : middle(t.curve.q95)}</dd>
        </>
      ) : (
        <>
          <dd class="big muted">Too few labels to tell</dd>
          <dd class="faint">{many(t.audited, 'random row')} with a label; it takes 8</dd>
        </>
      )}
    </div>
  )
}

const metricWords = { rmse: 'an RMSE', mae: 'a mean absolute error', q95: '95 % of the errors' }

function ForecastFigure({ t, unit }: { t: TargetStanding; unit: string }) {
  const f = t.forecast
  if (!f) {
    return <div class="card figure"><dt>Labels for a wanted error</dt><dd class="big muted">Too few labels to tell</dd><dd class="faint">The curve has to be known first.</dd></div>
  }
  const rounded = (v: number) => count(v < 100 ? v : Number(v.toPrecision(2)))
  const reached = f.more.value === 0 && f.more.high === 0
  return (
    <div class="card figure">
      <dt>Labels for {metricWords[f.metric]} below {number(f.wanted)} {unit}</dt>
      <dd class={f.labels.value === null && !reached ? 'big muted' : 'big'}>{reached ? 'Reached' : f.labels.low === null ? 'More than the table has' : f.labels.value === null ? limits(f.labels, rounded) : <>about {rounded(f.labels.value)}</>}</dd>
      {!reached && <dd class="faint">{f.labels.low === null ? many(f.rows, 'row') : <>{f.labels.value !== null && limits(f.labels, rounded)} in total{f.labels.high === null && `, perhaps more than the ${many(f.rows, 'row')} of the table`}</>}</dd>}
      {f.cost && f.cost.value !== null && <dd class="faint">{middle(f.cost)} more cost ({limits(f.cost)})</dd>}
    </div>
  )
}

const leastRandom = 48 // labelled random rows that the comparison takes

function GainFigure({ t, status, session, reload }: { t: TargetStanding; status: Campaign; session: Session; reload: () => void }) {
  const job = useJob(status.name, session.person, 'gain', j => { if (j.state === 'done') reload() })
  const g = t.gain
  const enough = t.random >= leastRandom && t.curve !== null
  const may = session.role !== 'viewer' && enough && !job.running && g?.labels !== t.labels
  const [big, clear, below] = gainWords(t)
  return (
    <div class="card figure">
      <dt>Random rows would have taken</dt>
      <dd class={clear ? 'big' : 'big muted'}>{big}{clear && <span class="unit"> × the labels</span>}</dd>
      <dd class="faint">{below}</dd>
      {job.job?.state === 'running' && <dd class="faint" role="status">{stageText(job.job)}</dd>}
      {job.lost && <dd><Lost lost /></dd>}
      {job.error !== null && <dd><ProblemNote error={job.error} /></dd>}
      {may && <dd><button type="button" onClick={() => job.start(() => api.measureGain(status.name))}>{g ? `Measure again with ${many(t.labels, 'label')}` : 'Measure'}</button></dd>}
    </div>
  )
}

/** What random selection would have taken: in large letters, whether that is a number, and in small letters. */
export function gainWords(t: TargetStanding): [big: string, clear: boolean, below: string] {
  const g = t.gain
  if (g) {
    const { value, low, high } = g.factor
    const measured = `measured at ${many(g.labels, 'label')}`
    const times = `${limits(g.factor, rough)} times as many, ${measured}`
    if (value !== null && low !== null && high !== null && high <= 10 * low) return [rough(value), true, times]
    return ['Too few random rows to tell', false, low !== null && low >= 1 ? times : `The interval is too wide to say more, ${measured}.`]
  }
  if (t.random < leastRandom) return ['Too few random rows to tell', false, `${many(t.random, 'random row')} with a label; it takes ${leastRandom}`]
  if (!t.curve) return ['Too few random rows to tell', false, 'The curve has to be known first.']
  return ['Not measured yet', false, `Measuring fits nine models to ${many(t.random, 'random row')} alone.`]
}

function Curve({ t, unit, rule }: { t: TargetStanding; unit: string; rule: StopRule }) {
  const next = t.next
  return (
    <>
      <LearningCurve standing={t} unit={unit} wanted={rule.measure === 'rmse' ? rule.below : null} />
      {next && next.value !== null && <p class="small">A tenth more labels are expected to lower the RMSE by {percent(next.value)} ({limits(next, percent)}).</p>}
      <details class="small">
        <summary>The numbers behind the curve</summary>
        <div class="scroll" tabIndex={0} role="group" aria-label="The numbers behind the curve">
          <table>
            <thead><tr><th class="number">Labels</th><th class="number">Random rows</th><th class="number">RMSE{unit && `, ${unit}`}</th><th class="number">90 % interval</th></tr></thead>
            <tbody>{(t.curve?.points ?? []).map(p => (
              <tr key={p.labels}><td class="number">{count(p.labels)}</td><td class="number">{count(p.rows)}</td>
                <td class="number">{p.rmse.value === null ? '–' : middle(p.rmse)}</td><td class="number">{limits(p.rmse)}</td></tr>
            ))}</tbody>
          </table>
        </div>
      </details>
    </>
  )
}

function TooFew({ audited, status }: { audited: number; status: Campaign }) {
  const share = status.settings.audit ?? defaultAudit
  return (
    <div class="empty inside">
      <h3>Too few labels to tell the error</h3>
      <p>Only rows that were drawn at random show the error fairly. {audited === 0 ? 'None has' : audited === 1 ? 'One has' : `${count(audited)} have`} a label and an earlier prediction so far; the curve begins with 8.</p>
      <p>{share > 0 ? <>One row in {rough(1 / share)} of each batch is drawn at random, so the curve comes by itself as you label.</> : 'The settings of this campaign draw no random rows; raise their share with the button Settings to see the error.'}</p>
    </div>
  )
}

const statusWords: { status: Status; words: string }[] = [
  { status: 'labelled', words: 'labelled' },
  { status: 'waiting', words: 'waiting for a second look' },
  { status: 'asked', words: 'out for labelling' },
  { status: 'open', words: 'open' },
  { status: 'failed', words: 'failed' },
  { status: 'retired', words: 'retired' },
]

function RowCounts({ counts, campaign }: { counts: Counts; campaign: string }) {
  return (
    <>
      <StatusBar counts={counts} />
      <ul class="counts">
        {statusWords.filter(s => counts[s.status] > 0 || s.status === 'labelled' || s.status === 'open').map(s => (
          <li key={s.status}><span class={`dot ${s.status}`} /><a href={`${pathOf({ view: 'rows', campaign })}?status=${s.status}`}>{s.words}</a><span class="number">{count(counts[s.status])}</span></li>
        ))}
      </ul>
    </>
  )
}

function People({ people }: { people: Person[] }) {
  if (people.length === 0) return <p class="faint">Nobody has labelled a row yet.</p>
  return (
    <table class="people">
      <thead><tr><th>Person</th><th class="number">Asked for</th><th class="number">Labelled</th><th class="number">Failed</th></tr></thead>
      <tbody>{people.map(p => (
        <tr key={p.person}><td>{p.person || 'unnamed'}{p.last && <span class="faint small last">{ago(p.last)}</span>}</td><td class="number">{count(p.asked)}</td><td class="number">{count(p.told)}</td><td class="number">{count(p.failed)}</td></tr>
      ))}</tbody>
    </table>
  )
}

/** What the measurements of the labelled rows cost, where the campaign has a column of costs. */
function useCost(status: Campaign): number | null {
  const [cost, setCost] = useState<number | null>(null)
  const column = status.settings.cost_column
  useEffect(() => {
    if (!column) return
    let here = true
    spent(status.name, column, status.labelled).then(c => { if (here) setCost(c) }, () => { if (here) setCost(null) })
    return () => { here = false }
  }, [status.name, column, status.labelled, status.repeats])
  return cost
}

async function spent(campaign: string, column: string, labelled: number): Promise<number> {
  const size = 1000
  let sum = 0
  for (let offset = 0; offset < labelled; offset += size) {
    const page = await api.rows(campaign, { status: 'labelled', offset, limit: size })
    for (const r of page.rows) {
      const v = r.inputs[column]
      if (typeof v === 'number') sum += v * r.measured
    }
  }
  return sum
}

import { useState } from 'preact/hooks'
import { api } from '../api'
import { count, many, number } from '../format'
import type { Learner } from '../learners'
import { learnerClass, learnerName, learnerOf, learners, seen, shares, spread, weightText } from '../learners'
import type { Campaign, Fitted, Session, TargetStanding } from '../types'
import { ProblemNote } from './notice'

/** What is fitted to the labels, what it is made of now, and how that has changed. */
export function Model({ t, status, session, reload }: { t: TargetStanding | undefined; status: Campaign; session: Session; reload: () => void }) {
  const list = t?.learners ?? []
  const last = list.at(-1)
  const kind = learnerOf(status.settings.learner)
  return (
    <section class="card model">
      <h2>Model</h2>
      {session.role === 'owner'
        ? <LearnerForm key={kind.learner} status={status} reload={reload} />
        : <p><strong>{kind.name}.</strong> {kind.words}</p>}
      {last && kind.learner !== 'network' && <Now f={last} />}
      {kind.learner !== 'network' && !last && <p class="faint small">The first ask with enough labels fits it: 5 of each target.</p>}
      {list.length > 1 && <History list={list} />}
    </section>
  )
}

/** A change takes effect with the next ask. */
function LearnerForm({ status, reload }: { status: Campaign; reload: () => void }) {
  const now = learnerOf(status.settings.learner).learner
  const [chosen, setChosen] = useState<Learner>(now)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const change = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      await api.changeSettings(status.name, { ...status.settings, learner: chosen })
      reload()
    } catch (e) {
      setError(e)
    }
    setBusy(false)
  }
  return (
    <form onSubmit={change}>
      <LearnerField value={chosen} change={setChosen} label="What is fitted to the labels" />
      {chosen !== now && <p class="line"><button type="submit" class="primary" disabled={busy}>Change</button><span class="faint small">from the next ask on</span></p>}
      <ProblemNote error={error} />
    </form>
  )
}

export function LearnerField({ value, change, label }: { value: Learner; change: (learner: Learner) => void; label: string }) {
  return (
    <div class="field"><label for="learner">{label}</label>
      <select id="learner" value={value} onChange={e => change(learnerOf(e.currentTarget.value).learner)}>
        {learners.map(l => <option key={l.learner} value={l.learner}>{l.name}</option>)}
      </select>
      <span class="hint">{learnerOf(value).words}</span></div>
  )
}

function Now({ f }: { f: Fitted }) {
  return (
    <>
      <h3>Made of, with {many(f.labels, 'label')}</h3>
      <div class="mixed wide" aria-hidden="true"><Parts f={f} /></div>
      <ul class="counts small">
        {[...shares(f)].sort((a, b) => b.weight - a.weight).map(s => (
          <li key={s.name}><span class={`dot ${learnerClass(s.name)}`} />{learnerName(s.name)}<span class="number">{weightText(s.weight)}</span></li>
        ))}
      </ul>
      <details class="small">
        <summary>Why so</summary>
        <div class="scroll" tabIndex={0} role="group" aria-label="Candidates of the model">
          <table>
            <thead><tr><th>Candidate</th><th class="number">RMSE out of fold</th></tr></thead>
            <tbody>
              {f.candidates.map(c => <tr key={c.name}><td>{learnerName(c.name)}{c.left && <span class="faint small last">left out: {c.left}</span>}</td><td class="number">{c.left ? '–' : number(c.error)}</td></tr>)}
              {f.error > 0 && <tr><td><strong>all together</strong></td><td class="number">{number(f.error)}</td></tr>}
            </tbody>
          </table>
        </div>
        <p class="faint">Each labelled row is predicted by models that have not learnt from it; the weights make that error small. They are those of the predictions: a method whose kernel is a network's, such as grad, compares rows by a network even if it has no weight.</p>
      </details>
    </>
  )
}

function Parts({ f }: { f: Fitted }) {
  return <>{shares(f).map(s => <span key={s.name} class={learnerClass(s.name)} style={{ flexGrow: s.weight }} />)}</>
}

const mostShown = 40 // strips of the history

function History({ list }: { list: Fitted[] }) {
  const shown = spread(list, mostShown)
  const [first, last] = [shown[0]!, shown.at(-1)!]
  return (
    <>
      <h3>How it changed</h3>
      <div class="strips" role="img" aria-label={`Weights of the learners in ${many(list.length, 'model')}; the table below has the numbers`}>
        {shown.map(f => <div key={f.ask} class="mixed tall" title={`ask ${f.ask}, ${many(f.labels, 'label')}: ${shares(f).map(s => `${learnerName(s.name)} ${weightText(s.weight)}`).join(', ')}`}><Parts f={f} /></div>)}
      </div>
      <p class="ends faint small"><span>{many(first.labels, 'label')}</span><span>{count(last.labels)}</span></p>
      <ul class="legend small">{seen(list).map(name => <li key={name}><span class={`dot ${learnerClass(name)}`} />{learnerName(name)}</li>)}</ul>
      <details class="small">
        <summary>The numbers behind it</summary>
        <div class="scroll" tabIndex={0} role="group" aria-label="How the model changed">
          <table>
            <thead><tr><th class="number">Ask</th><th class="number">Labels</th>{seen(list).map(name => <th key={name} class="number">{learnerName(name)}</th>)}</tr></thead>
            <tbody>{list.map(f => (
              <tr key={f.ask}><td class="number">{count(f.ask)}</td><td class="number">{count(f.labels)}</td>
                {seen(list).map(name => <td key={name} class="number">{weightText(f.candidates.find(c => c.name === name)?.weight ?? 0)}</td>)}</tr>
            ))}</tbody>
          </table>
        </div>
      </details>
    </>
  )
}

import { useMemo, useState } from 'preact/hooks'
import { api } from '../api'
import { besideThePaper, curvesOf, filtered, rounded, unique } from '../bench'
import { count, duration, many, moment, number } from '../format'
import { Lines, lineColour } from '../parts/lines'
import { Empty, Loading, ProblemNote } from '../parts/notice'
import { go } from '../router'
import { useThemeChanges } from '../theme'
import type { BenchmarkResults, BenchmarkTable } from '../types'
import { useEvery, useLoad } from '../use'

export function Benchmarks() {
  const { data: files, error, reload } = useLoad(() => api.benchmarks(), [])
  const [name, setName] = useState(() => new URLSearchParams(location.search).get('name'))
  if (!files) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the results" />
  const chosen = files.find(f => f.name === name) ?? files[0]
  return (
    <>
      <header class="head">
        <h1>Benchmark</h1>
        {files.length > 1 && chosen && (
          <select aria-label="Results file" value={chosen.name} onChange={e => { setName(e.currentTarget.value); go(`/benchmarks?name=${encodeURIComponent(e.currentTarget.value)}`, true) }}>
            {files.map(f => <option key={f.name} value={f.name}>{f.name}</option>)}
          </select>
        )}
      </header>
      {chosen ? <Results key={chosen.name} name={chosen.name} /> : (
        <Empty title="No results to show">
          <p>A benchmark compares methods on data sets whose labels are known. Run one with <code>nextbatch bench run</code>, then start the service with <code>nextbatch serve --results FILE</code> to see it here, beside the paper's numbers.</p>
        </Empty>
      )}
    </>
  )
}

/** How far the runs are, and who works on them. Where it cannot be told, the results are shown all the same. */
function Progress({ name }: { name: string }) {
  const { data: p, reload } = useLoad(() => api.benchmarkProgress(name), [name])
  useEvery(10, reload)
  if (!p || p.runs === 0) return null
  const left = p.seconds_left !== null && p.rounds_done < p.rounds ? `, about ${duration(p.seconds_left)} left` : ''
  return (
    <section class="card sweep" aria-label="Progress">
      <p>{count(p.done)} of {many(p.runs, 'run')} done{p.working > 0 && `, ${count(p.working)} under way`}{p.failed > 0 && `, ${count(p.failed)} failed`}; {count(p.rounds_done)} of {many(p.rounds, 'round')}{left}.</p>
      <progress max={p.rounds} value={p.rounds_done} aria-label="Rounds that are done" />
      {p.workers.length > 0 && (
        <div class="scroll">
          <table>
            <thead><tr><th>Worker</th><th>Since</th><th class="number">Runs</th><th>Processor</th></tr></thead>
            <tbody>{p.workers.map(w => <tr key={`${w.host} ${w.process}`}><td>{w.host}<span class="faint small last">process {w.process}</span></td><td>{moment(w.started)}</td><td class="number">{count(w.runs)}</td><td>{w.cpu}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Results({ name }: { name: string }) {
  const { data, error, reload } = useLoad(() => api.benchmark(name), [name])
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what={name} />
  return (
    <>
      <Progress name={name} />
      {data.notes.map(n => <p key={n} class="note small">{n}</p>)}
      {data.curves.length > 0 && <Curves results={data} />}
      {data.tables.length > 0 && <Tables tables={data.tables} />}
    </>
  )
}

function Picker({ label, value, list, change }: { label: string; value: string; list: string[]; change: (v: string) => void }) {
  if (list.length < 2) return null
  return <select aria-label={label} title={label} value={value} onChange={e => change(e.currentTarget.value)}>{list.map(v => <option key={v} value={v}>{v}</option>)}</select>
}

function Curves({ results }: { results: BenchmarkResults }) {
  const settings = useMemo(() => unique(results.curves.map(p => p.setting)), [results])
  const [setting, setSetting] = useState(settings[0] ?? '')
  const metrics = useMemo(() => unique(results.curves.map(p => p.metric)), [results])
  const [metric, setMetric] = useState(metrics.includes('RMSE') ? 'RMSE' : metrics[0] ?? '')
  const sets = useMemo(() => unique(results.curves.filter(p => p.setting === setting).map(p => p.set)), [results, setting])
  const [wantedSet, setSet] = useState('')
  const set = sets.includes(wantedSet) ? wantedSet : sets[0] ?? ''
  const [hidden, setHidden] = useState<string[]>([])
  const themes = useThemeChanges()
  const curves = useMemo(() => curvesOf(results.curves, { setting, metric, set }), [results, setting, metric, set])
  const beside = useMemo(() => besideThePaper(results, setting, metric), [results, setting, metric])
  return (
    <div class="columns">
      <section class="card">
        <div class="line between">
          <h2>Learning curves{set && ` on ${set}`}</h2>
          <div class="line">
            <Picker label="Setting" value={setting} list={settings} change={setSetting} />
            <Picker label="Data set" value={set} list={sets} change={setSet} />
            <Picker label="Metric" value={metric} list={metrics} change={setMetric} />
          </div>
        </div>
        <div class="methods" role="group" aria-label="Methods">
          {curves.methods.map((m, i) => (
            <label key={m.spec}>
              <input type="checkbox" checked={!hidden.includes(m.spec)} onChange={() => setHidden(h => h.includes(m.spec) ? h.filter(x => x !== m.spec) : [...h, m.spec])} />
              <span class="swatch" style={{ backgroundColor: lineColour(i, curves.methods.length) }} />{m.spec}
            </label>
          ))}
        </div>
        <Lines themes={themes} labels={curves.labels} unit={`mean log ${metric}`}
          lines={curves.methods.map((m, i) => ({ name: m.spec, values: m.values, colour: lineColour(i, curves.methods.length), shown: !hidden.includes(m.spec) }))} />
      </section>
      <section class="card">
        <h2>Mean over rounds, beside the paper</h2>
        <p class="faint small">Mean log {metric} over the rounds after the start, then over data sets, as in the tables below; lower is better. The curves show single rounds, so they end lower. The paper's number is the same mean over its 15 data sets: compare methods within a column.</p>
        <div class="scroll" tabIndex={0} role="group" aria-label="Means beside those of the paper">
          <table class="beside">
            <thead><tr><th>Method</th><th class="number">Here</th><th class="number">Paper</th></tr></thead>
            <tbody>{beside.map(b => <tr key={b.spec}><td>{b.spec}<span class="faint small last">{many(b.sets, 'data set')}</span></td><td class="number">{b.ours === null ? '–' : number(b.ours)}</td><td class="number">{b.paper === null ? <span class="faint">none</span> : number(b.paper)}</td></tr>)}</tbody>
          </table>
        </div>
      </section>
    </div>
  )
}

function Tables({ tables }: { tables: BenchmarkTable[] }) {
  const [words, setWords] = useState('')
  return (
    <>
      <div class="head bench-head">
        <h2>Tables</h2>
        <input type="search" aria-label="Filter the tables" placeholder="Filter: method, data set…" value={words} onInput={e => setWords(e.currentTarget.value)} />
      </div>
      {tables.map(t => <OneTable key={t.section + t.name + t.title} t={t} words={words} />)}
    </>
  )
}

function OneTable({ t, words }: { t: BenchmarkTable; words: string }) {
  const rows = filtered(t.rows, words)
  if (rows.length === 0 && words) return null
  return (
    <section class="card bench-table">
      <h2>{t.title || t.name}</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label={t.title || t.name}>
        <table>
          <thead><tr>{t.header.map((h, i) => <th key={i}>{h}</th>)}</tr></thead>
          <tbody>{rows.map((r, i) => <tr key={i}>{r.map((v, j) => <td key={j} title={v}>{rounded(v)}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {t.note && <p class="faint small">{t.note}</p>}
    </section>
  )
}

import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, newKey, sentence } from '../api'
import { limitsOf, limitsSet, typedLimits, wrongLimits } from '../batchlimits'
import { bytes, count, duration, many } from '../format'
import { BatchLimitsFields } from '../parts/batchlimits'
import { Drop } from '../parts/drop'
import type { Learner } from '../learners'
import { LearnerField } from '../parts/learners'
import { Loading, ProblemNote } from '../parts/notice'
import { Reading } from '../parts/understood'
import { batchOf, BatchField, LeaseField, RandomStartField, RangeField } from '../parts/settings'
import { go, pathOf } from '../router'
import { uploadWords } from '../textstyle'
import type { TextStyle } from '../textstyle'
import { defaultBatch, defaultLease } from '../types'
import type { Preview, PreviewColumn } from '../types'

export function Create() {
  const [file, setFile] = useState<File | null>(null)
  return (
    <>
      <header class="head"><h1>New campaign</h1><p>A campaign starts with one table: a row for each thing that you could measure, a column for each property that you know, and a column for what you want to predict.</p></header>
      <Drop file={file} choose={setFile} hint="Leave the label empty where you have not measured yet." />
      {file && <Choices key={`${file.name} ${file.size} ${file.lastModified}`} file={file} />}
    </>
  )
}

/** A name for a campaign from that of a file. */
export function campaignName(file: string): string {
  return file.replace(/(\.[a-z0-9]{1,8}){1,2}$/i, '').replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '') || 'campaign'
}

function Choices({ file }: { file: File }) {
  const [style, setStyle] = useState<TextStyle>({})
  const [preview, setPreview] = useState<Preview | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [name, setName] = useState(campaignName(file.name))
  const [targets, setTargets] = useState<string[] | null>(null)
  const [id, setId] = useState<string | null>(null)
  const [asking, setAsking] = useState('') // the column about which somebody wants to know why it cannot be predicted
  const [ignored, setIgnored] = useState<string[]>([])
  const [kept, setKept] = useState<string[]>([]) // that look as if they were measured together with the label
  const [columns, setColumns] = useState<PreviewColumn[]>([]) // also those that are ignored
  const [batch, setBatch] = useState(String(defaultBatch))
  const [lease, setLease] = useState(defaultLease)
  const [random, setRandom] = useState(false)
  const [cost, setCost] = useState('')
  const [range, setRange] = useState('')
  const [limits, setLimits] = useState(() => typedLimits({}))
  const [learner, setLearner] = useState<Learner>('auto')
  const [busy, setBusy] = useState(false)
  const [key] = useState(newKey)
  const chosen = targets ?? (preview?.suggested.target ? [preview.suggested.target] : [])
  const named = id ?? preview?.suggested.id ?? ''
  const keep = kept.filter(c => !chosen.includes(c) && c !== named)
  const asked = JSON.stringify([targets, id, ignored, keep, style])
  useEffect(() => {
    const stop = new AbortController()
    const query = { ...(targets ? { target: targets.join(',') } : {}), ...(id ? { id } : {}), ignore: ignored, keep, ...style }
    api.preview(file, query, stop.signal).then(p => { setPreview(p); setColumns(list => together(list, p.columns, keep)); setError(null) }, (e: unknown) => { if (!stop.signal.aborted) setError(e) })
    return () => stop.abort()
  }, [asked])
  // Another way to read the file may give other columns.
  const read = (as: TextStyle) => { setStyle(as); setTargets(null); setId(null); setIgnored([]); setKept([]); setColumns([]); setAsking('') }
  if (!preview) return error ? <><ProblemNote error={error} words={uploadWords} /><Reading preview={null} style={style} change={read} /></> : <Loading what="the table" />
  const toggle = (column: string) => {
    setTargets(chosen.includes(column) ? chosen.filter(c => c !== column) : [...chosen, column])
    setIgnored(list => list.filter(c => c !== column))
    if (named === column) setId('')
  }
  const uses = (c: PreviewColumn) => !ignored.includes(c.name) && (c.no_input === undefined || keep.includes(c.name))
  const use = (c: PreviewColumn) => {
    const change = c.no_input !== undefined ? setKept : setIgnored
    change(list => list.includes(c.name) ? list.filter(name => name !== c.name) : [...list, c.name])
  }
  const used = columns.filter(uses)
  const rows = batchOf(batch)
  const labelled = columns.some(c => chosen.includes(c.name) && c.missing < preview.rows)
  const right = name.trim() && chosen.length > 0 && rows > 0 && wrongLimits(limits).length === 0
  const start = async (event: Event) => {
    event.preventDefault()
    if (!right || busy) return
    setBusy(true)
    setError(null)
    try {
      const made = await api.create(file, { name: name.trim(), target: chosen.join(','), learner, lease, ignore: ignored, ...style, ...(random && labelled ? { random_start: 'true' } : {}), ...(range.trim() ? { range: range.trim() } : {}), ...(named ? { id: named } : {}) }, key)
      if (rows !== defaultBatch || cost || keep.length > 0 || limitsSet(limits) > 0) await api.changeSettings(made.name, { ...made.settings, ...limitsOf(limits), batch: rows, ...(cost ? { cost_column: cost } : {}), ...(keep.length > 0 ? { keep } : {}) })
      go(pathOf({ view: 'overview', campaign: made.name }))
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <form class="create" onSubmit={start}>
      <div class="stack">
        <Reading preview={preview} style={style} change={read} />
        <section class="card">
          <h2>What should be predicted?</h2>
          <p class="faint small">Tick the column that holds the label, or several. {many(preview.rows, 'row')}, {many(columns.length, 'column')}. The model learns from the other columns; untick those that it should ignore, such as notes.</p>
          <div class="scroll">
            <table class="preview">
              <thead><tr><th>Predict</th><th>Use</th><th>Column</th><th>Type</th><th class="number">Missing</th><th>Examples</th></tr></thead>
              <tbody>{columns.map(c => (
                <Fragment key={c.name}>
                  <tr class={chosen.includes(c.name) ? 'chosen' : uses(c) ? undefined : 'ignored'}>
                    <td>{c.no_target === undefined && c.type === 'number'
                      ? <input type="checkbox" aria-label={`Predict ${c.name}`} checked={chosen.includes(c.name)} onChange={() => toggle(c.name)} />
                      : <button type="button" class="quiet why-not" aria-expanded={asking === c.name} aria-label={`Why can ${c.name} not be predicted?`} onClick={() => setAsking(asking === c.name ? '' : c.name)}>why not?</button>}</td>
                    <td>{chosen.includes(c.name) || c.name === named ? null : <input type="checkbox" aria-label={`Use ${c.name}`} checked={uses(c)} onChange={() => use(c)} />}</td>
                    <td><strong>{c.name}</strong></td>
                    <td class="faint">{typeText(c)}</td>
                    <td class="number">{c.missing > 0 ? count(c.missing) : <span class="faint">0</span>}</td>
                    <td class="faint examples" title={c.examples.join(' · ')}>{c.examples.join(' · ')}</td>
                  </tr>
                  {c.no_input !== undefined && !keep.includes(c.name) && !chosen.includes(c.name) && c.name !== named && <tr><td colSpan={6} class="reason small">{sentence(c.no_input)} Tick “Use” if you know it before a row is measured, and the label may depend on it.</td></tr>}
                  {asking === c.name && <tr><td colSpan={6} class="reason small" role="status">{sentence(c.no_target ?? 'only numbers can be predicted')}</td></tr>}
                </Fragment>
              ))}</tbody>
            </table>
          </div>
        </section>
      </div>
      <section class="card stack side-form">
        <h2>Start</h2>
        <div class="field"><label for="name">Name of the campaign</label><input id="name" value={name} maxLength={200} required onInput={e => setName(e.currentTarget.value)} /></div>
        <div class="field"><label for="id">Column that names the rows</label>
          <select id="id" value={named} onChange={e => setId(e.currentTarget.value)}>
            <option value="">none: number the rows</option>
            {columns.filter(c => !ignored.includes(c.name) && !chosen.includes(c.name)).map(c => <option key={c.name} value={c.name}>{c.name}</option>)}
          </select></div>
        <BatchField value={batch} change={setBatch} />
        <LeaseField value={lease} change={setLease} />
        <LearnerField value={learner} change={setLearner} label="Model" />
        <RangeField value={range} change={setRange} />
        <div class="field"><label for="cost">Column with the cost of a label</label>
          <select id="cost" value={cost} onChange={e => setCost(e.currentTarget.value)}>
            <option value="">none</option>
            {used.filter(c => c.type === 'number' && !chosen.includes(c.name) && c.name !== named).map(c => <option key={c.name} value={c.name}>{c.name}</option>)}
          </select></div>
        {labelled && <RandomStartField value={random} change={setRandom} />}
        {preview.forecast && <p class="note small"><span>{sentence(preview.forecast.text) || `One batch takes about ${duration(preview.forecast.seconds)} and ${bytes(preview.forecast.bytes)} of memory.`}</span></p>}
        {preview.warnings.map(w => <p key={w} class="note warn small">{uploadWords(w)}</p>)}
        <BatchLimitsFields typed={limits} change={setLimits} columns={used.map(c => c.name).filter(c => !chosen.includes(c) && c !== named)} groups error={error} />
        <button type="submit" class="primary" disabled={!right || busy}>{busy ? 'Starting…' : chosen.length > 0 ? 'Start the campaign' : 'Choose what to predict'}</button>
      </section>
    </form>
  )
}

/** The columns that were known, as they are seen now, and new ones. Those that were kept are not inputs without that. */
export function together(known: PreviewColumn[], now: PreviewColumn[], keep: string[]): PreviewColumn[] {
  const seen = (c: PreviewColumn, x = c) => c.no_input !== undefined && keep.includes(c.name) ? { ...x, no_input: c.no_input } : x
  return [...known.map(c => seen(c, now.find(x => x.name === c.name))), ...now.filter(x => !known.some(c => c.name === x.name))]
}

function typeText(c: PreviewColumn): string {
  return c.type === 'category' && c.levels ? `category, ${many(c.levels, 'level')}` : c.type
}

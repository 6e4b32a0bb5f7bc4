import { useMemo, useState } from 'preact/hooks'
import { api } from '../api'
import { count, many, number, percent, unitOf } from '../format'
import { useJob } from '../jobs'
import { useShortcuts } from '../keys'
import { modelOf, offers, summary, valuesOf } from '../mapmodel'
import type { Mode } from '../mapmodel'
import { Cloud } from '../parts/cloud'
import { JobBar } from '../parts/job'
import { Empty, Loading, Lost, ProblemNote } from '../parts/notice'
import { RowDialog } from '../parts/rowdialog'
import { css, domain, pixel, rgbOf, shade } from '../shades'
import { colour, useThemeChanges } from '../theme'
import { statuses } from '../kinds'
import type { Status } from '../kinds'
import type { Campaign, Job, PoolMap, Session } from '../types'
import { useLoad } from '../use'

const modes: { mode: Mode; words: string; of: (target: string) => string }[] = [
  { mode: 'status', words: 'status', of: () => '' },
  { mode: 'prediction', words: 'prediction', of: t => `predicted ${t}` },
  { mode: 'interval', words: 'uncertainty', of: t => `half width of the 90 % interval of ${t}` },
  { mode: 'label', words: 'label', of: t => `measured ${t}` },
  { mode: 'distance', words: 'distance', of: () => 'distance to the nearest known row' },
]

export function PoolMapView({ campaign, session }: { campaign: string; session: Session }) {
  const { data, error, reload } = useLoad(async () => {
    const [status, { map }] = await Promise.all([api.campaign(campaign), api.map(campaign)])
    return { status, map }
  }, [campaign])
  const job = useJob(campaign, session.person, 'map', (j: Job) => { if (j.state === 'done') reload() })
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the map" />
  const { status, map } = data
  const may = session.role !== 'viewer'
  const make = () => job.start(() => api.makeMap(campaign))
  return (
    <>
      <header class="head">
        <h1>Map</h1>
        {map && may && <button type="button" disabled={job.running} onClick={make}>{map.labels < status.labelled ? `Redraw with ${many(status.labelled, 'label')}` : 'Redraw'}</button>}
      </header>
      <ProblemNote error={job.error ?? error} />
      <Lost lost={job.lost} />
      {job.job && <JobBar key={job.job.id} job={job.job} title="Drawing the map" />}
      {map && <Shown map={map} status={status} session={session} reload={reload} />}
      {!map && !job.running && (
        <Empty title="No map yet">
          <p>The map shows every row where the model sees it: rows that it takes for alike lie close together. It shows at a glance which regions you have not labelled yet.</p>
          {may ? <button type="button" class="primary" onClick={make}>Draw the map</button> : <p>A labeller or an owner can draw it.</p>}
        </Empty>
      )}
    </>
  )
}

const statusNames: Record<Status, string> = { open: '--open', asked: '--asked', labelled: '--accent', failed: '--bad', retired: '--line-strong', waiting: '--waiting' }

function Shown({ map, status, session, reload }: { map: PoolMap; status: Campaign; session: Session; reload: () => void }) {
  const [mode, setMode] = useState<Mode>('status')
  const [target, setTarget] = useState(0)
  const [lasso, setLasso] = useState(false)
  const [chosen, setChosen] = useState<number[]>([])
  const [marked, setMarked] = useState(-1)
  const [opened, setOpened] = useState<number | null>(null)
  const themes = useThemeChanges()
  const model = useMemo(() => modelOf(map), [map])
  const values = useMemo(() => valuesOf(map, mode, target), [map, mode, target])
  const ends = useMemo(() => domain(values), [values])
  const dark = useMemo(isDark, [themes])
  const colours = useMemo(() => coloured(map, mode, values, ends, dark), [map, mode, values, ends, dark, themes])
  useShortcuts([
    { keys: 'l', does: 'Switch between moving and the lasso', run: () => setLasso(v => !v) },
    { keys: 'Escape', does: 'Forget the selection', run: () => setChosen([]) },
    { keys: 'arrows', does: 'Move the map, when it has the focus' },
    { keys: '+ / - / 0', does: 'Zoom in, out, show all' },
    { keys: 'Enter', does: 'Open the row in the middle' },
  ])
  const name = status.targets[target] ?? ''
  const open = (point: number) => { setMarked(point); setOpened(map.rows[point] ?? null) }
  return (
    <div class="map-view">
      <div class="line bar-of-tools">
        <label for="colour-by">Colour by</label>
        <select id="colour-by" value={mode} onChange={e => setMode(e.currentTarget.value as Mode)}>
          {modes.filter(m => offers(map, m.mode)).map(m => <option key={m.mode} value={m.mode}>{m.words}</option>)}
        </select>
        {status.targets.length > 1 && mode !== 'status' && mode !== 'distance' && (
          <select aria-label="Target" value={target} onChange={e => setTarget(Number(e.currentTarget.value))}>{status.targets.map((t, i) => <option key={t} value={i}>{t}</option>)}</select>
        )}
        <div class="segments" role="group" aria-label="Dragging">
          <button type="button" aria-pressed={!lasso} onClick={() => setLasso(false)}>Move</button>
          <button type="button" aria-pressed={lasso} onClick={() => setLasso(true)}>Lasso</button>
        </div>
        <Legend mode={mode} ends={ends} dark={dark} target={name} map={map} />
      </div>
      <div class="map-body">
        <Cloud model={model} colours={colours} chosen={chosen} marked={marked} lasso={lasso} choose={setChosen} pick={open} themes={themes}
          label={`Map of ${many(map.rows.length, 'row')}. Arrow keys move, plus and minus zoom, Enter opens the row in the middle.`} />
        {chosen.length > 0 && <Caught map={map} chosen={chosen} values={values} mode={mode} target={name} open={open} clear={() => setChosen([])} />}
      </div>
      <p class="faint small">
        {map.sampled ? <>{count(map.rows.length)} of {many(map.of, 'row')}: a fixed sample of the open ones, and all others. </> : <>{many(map.rows.length, 'row')}. </>}
        Rows that the method finds alike lie close together, along their two main directions{typeof map.explained[0] === 'number' && typeof map.explained[1] === 'number' && <>, which hold {percent(map.explained[0])} and {percent(map.explained[1])} of what sets them apart</>}. {map.labels > 0 ? `Model fitted to ${many(map.labels, 'label')}.` : 'Too few labels for a model: the inputs alone decide.'}
      </p>
      {opened !== null && <RowDialog campaign={status} session={session} row={opened} changed={reload} close={() => { setOpened(null); setMarked(-1) }} />}
    </div>
  )
}

function isDark(): boolean {
  const [r, g, b] = rgbOf(colour('--surface'))
  return r + g + b < 384
}

function coloured(map: PoolMap, mode: Mode, values: Float64Array, ends: [number, number] | null, dark: boolean): Int32Array {
  const out = new Int32Array(map.rows.length)
  const none = pixel(rgbOf(colour(mode === 'status' ? '--open' : '--line')))
  const byStatus = statuses.map(s => pixel(rgbOf(colour(statusNames[s]))))
  const steps = Int32Array.from({ length: 256 }, (_, i) => pixel(shade(i / 255, dark)))
  for (let i = 0; i < out.length; i++) {
    if (mode === 'status') { out[i] = byStatus[map.status[i]!] ?? none; continue }
    const v = values[i]!
    out[i] = !ends || !Number.isFinite(v) ? none : steps[Math.max(0, Math.min(255, Math.round(255 * (v - ends[0]) / (ends[1] - ends[0] || 1))))]!
  }
  return out
}

function Legend({ mode, ends, dark, target, map }: { mode: Mode; ends: [number, number] | null; dark: boolean; target: string; map: PoolMap }) {
  if (mode === 'status') {
    const there = statuses.filter((_, i) => map.status.includes(i))
    return <ul class="legend map-legend">{there.map(s => <li key={s}><span class={`dot ${s}`} />{s === 'asked' ? 'out for labelling' : s}</li>)}</ul>
  }
  if (!ends) return null
  const unit = mode === 'distance' ? '' : unitOf(target)
  const ramp = Array.from({ length: 9 }, (_, i) => css(shade(i / 8, dark))).join(', ')
  return (
    <div class="ramp small">
      <span>{modes.find(m => m.mode === mode)?.of(target)}</span>
      <span class="scale"><span>{number(ends[0])}</span><span class="colours" style={{ backgroundImage: `linear-gradient(to right, ${ramp})` }} /><span>{number(ends[1])} {unit}</span></span>
    </div>
  )
}

const listed = 60

function Caught({ map, chosen, values, mode, target, open, clear }: {
  map: PoolMap; chosen: number[]; values: Float64Array; mode: Mode; target: string; open: (point: number) => void; clear: () => void
}) {
  const s = useMemo(() => summary(map, chosen, values), [map, chosen, values])
  return (
    <aside class="card caught" aria-label="Rows in the lasso">
      <div class="line between"><h2>{many(s.total, 'row')}</h2><button type="button" class="quiet" onClick={clear}>Clear</button></div>
      <ul class="counts">{s.byStatus.map(b => <li key={b.status}><span class={`dot ${b.status}`} />{b.status}<span class="number">{count(b.n)}</span></li>)}</ul>
      {s.mean !== null && <p class="small">Mean {modes.find(m => m.mode === mode)?.of(target)}: <strong>{number(s.mean)}</strong> {mode === 'distance' ? '' : unitOf(target)}</p>}
      <ul class="caught-rows small">
        {chosen.slice(0, listed).map(i => <li key={i}><button type="button" class="quiet" onClick={() => open(i)}>Row {map.rows[i]}</button>{Number.isFinite(values[i]) && <span class="number">{number(values[i]!)}</span>}</li>)}
      </ul>
      {chosen.length > listed && <p class="faint small">and {count(chosen.length - listed)} more</p>}
    </aside>
  )
}

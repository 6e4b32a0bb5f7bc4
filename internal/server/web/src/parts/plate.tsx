import { useState } from 'preact/hooks'
import { api } from '../api'
import { count, many } from '../format'
import { keyOf, measurementText } from '../places'
import { controlWells, kindOf, platesOf, rowName, shapeOf, wellName } from '../plate'
import type { Shape } from '../plate'
import type { Batch, Campaign, Picked } from '../types'
import { useLoad } from '../use'
import { Modal } from './modal'
import { Loading, ProblemNote } from './notice'

const cell = 24 // the size of a well in the picture, also the smallest on the screen in pixels
const colours = 8

interface Shown {
  open: (m: Picked) => void // what a click on a well does
  groupColumn: string | undefined
  current?: string | undefined // the key of a measurement that stands out
  todo?: Set<string> // the keys of what is still to do; the rest is drawn hollow
}

/** The plates of a batch: a circle for each well, coloured by group or run. */
export function Plates({ batch, ...shown }: { batch: Batch } & Shown) {
  const shape = shapeOf(batch.plate)
  const plates = platesOf(batch)
  if (!shape || plates.size === 0) return <p class="faint">This batch has no plate.</p>
  const kinds = [...new Set(batch.rows.map(m => kindOf(m, shown.groupColumn)).filter(Boolean))]
  const colour = (m: Picked) => `colour-${Math.max(0, kinds.indexOf(kindOf(m, shown.groupColumn))) % colours}`
  const controls = controlWells(batch.controls ?? [], shape)
  return (
    <div class="plates">
      {[...plates].map(([number, wells]) => (
        <figure key={number} class="plate">
          <figcaption>Plate {number}<span class="faint small"> {many(wells.size, 'measurement')} in {count(shape.rows * shape.columns)} wells</span></figcaption>
          <Drawing shape={shape} number={number} wells={wells} controls={controls} colour={colour} {...shown} />
        </figure>
      ))}
      <ul class="legend small" aria-label="Colours of the wells">
        {kinds.map((k, i) => <li key={k}><span class={`dot well colour-${i % colours}`} />{k}</li>)}
        {shown.todo && <li><span class="dot well colour-0 done" />done</li>}
        {controls.size > 0 && <li><span class="dot well control" />control</li>}
      </ul>
      <AsTable plates={plates} groupColumn={shown.groupColumn} />
    </div>
  )
}

/** One plate. Tab reaches one well, arrow keys the others. */
function Drawing({ shape, number, wells, controls, colour, open, groupColumn, current, todo }: {
  shape: Shape; number: number; wells: Map<string, Picked>; controls: Set<string>; colour: (m: Picked) => string
} & Shown) {
  const places = Array.from({ length: shape.rows * shape.columns }, (_, i) => ({ row: Math.floor(i / shape.columns), column: i % shape.columns, name: wellName(Math.floor(i / shape.columns), i % shape.columns) }))
  const filled = places.filter(p => wells.has(p.name))
  const [reached, setReached] = useState('')
  const tab = filled.find(p => p.name === reached) ?? filled.find(p => keyOf(wells.get(p.name)!) === current) ?? filled[0]
  const replicates = [...wells.values()].some(m => m.replicate > 1)
  const press = (event: KeyboardEvent, at: typeof places[number]) => {
    const m = wells.get(at.name)
    if (m && (event.key === 'Enter' || event.key === ' ')) { event.preventDefault(); open(m); return }
    const step = ({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] } as Record<string, [number, number]>)[event.key]
    if (!step) return
    event.preventDefault()
    for (let row = at.row + step[0], column = at.column + step[1]; row >= 0 && row < shape.rows && column >= 0 && column < shape.columns; row += step[0], column += step[1]) {
      if (!wells.has(wellName(row, column))) continue
      setReached(wellName(row, column))
      ;(event.currentTarget as Element).parentElement?.querySelector<SVGElement>(`[data-well="${wellName(row, column)}"]`)?.focus()
      return
    }
  }
  const width = (shape.columns + 1) * cell, height = (shape.rows + 1) * cell
  return (
    <div class="scroll">
      <svg viewBox={`0 0 ${width} ${height}`} style={{ minWidth: `${width}px`, maxWidth: `${1.7 * width}px` }} role="group" aria-label={`Plate ${number}: ${many(wells.size, 'measurement')}. Arrow keys move between wells, Enter opens one.`}>
        {Array.from({ length: shape.columns }, (_, c) => <text key={c} class="axis" x={(c + 1.5) * cell} y={cell * .7}>{c + 1}</text>)}
        {Array.from({ length: shape.rows }, (_, r) => <text key={r} class="axis" x={cell * .5} y={(r + 1.5) * cell + 4}>{rowName(r)}</text>)}
        {places.map(p => {
          const x = (p.column + 1.5) * cell, y = (p.row + 1.5) * cell, m = wells.get(p.name)
          if (!m) return <circle key={p.name} class={controls.has(p.name) ? 'well control' : 'well empty'} cx={x} cy={y} r={cell * .36} />
          const key = keyOf(m), done = todo !== undefined && !todo.has(key)
          const words = [m.id, ...measurementText(m, replicates), ...(groupColumn ? [kindOf(m, groupColumn)] : []), ...(done ? ['done'] : [])].join(', ')
          return (
            <g key={p.name} role="button" data-well={p.name} tabIndex={p.name === tab?.name ? 0 : -1} aria-label={`${p.name}: ${words}`} aria-current={key === current ? 'true' : undefined}
              class={`well ${colour(m)}${done ? ' done' : ''}`} onClick={() => open(m)} onKeyDown={e => press(e, p)}>
              <title>{p.name}: {words}</title>
              <rect class="target" x={x - cell / 2} y={y - cell / 2} width={cell} height={cell} />
              <circle cx={x} cy={y} r={cell * .4} />
              {replicates && <text x={x} y={y + 4}>{m.replicate}</text>}
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** The same in words, for those who cannot see the picture or want to copy it. */
function AsTable({ plates, groupColumn }: { plates: Map<number, Map<string, Picked>>; groupColumn: string | undefined }) {
  return (
    <details class="small">
      <summary>The wells as a table</summary>
      <div class="scroll" tabIndex={0} role="group" aria-label="The wells as a table">
        <table>
          <thead><tr><th>Plate</th><th>Well</th><th>Row</th><th>Measurement</th></tr></thead>
          <tbody>{[...plates].flatMap(([number, wells]) => [...wells].map(([well, m]) => (
            <tr key={`${number} ${well}`}><td>{number}</td><td>{well}</td><td>{m.id}</td><td>{[...measurementText(m, true), ...(groupColumn ? [kindOf(m, groupColumn)] : [])].join(', ')}</td></tr>
          )))}</tbody>
        </table>
      </div>
    </details>
  )
}

/** The plates of any batch of a campaign. */
export function PlateDialog({ campaign, ask, open, close }: { campaign: Campaign; ask: number; open: (row: number) => void; close: () => void }) {
  const [shown, setShown] = useState(ask)
  const { data, error, loading } = useLoad(() => api.batch(campaign.name, shown), [campaign.name, shown])
  return (
    <Modal wide title="Plates" close={close}>
      {campaign.asks > 1 && (
        <div class="line"><label for="plate-batch">Batch</label>
          <select id="plate-batch" value={shown} onChange={e => setShown(Number(e.currentTarget.value))}>
            {Array.from({ length: campaign.asks }, (_, i) => campaign.asks - i).map(n => <option key={n} value={n}>{n}</option>)}
          </select></div>
      )}
      <ProblemNote error={error} />
      {loading && !data && <Loading what="the plates" />}
      {data && !error && <Plates batch={data} groupColumn={campaign.settings.group_column} open={m => open(m.row)} />}
      <form method="dialog" class="line"><button>Close</button></form>
    </Modal>
  )
}

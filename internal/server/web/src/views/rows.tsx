import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api } from '../api'
import type { RowQuery } from '../api'
import { count, exact, many } from '../format'
import { Empty, Loading, ProblemNote } from '../parts/notice'
import { AddRowsDialog, EarlierDialog } from '../parts/addrows'
import { PlateDialog } from '../parts/plate'
import { RowDialog } from '../parts/rowdialog'
import { useRowPages } from '../rowpages'
import { scrollFor, windowOf } from '../scroll'
import { statuses } from '../kinds'
import { signOf } from '../labels'
import { batchWords, uploadWords } from '../textstyle'
import type { Added, Campaign, Row, Session } from '../types'
import { useLoad } from '../use'
import { valueText } from '../values'

const rowHeight = 34

interface Shown { name: string; title: string; kind: 'status' | 'id' | 'label' | 'number' | 'text'; width: number }

export function Rows({ campaign, session }: { campaign: string; session: Session }) {
  const { data: status, error, reload } = useLoad(() => api.campaign(campaign), [campaign])
  const [query, setQuery] = useState<RowQuery>(() => {
    const wanted = new URLSearchParams(location.search).get('status')
    return wanted && (statuses as string[]).includes(wanted) ? { status: wanted } : {}
  })
  const [opened, setOpened] = useState<number | null>(null)
  const [turn, setTurn] = useState(0) // changes with what the table shows
  const [total, setTotal] = useState<number | null>(null)
  const [adding, setAdding] = useState(false)
  const [plates, setPlates] = useState(false)
  const [added, setAdded] = useState<Added | null>(null)
  const [gathering, setGathering] = useState(false)
  const [earlier, setEarlier] = useState<{ name: string; warnings: string[] } | null>(null) // earlier data that were added
  if (!status) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the rows" />
  return (
    <>
      <header class="head">
        <h1>Rows</h1>
        {status.settings.plate && status.asks > 0 && <button type="button" onClick={() => setPlates(true)}>Plates</button>}
        {session.role === 'owner' && <button type="button" onClick={() => setAdding(true)}>Add rows</button>}
        {session.role === 'owner' && <button type="button" onClick={() => setGathering(true)}>Add earlier data</button>}
        <p role="status">{total === null ? ' ' : total === status.rows ? `All ${many(status.rows, 'row')}` : `${count(total)} of ${many(status.rows, 'row')}`}</p>
      </header>
      {added && <p class="note good" role="status">{many(added.rows, 'row')} added{added.labelled > 0 && `, ${count(added.labelled)} with a label`}{added.waiting.length > 0 && `; ${many(added.waiting.length, 'label waits', 'labels wait')} for a second look`}.</p>}
      {earlier && <p class="note good" role="status">{earlier.name} added.</p>}
      {[...added?.warnings ?? [], ...earlier?.warnings ?? []].map(w => <p key={w} class="note warn small" role="status">{uploadWords(batchWords(w))}</p>)}
      <Filters status={status} query={query} change={setQuery} />
      <Table status={status} turn={turn} query={query} change={setQuery} open={setOpened} found={setTotal} />
      {adding && <AddRowsDialog campaign={status} close={() => setAdding(false)} done={a => { setAdding(false); setAdded(a); setTurn(n => n + 1); reload() }} />}
      {gathering && <EarlierDialog campaign={status} close={() => setGathering(false)} done={(name, warnings) => { setGathering(false); setEarlier({ name, warnings }) }} />}
      {plates && <PlateDialog campaign={status} ask={status.asks} close={() => setPlates(false)} open={row => { setPlates(false); setOpened(row) }} />}
      {opened !== null && <RowDialog campaign={status} session={session} row={opened} close={() => setOpened(null)} changed={() => setTurn(n => n + 1)} />}
    </>
  )
}

const signs = ['=', '!=', '>=', '<=', '>', '<']

function Filters({ status, query, change }: { status: Campaign; query: RowQuery; change: (q: RowQuery) => void }) {
  const [search, setSearch] = useState('')
  const [column, setColumn] = useState(status.columns[0]?.name ?? '')
  const [sign, setSign] = useState('>=')
  const [value, setValue] = useState('')
  const latest = useRef(query)
  latest.current = query
  useEffect(() => {
    const timer = setTimeout(() => {
      if ((latest.current.search ?? '') !== search.trim()) change(without({ ...latest.current, search: search.trim() }))
    }, 250)
    return () => clearTimeout(timer)
  }, [search])
  const add = (event: Event) => {
    event.preventDefault()
    if (!value.trim() || !column) return
    change({ ...query, where: [...query.where ?? [], `${column}${sign}${value.trim()}`] })
    setValue('')
  }
  const names = [...status.columns.map(c => c.name), ...status.targets]
  return (
    <div class="filters">
      <div class="line">
        <input type="search" aria-label="Search by id" placeholder={`Search ${status.id_column ?? 'row number'}`} value={search} onInput={e => setSearch(e.currentTarget.value)} />
        <select aria-label="Status" value={query.status ?? ''} onChange={e => change(without({ ...query, status: e.currentTarget.value }))}>
          <option value="">every status</option>
          {statuses.map(s => <option key={s} value={s}>{s}</option>)}
        </select>
        <form class="line where" onSubmit={add}>
          <select aria-label="Column" value={column} onChange={e => setColumn(e.currentTarget.value)}>{names.map(n => <option key={n} value={n}>{n}</option>)}</select>
          <select aria-label="Comparison" value={sign} onChange={e => setSign(e.currentTarget.value)}>{signs.map(s => <option key={s} value={s}>{printed(s)}</option>)}</select>
          <input class="limit" aria-label="Value" placeholder="value" value={value} onInput={e => setValue(e.currentTarget.value)} />
          <button type="submit" disabled={!value.trim()}>Add filter</button>
        </form>
        <details class="menu">
          <summary class="button">Export</summary>
          <ul>
            {['csv', 'jsonl', 'parquet'].map(f => <li key={f}><a download href={api.exportAddress(status.name, f, query)}>{{ csv: 'CSV', jsonl: 'JSON Lines', parquet: 'Parquet' }[f]}</a></li>)}
          </ul>
        </details>
      </div>
      {query.where && query.where.length > 0 && (
        <ul class="chips" aria-label="Filters">
          {query.where.map((w, i) => (
            <li key={w}>{w}<button type="button" class="tool" aria-label={`Remove the filter ${w}`} onClick={() => change(without({ ...query, where: query.where!.filter((_, j) => j !== i) }))}>×</button></li>
          ))}
        </ul>
      )}
    </div>
  )
}

const printed = (sign: string) => ({ '!=': '≠', '>=': '≥', '<=': '≤' }[sign] ?? sign)

/** Drops what is empty, so that equal queries look alike. */
function without(q: RowQuery): RowQuery {
  return Object.fromEntries(Object.entries(q).filter(([, v]) => v !== '' && v !== undefined && !(Array.isArray(v) && v.length === 0)))
}

function columnsOf(status: Campaign): Shown[] {
  const numeric = (kind: string) => /num|int|float|double/i.test(kind)
  return [
    { name: 'id', title: status.id_column ?? 'row', kind: 'id', width: 118 },
    { name: 'status', title: 'status', kind: 'status', width: 108 },
    ...status.targets.map(t => ({ name: t, title: t, kind: 'label' as const, width: Math.max(100, 40 + 8 * Math.min(20, t.length)) })),
    ...status.columns.map(c => ({ name: c.name, title: c.name, kind: numeric(c.kind) ? 'number' as const : 'text' as const, width: Math.max(numeric(c.kind) ? 100 : 150, 40 + 8 * Math.min(20, c.name.length)) })),
  ]
}

function Table({ status, turn, query, change, open, found }: {
  status: Campaign; turn: number; query: RowQuery; change: (q: RowQuery) => void; open: (row: number) => void; found: (total: number | null) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState(0)
  const [viewport, setViewport] = useState(560)
  const [active, setActive] = useState(0)
  const [guess, setGuess] = useState(status.rows)
  const w = windowOf(guess, rowHeight, scroll, viewport)
  const { total, error, row } = useRowPages(status.name, query, turn, w.first, w.last)
  const columns = useMemo(() => columnsOf(status), [status])
  const template = columns.map(c => `minmax(${c.width}px, 1fr)`).join(' ')
  const width = columns.reduce((sum, c) => sum + c.width, 0)
  useEffect(() => { if (total !== null) setGuess(total); found(total) }, [total])
  useEffect(() => { box.current?.scrollTo({ top: 0 }); setScroll(0); setActive(0) }, [query])
  useEffect(() => {
    const el = box.current
    if (!el) return
    const watcher = new ResizeObserver(() => setViewport(Math.max(rowHeight, el.clientHeight - rowHeight)))
    watcher.observe(el)
    return () => watcher.disconnect()
  }, [])
  const move = (to: number) => {
    const next = Math.max(0, Math.min(guess - 1, to))
    setActive(next)
    const top = scrollFor(next, guess, rowHeight, box.current?.scrollTop ?? 0, viewport)
    box.current?.scrollTo({ top })
  }
  const page = Math.max(1, Math.floor(viewport / rowHeight) - 1)
  const moves: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: guess - 1 }
  const press = (event: KeyboardEvent) => {
    if (event.target !== box.current) return
    const to = moves[event.key]
    if (to !== undefined) { event.preventDefault(); move(to) }
    const here = row(active)
    if (event.key === 'Enter' && here) { event.preventDefault(); open(here.row) }
  }
  const sort = (name: string) => {
    const order = query.sort === name && query.order !== 'desc' ? 'desc' : 'asc'
    change({ ...query, sort: name, order })
  }
  const list = Array.from({ length: Math.max(0, w.last - w.first) }, (_, i) => w.first + i)
  return (
    <>
      <ProblemNote error={error} />
      {total === 0
        ? <Empty title="No row matches"><p>Remove a filter, or search for another part of an id.</p></Empty>
        : (
          <div ref={box} class="grid" role="grid" tabIndex={0} aria-label="Rows. Arrow keys move, Enter opens a row." aria-rowcount={guess + 1} aria-colcount={columns.length}
            aria-activedescendant={`row-${active}`} onScroll={e => setScroll(e.currentTarget.scrollTop)} onKeyDown={press}>
            <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, minWidth: `${width}px` }}>
              {columns.map(c => (
                <div key={c.name} role="columnheader" class={c.kind} aria-sort={query.sort !== c.name ? 'none' : query.order === 'desc' ? 'descending' : 'ascending'}>
                  <button type="button" tabIndex={-1} title={`Sort by ${c.title}`} onClick={() => sort(c.name)}>{c.title}{query.sort === c.name && <span aria-hidden="true">{query.order === 'desc' ? ' ↓' : ' ↑'}</span>}</button>
                </div>
              ))}
            </div>
            <div class="grid-body" role="rowgroup" style={{ height: `${w.height}px`, minWidth: `${width}px` }}>
              <div role="presentation" style={{ transform: `translateY(${w.top}px)` }}>
                {list.map(i => <Line key={i} i={i} row={row(i)} columns={columns} template={template} active={i === active}
                  open={() => { setActive(i); const r = row(i); if (r) open(r.row) }} />)}
              </div>
            </div>
          </div>
        )}
    </>
  )
}

function Line({ i, row, columns, template, active, open }: { i: number; row: Row | undefined; columns: Shown[]; template: string; active: boolean; open: () => void }) {
  return (
    <div id={`row-${i}`} role="row" aria-rowindex={i + 2} class={active ? 'grid-row active' : 'grid-row'} style={{ gridTemplateColumns: template }} onClick={open}>
      {columns.map(c => <div key={c.name} role="gridcell" class={c.kind} title={row && cellText(row, c)}>{row ? <Cell row={row} column={c} /> : '…'}</div>)}
    </div>
  )
}

function Cell({ row, column }: { row: Row; column: Shown }) {
  switch (column.kind) {
    case 'status': return <><span class={`dot ${row.status}`} />{row.status}</>
    case 'text': case 'number': return <span class={row.inputs[column.name] === null ? 'faint' : undefined}>{cellText(row, column)}</span>
    default: return <>{cellText(row, column)}</>
  }
}

/** All of what a cell says; the cell may be too narrow for it. */
function cellText(row: Row, column: Shown): string {
  switch (column.kind) {
    case 'id': return row.id
    case 'status': return row.status
    case 'label': {
      const v = row.labels[column.name]
      return v === null || v === undefined ? '–' : signOf(row.censored?.[column.name]) + exact(v)
    }
    default: return valueText(row.inputs[column.name])
  }
}

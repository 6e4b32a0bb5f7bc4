import { count, exact, many } from './format'
import { signOf } from './labels'
import { changeText } from './settings'
import type { LogEvent } from './types'

// Entries of the log in words.

interface Labels { labels?: { row: number; id: string; values: (number | null)[]; censored?: number[]; doubts?: unknown[] }[] }
interface Payload extends Labels {
  reason?: string
  again?: boolean
  ask?: number
  seq?: number
  trained?: number
  blocks?: { rows: number }[]
  name?: string
}

const payload = (e: LogEvent): Payload => (e.detail[e.kind] ?? {})

const rowsIn = (p: Payload): number => (p.blocks ?? []).reduce((n, b) => n + b.rows, 0)

/** What happened, as a sentence without its subject: "labelled 3 rows". */
export function eventText(e: LogEvent): string {
  const p = payload(e)
  const rows = many(e.rows.length, 'row')
  switch (e.kind) {
    case 'created': return 'created the campaign'
    case 'rows_added': return `added ${many(rowsIn(p), 'row')}`
    case 'asked': return `asked for ${rows}${p.trained ? `, picked with a model fitted to ${many(p.trained, 'label')}` : ', spread over the inputs'}`
    case 'told': return `labelled ${rows}${doubtsText(e)}`
    case 'corrected': return `corrected the labels of ${rows}${doubtsText(e)}`
    case 'confirmed': return `confirmed the labels of ${rows}`
    case 'failed': return `reported that ${rows} could not be labelled${p.again ? '; they stay open' : ''}`
    case 'returned': return `gave back ${rows}`
    case 'retired': return `retired ${rows}`
    case 'earlier': return `added ${many(rowsIn(p), 'row')} of earlier data, ${p.name ?? ''}`
    case 'settings': return e.changes && e.changes.length > 0 ? `changed the settings: ${e.changes.map(changeText).join(', ')}` : 'changed the settings'
    case 'undone': return `undid event ${count(p.seq ?? 0)}`
  }
}

/** Labels of an event that had to wait for a second look. */
const doubted = (e: LogEvent) => (payload(e).labels ?? []).filter(l => l.doubts).length

function doubtsText(e: LogEvent): string {
  const n = doubted(e)
  return n === 0 ? '' : e.rows.length === 1 ? ', far from what was expected' : `, ${count(n)} of them far from what was expected`
}

export const reasonOf = (e: LogEvent): string => payload(e).reason ?? ''

/** The labels of an event as texts, by id, with < or > where only a limit is known; empty for events without labels. */
export function labelsOf(e: LogEvent): Map<string, string> {
  return new Map((payload(e).labels ?? []).map(l =>
    [l.id, l.values.map((v, i) => v === null ? '–' : signOf(l.censored?.[i]) + exact(v)).join(', ')]))
}

/** Whether undoing the event makes sense: the first one made the campaign. An event that undoes another can itself be undone. */
export const undoable = (e: LogEvent): boolean => e.kind === 'undone' || (!e.undone && e.kind !== 'created')

/** Events by day, in their order. */
export function byDay(events: LogEvent[], dayOf: (time: string) => string): { day: string; events: LogEvent[] }[] {
  const days: { day: string; events: LogEvent[] }[] = []
  for (const e of events) {
    const d = dayOf(e.time)
    const last = days[days.length - 1]
    if (last?.day === d) last.events.push(e)
    else days.push({ day: d, events: [e] })
  }
  return days
}

/** Labels that one person entered one by one, the latest first. */
export interface Run { person: string; events: LogEvent[] }

const shortest = 3 // events that are worth a group

const isSingle = (e: LogEvent) => e.kind === 'told' && e.rows.length === 1 && doubted(e) === 0

/**
 * Events with runs of single labels as groups, in their order. Several people who label at the same time have a group
 * each; what anybody else did in between ends them.
 */
export function grouped(events: LogEvent[]): (LogEvent | Run)[] {
  const list: (LogEvent | Run)[] = []
  for (let i = 0; i < events.length;) {
    let end = i
    while (end < events.length && isSingle(events[end]!)) end++
    if (end === i) { list.push(events[i++]!); continue }
    const stretch = events.slice(i, end)
    for (const person of new Set(stretch.map(e => e.person ?? ''))) {
      const mine = stretch.filter(e => (e.person ?? '') === person)
      if (mine.length >= shortest) list.push({ person, events: mine })
      else list.push(...mine)
    }
    i = end
  }
  return list
}

/** A run of labels as a sentence without its subject: "labelled 14 rows, one of them undone". */
export function runText(run: Run): string {
  const undone = run.events.filter(e => e.undone).length
  return `labelled ${many(run.events.length, 'row')}${undone === 0 ? '' : undone === 1 ? ', one of which is undone' : `, ${count(undone)} of which are undone`}`
}

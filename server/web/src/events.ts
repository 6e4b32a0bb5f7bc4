import { count, many } from './format'
import type { LogEvent } from './types'

// Entries of the log in words.

interface Labels { labels?: { row: number; id: string; values: (number | null)[] }[] }
interface Payload extends Labels {
  reason?: string
  again?: boolean
  ask?: number
  seq?: number
  trained?: number
  blocks?: { rows: number }[]
}

const payload = (e: LogEvent): Payload => (e.detail[e.kind] ?? {})

/** What happened, as a sentence without its subject: "labelled 3 rows". */
export function eventText(e: LogEvent): string {
  const p = payload(e)
  const rows = many(e.rows.length, 'row')
  switch (e.kind) {
    case 'created': return 'created the campaign'
    case 'rows_added': return `added ${many((p.blocks ?? []).reduce((n, b) => n + b.rows, 0), 'row')}`
    case 'asked': return `asked for ${rows}${p.trained ? `, picked with a model fitted to ${many(p.trained, 'label')}` : ', spread over the inputs'}`
    case 'told': return `labelled ${rows}`
    case 'corrected': return `corrected the labels of ${rows}`
    case 'failed': return `reported that ${rows} could not be labelled${p.again ? '; they stay open' : ''}`
    case 'returned': return `gave back ${rows}`
    case 'retired': return `retired ${rows}`
    case 'settings': return 'changed the settings'
    case 'undone': return `undid event ${count(p.seq ?? 0)}`
  }
}

export const reasonOf = (e: LogEvent): string => payload(e).reason ?? ''

/** The labels of an event, by id; empty for events without labels. */
export function labelsOf(e: LogEvent): { id: string; values: (number | null)[] }[] {
  return payload(e).labels ?? []
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

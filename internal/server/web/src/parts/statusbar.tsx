import { count } from '../format'
import type { Counts, Status } from '../kinds'

const parts: { status: Status; word: string }[] = [
  { status: 'labelled', word: 'labelled' },
  { status: 'waiting', word: 'waiting for a second look' },
  { status: 'asked', word: 'out' },
  { status: 'failed', word: 'failed' },
  { status: 'retired', word: 'retired' },
  { status: 'open', word: 'open' },
]

/** The shares of the statuses as one bar; small shares stay visible. */
export function StatusBar({ counts }: { counts: Counts }) {
  const words = parts.filter(p => counts[p.status] > 0).map(p => `${count(counts[p.status])} ${p.word}`).join(', ')
  return (
    <div class="statusbar" role="img" aria-label={`Rows: ${words}`}>
      {parts.filter(p => counts[p.status] > 0).map(p => <span key={p.status} class={p.status} style={{ flexGrow: counts[p.status] }} />)}
    </div>
  )
}

import type { ComponentChildren } from 'preact'
import { problemText } from '../api'

/** What went wrong, in the words of the page, and a way to try again. */
export function ProblemNote({ error, retry, words = text => text }: { error: unknown; retry?: () => void; words?: (text: string) => string }) {
  if (error === null || error === undefined) return null
  return (
    <div class="note bad" role="alert">
      <p>{words(problemText(error))}</p>
      {retry && <button type="button" class="quiet" onClick={retry}>Try again</button>}
    </div>
  )
}

/** Says that the service does not answer at the moment, while the page tries again. */
export function Lost({ lost }: { lost: boolean }) {
  return lost ? <p class="note" role="status">The connection was lost. Trying again…</p> : null
}

/** Says that there is nothing yet, and what to do next. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="empty"><h2>{title}</h2>{children}</section>
}

export function Loading({ what }: { what: string }) {
  return <p class="loading" role="status">Loading {what}…</p>
}

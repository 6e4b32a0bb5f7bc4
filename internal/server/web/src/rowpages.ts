import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from './api'
import type { RowQuery } from './api'
import { pagesOf, pageSize } from './scroll'
import type { Row } from './types'

// Pages of rows, fetched as they come into view and kept while they are near.

const mostKept = 40

export function useRowPages(campaign: string, query: RowQuery, turn: number, first: number, last: number) {
  const key = JSON.stringify([campaign, query, turn])
  const kept = useRef({ key: '', pages: new Map<number, Row[]>(), asked: new Set<number>() })
  const [total, setTotal] = useState<number | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [, redraw] = useState(0)
  if (kept.current.key !== key) kept.current = { key, pages: new Map(), asked: new Set() }
  const wanted = pagesOf(first, Math.max(last, 1)).join()
  useEffect(() => {
    const mine = kept.current
    const stop = new AbortController()
    // Scrolling passes many pages; only where it rests are they fetched.
    const timer = setTimeout(() => {
      for (const page of wanted.split(',').map(Number)) {
        if (mine.asked.has(page)) continue
        mine.asked.add(page)
        api.rows(campaign, { ...query, offset: page * pageSize, limit: pageSize }, stop.signal).then(answer => {
          if (kept.current !== mine) return
          mine.pages.set(page, answer.rows)
          forget(mine.pages, mine.asked, page)
          setTotal(answer.total)
          setError(null)
          redraw(n => n + 1)
        }, (e: unknown) => {
          mine.asked.delete(page)
          if (kept.current === mine && !stop.signal.aborted) setError(e)
        })
      }
    }, mine.pages.size === 0 ? 0 : 60)
    return () => { clearTimeout(timer); stop.abort() }
  }, [key, wanted])
  const row = (i: number): Row | undefined => kept.current.pages.get(Math.floor(i / pageSize))?.[i % pageSize]
  return { total, error, row }
}

/** Drops the pages farthest from the current one. */
function forget(pages: Map<number, Row[]>, asked: Set<number>, near: number): void {
  while (pages.size > mostKept) {
    const farthest = [...pages.keys()].reduce((a, b) => Math.abs(a - near) >= Math.abs(b - near) ? a : b)
    pages.delete(farthest)
    asked.delete(farthest)
  }
}

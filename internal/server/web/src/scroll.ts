// Virtual scrolling over any number of rows. Browsers draw nothing beyond some ten million
// pixels, so a longer table is scrolled in proportion: the scroll bar covers all rows, and each
// pixel stands for more than one pixel of rows.

export const tallest = 8_000_000

export interface Window { first: number; last: number; top: number; height: number }

/** The rows to draw, where the first of them lies, and how tall the scrolled content is. */
export function windowOf(total: number, rowHeight: number, scrollTop: number, viewport: number, spare = 8): Window {
  const full = total * rowHeight
  const height = Math.min(full, tallest)
  const reach = Math.max(0, height - viewport)
  const at = Math.min(Math.max(0, scrollTop), reach)
  // The place in the full table that the top edge shows.
  const place = reach > 0 ? at * ((full - viewport) / reach) : 0
  const first = Math.max(0, Math.floor(place / rowHeight) - spare)
  const last = Math.min(total, Math.ceil((place + viewport) / rowHeight) + spare)
  return { first, last, top: at - (place - first * rowHeight), height }
}

/** Where to scroll so that a row lies within the viewport; the same place if it does already. */
export function scrollFor(row: number, total: number, rowHeight: number, scrollTop: number, viewport: number): number {
  const full = total * rowHeight
  const reach = Math.max(0, Math.min(full, tallest) - viewport)
  const ratio = reach > 0 ? (full - viewport) / reach : 1
  const place = scrollTop * ratio
  const top = row * rowHeight
  if (top < place) return top / ratio
  if (top + rowHeight > place + viewport) return (top + rowHeight - viewport) / ratio
  return scrollTop
}

export const pageSize = 200

/** The pages that hold the rows from first to last. */
export function pagesOf(first: number, last: number): number[] {
  const pages: number[] = []
  for (let p = Math.floor(first / pageSize); p * pageSize < last; p++) pages.push(p)
  return pages
}

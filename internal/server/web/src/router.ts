import { useEffect, useState } from 'preact/hooks'

// Addresses are paths, without a library. The view always comes last, so that a campaign
// whose name has a dot is not taken for a file by the service.

export const campaignViews = ['overview', 'label', 'map', 'rows', 'history', 'check'] as const
export type CampaignView = typeof campaignViews[number]

export type Place =
  | { view: 'campaigns' | 'new' | 'benchmarks' }
  | { view: CampaignView; campaign: string }
  | { view: 'lost' }

export function placeOf(path: string): Place {
  const parts = path.split('/').filter(Boolean)
  if (parts.length === 0) return { view: 'campaigns' }
  if (parts.length === 1 && (parts[0] === 'new' || parts[0] === 'benchmarks')) return { view: parts[0] }
  const [first, name, view] = parts
  if (first === 'c' && name !== undefined && parts.length <= 3) {
    const found = view === undefined ? 'overview' : campaignViews.find(v => v === view)
    const campaign = decoded(name)
    if (found && campaign !== null) return { view: found, campaign }
  }
  return { view: 'lost' }
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

export function pathOf(place: Place): string {
  switch (place.view) {
    case 'campaigns': case 'lost': return '/'
    case 'new': case 'benchmarks': return `/${place.view}`
    default: return `/c/${encodeURIComponent(place.campaign)}/${place.view}`
  }
}

const moved = 'nextbatch:moved'

/** Goes to an address within the page. */
export function go(path: string, replace = false): void {
  if (path === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  dispatchEvent(new Event(moved))
}

/** The current place; it changes with links, with back and with forward. */
export function usePlace(): Place {
  const [path, setPath] = useState(location.pathname)
  useEffect(() => {
    const update = () => setPath(location.pathname)
    addEventListener('popstate', update)
    addEventListener(moved, update)
    return () => {
      removeEventListener('popstate', update)
      removeEventListener(moved, update)
    }
  }, [])
  return placeOf(path)
}

/** Handles clicks on links within the page; others, and clicks that open a tab, are the browser's. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
  if (link.pathname.startsWith('/v1/') || link.pathname === '/docs' || link.pathname.endsWith('.json')) return
  if (link.hash && link.pathname === location.pathname) return
  event.preventDefault()
  go(link.pathname + link.search)
}

import type { ComponentChildren } from 'preact'

// Drawn on a grid of 20 by 20, in the colour of the text.

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {children}
    </svg>
  )
}

export const icons = {
  overview: () => <Icon><path d="M3 3v14h14" /><path d="M6 6c1.5 4.5 4.5 6.5 10 7" /></Icon>,
  label: () => <Icon><path d="M3 10V4a1 1 0 0 1 1-1h6l7 7-7 7z" /><circle cx="7" cy="7" r="1" /></Icon>,
  map: () => <Icon><circle cx="5" cy="13" r="1.2" /><circle cx="9" cy="6" r="1.2" /><circle cx="12" cy="14" r="1.2" /><circle cx="15.5" cy="8" r="2" /><circle cx="6" cy="9" r="0.5" /></Icon>,
  rows: () => <Icon><path d="M3 5h14M3 10h14M3 15h14" /><path d="M7.5 5v10" /></Icon>,
  history: () => <Icon><path d="M3.5 10a6.5 6.5 0 1 0 2-4.700L3.5 7" /><path d="M3.5 3.500V7H7" /><path d="M10 6.500V10l2.5 1.5" /></Icon>,
  check: () => <Icon><circle cx="10" cy="10" r="6.5" /><path d="M7 10l2 2.2 4-4.400" /></Icon>,
  campaigns: () => <Icon><rect x="3" y="3" width="6" height="6" rx="1" /><rect x="11" y="3" width="6" height="6" rx="1" /><rect x="3" y="11" width="6" height="6" rx="1" /><rect x="11" y="11" width="6" height="6" rx="1" /></Icon>,
  new: () => <Icon><path d="M10 4v12M4 10h12" /></Icon>,
  benchmarks: () => <Icon><path d="M3 17h14" /><path d="M5.5 14V9M10 14V4M14.5 14v-3" /></Icon>,
  system: () => <Icon><circle cx="10" cy="10" r="6.5" /><path d="M10 3.500v13" /><path d="M10 5.500a4.5 4.5 0 0 1 0 9" fill="currentColor" /></Icon>,
  light: () => <Icon><circle cx="10" cy="10" r="3" /><path d="M10 2.500v2M10 15.500v2M2.5 10h2M15.5 10h2M4.7 4.700l1.4 1.400M13.9 13.900l1.4 1.400M4.7 15.300l1.4-1.400M13.9 6.100l1.4-1.4" /></Icon>,
  dark: () => <Icon><path d="M16.5 11.500A6.5 6.5 0 1 1 8.5 3.500a5 5 0 0 0 8 8z" /></Icon>,
  close: () => <Icon><path d="M5 5l10 10M15 5L5 15" /></Icon>,
  help: () => <Icon><circle cx="10" cy="10" r="7" /><path d="M8 8a2 2 0 1 1 2.8 1.800c-.6.3-.8.7-.8 1.4" /><path d="M10 14h.01" /></Icon>,
  out: () => <Icon><path d="M8 3H4v14h4" /><path d="M12 6.500L15.5 10 12 13.500M15 10H8" /></Icon>,
}

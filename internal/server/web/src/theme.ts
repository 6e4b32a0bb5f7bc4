import { useEffect, useState } from 'preact/hooks'

// Light and dark follow the system until somebody chooses.

export type Theme = 'system' | 'light' | 'dark'
const key = 'nextbatch.theme'
const changed = 'nextbatch:theme'

export function theme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(): void {
  const t = theme()
  if (t === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.dataset['theme'] = t
}

export function setTheme(t: Theme): void {
  if (t === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, t)
  applyTheme()
  dispatchEvent(new Event(changed))
}

/** Counts changes of the theme, for what is drawn by script. */
export function useThemeChanges(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const bump = () => setCount(n => n + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    addEventListener(changed, bump)
    system.addEventListener('change', bump)
    return () => {
      removeEventListener(changed, bump)
      system.removeEventListener('change', bump)
    }
  }, [])
  return count
}

/** The current value of a colour of the style sheet, such as "--accent", as rgb(…). */
export function colour(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  probe.hidden = true
  document.body.append(probe)
  const value = getComputedStyle(probe).color
  probe.remove()
  return value
}

import { useLayoutEffect, useRef } from 'preact/hooks'

// Shortcuts. A view registers its own while it is shown; ? lists all that are registered.

export interface Shortcut { keys: string; does: string; run?: (event: KeyboardEvent) => void; inFields?: boolean; group?: string }

const registered = new Set<Shortcut>()

export function shortcuts(): Shortcut[] {
  return [...registered]
}

/** Whether a key belongs to what has the focus, such as a text field. */
export function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

/** The name of a key with its modifiers, such as "Ctrl+Z". */
export function nameOf(event: Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey'>): string {
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1]
  // With Alt, some keyboards type another character.
  const typed = event.altKey && letter ? letter : event.key
  const key = typed.length === 1 ? typed.toLowerCase() : typed
  return `${event.ctrlKey || event.metaKey ? 'Ctrl+' : ''}${event.altKey ? 'Alt+' : ''}${key.length === 1 && (event.ctrlKey || event.metaKey || event.altKey) ? key.toUpperCase() : key}`
}

/**
 * Registers shortcuts while the component is shown. Those without run are only listed.
 * They work from the moment that the component is in the page: an effect after the next frame would miss keys of somebody who types fast.
 */
export function useShortcuts(list: Shortcut[]): void {
  const kept = useRef(list)
  kept.current = list
  const names = list.map(s => s.keys).join(' ')
  useLayoutEffect(() => {
    const mine = kept.current
    for (const s of mine) registered.add(s)
    return () => { for (const s of mine) registered.delete(s) }
  }, [names])
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return
      const name = nameOf(event)
      const found = kept.current.find(s => s.run && s.keys.split(' / ').some(k => k === name))
      if (!found?.run || (typing(event.target) && !found.inFields)) return
      event.preventDefault()
      found.run(event)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isSignedOut } from './session'

/** What a view shows while, and after, it loads. */
export interface Loaded<T> { data: T | null; error: unknown; loading: boolean; reload: () => void }

/** Sent when the service no longer knows the session. */
export const signedOut = 'nextbatch:signed-out'

/** Loads something, again whenever the keys change. Old data stays while new data loads. */
export function useLoad<T>(load: () => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; loading: boolean }>({ data: null, error: null, loading: true })
  const [turn, setTurn] = useState(0)
  const latest = useRef(0)
  useEffect(() => {
    const mine = ++latest.current
    setState(s => ({ ...s, loading: true }))
    load().then(
      data => { if (mine === latest.current) setState({ data, error: null, loading: false }) },
      (error: unknown) => {
        if (mine !== latest.current) return
        if (isSignedOut(error)) dispatchEvent(new Event(signedOut))
        setState(s => ({ data: s.data, error, loading: false }))
      },
    )
  }, [...keys, turn])
  useEffect(() => () => { latest.current++ }, [])
  return { ...state, reload: useCallback(() => setTurn(n => n + 1), []) }
}

/** Calls the function at intervals of the given seconds while the page is visible. */
export function useEvery(seconds: number, call: () => void): void {
  const kept = useRef(call)
  kept.current = call
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) kept.current() }, seconds * 1000)
    return () => clearInterval(timer)
  }, [seconds])
}

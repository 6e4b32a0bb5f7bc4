import { useState } from 'preact/hooks'
import { problemText } from '../api'
import { signIn } from '../session'
import type { Session } from '../types'

export function SignIn({ problem, done }: { problem: unknown; done: (session: Session) => void }) {
  const [token, setToken] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(problem)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      done(await signIn(token))
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <main class="signin">
      <form onSubmit={submit}>
        <h1><img src="/favicon.svg" alt="" width="32" height="32" /> nextbatch</h1>
        <p>Open the link that <code>nextbatch serve</code> printed, or paste your token here.</p>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} required value={token} placeholder="nb_…"
          aria-describedby={error ? 'token-problem' : undefined} aria-invalid={error ? true : undefined}
          onInput={e => setToken(e.currentTarget.value)} autofocus />
        {error ? <p id="token-problem" class="fault" role="alert">{problemText(error)}</p> : null}
        <button type="submit" class="primary" disabled={busy || !token.trim()}>{busy ? 'Signing in…' : 'Sign in'}</button>
        <p class="faint">No token? The person who runs the service makes one with <code>nextbatch token add NAME</code>.</p>
      </form>
    </main>
  )
}

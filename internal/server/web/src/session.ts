import { api } from './api'
import type { Session } from './types'

// A link with a token in its fragment signs in. The fragment is removed from the address at
// once, before anything else is loaded, and a browser never sends it to a server.

const mark = 'nextbatch.signed-in'

export function tokenOf(fragment: string): string | null {
  const token = new URLSearchParams(fragment.replace(/^#/, '')).get('token')
  return token ? token : null
}

function takeToken(): string | null {
  const token = tokenOf(location.hash)
  if (token) history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Who is signed in; null if nobody is. */
export async function begin(): Promise<Session | null> {
  const token = takeToken()
  if (token) return await signIn(token)
  if (!localStorage.getItem(mark)) return null
  try {
    return await api.session()
  } catch (error) {
    if (isSignedOut(error)) {
      localStorage.removeItem(mark)
      return null
    }
    throw error
  }
}

export async function signIn(token: string): Promise<Session> {
  const session = await api.signIn(token.trim())
  localStorage.setItem(mark, '1')
  return session
}

export async function signOut(): Promise<void> {
  await api.signOut()
  localStorage.removeItem(mark)
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 401
}

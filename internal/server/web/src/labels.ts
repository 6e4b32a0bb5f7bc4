import { readNumber } from './reading'
import type { Mark } from './format'
import type { History } from './types'

/** What a person entered: numbers by target, and for those that are limits the side on which the true one lies. */
export interface Entered { values: Record<string, number>; censored?: Record<string, number> }

/** Reads what a person entered for each target, or says what is wrong. Empty fields are left out. */
export function readLabels(targets: string[], texts: Record<string, string>, mark: Mark, lod = '', labels: Record<string, History> = {}): Entered | { fault: string } {
  const values: Record<string, number> = {}, censored: Record<string, number> = {}
  for (const t of targets) {
    const text = texts[t]?.trim() ?? ''
    if (!text) continue
    if (mayBeBelow(text)) {
      const limit = limitOf(t, lod)
      if (limit === null) return { fault: `"${text}" may lie below a limit that is not known. Write the limit, as in <${mark === 'comma' ? '0,5' : '0.5'}, or enter the limit of detection in the settings.` }
      values[t] = limit
      censored[t] = -1
      continue
    }
    const [sign] = /^[<>≤≥]=?/.exec(text) ?? ['']
    const read = readNumber(text.slice(sign.length), mark, labels[t])
    if (read === null) return { fault: `"${text}" is not a number. Write one such as ${mark === 'comma' ? '1,25' : '1.25'} or 3e-4.` }
    values[t] = read.value
    if (sign) censored[t] = /[<≤]/.test(sign) ? -1 : 1
  }
  if (Object.keys(values).length === 0) return { fault: 'Enter the label first.' }
  return Object.keys(censored).length > 0 ? { values, censored } : { values }
}

const belowUnknown = /^(<?(l?lod|l?loq|[lmd]dl|bdl|b[lq]o?[dq]?l?)|n\.?[bdn]\.?|n\/d)$/i

/** Whether a label is below a limit that it does not say, or may be, as <LOD, n.d. and n.b. are. */
const mayBeBelow = (text: string): boolean => belowUnknown.test(text.replace(/\s/g, ''))

/** The limit of detection of a target in a setting such as 0.5 or y=0.5,z=2. */
function limitOf(target: string, lod: string): number | null {
  const limits = new Map(lod.split(',').filter(Boolean).map(item => {
    const at = item.lastIndexOf('=')
    return [item.slice(0, Math.max(0, at)).trim(), Number(item.slice(at + 1))] as const
  }))
  return limits.get(target) ?? limits.get('') ?? null
}

/** The sign of a label of which only a limit is known. */
export const signOf = (side: number | undefined): string => side === undefined || side === 0 ? '' : side < 0 ? '<' : '>'

/** Whether a person may correct labels of these people. */
export function mayCorrect(session: { role: string; person: string }, told: (string | undefined)[]): boolean {
  return session.role === 'owner' || (session.role === 'labeller' && told.every(person => person === session.person))
}

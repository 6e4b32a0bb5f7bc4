import { readNumber } from './reading'
import type { Mark } from './format'

/** Reads what a person entered for each target: numbers, or what is wrong. Empty fields are left out. */
export function readLabels(targets: string[], texts: Record<string, string>, mark: Mark): { values: Record<string, number> } | { fault: string } {
  const values: Record<string, number> = {}
  for (const t of targets) {
    const text = texts[t]?.trim() ?? ''
    if (!text) continue
    const read = readNumber(text, mark)
    if (read === null) return { fault: `"${text}" is not a number. Write one such as ${mark === 'comma' ? '1,25' : '1.25'} or 3e-4.` }
    values[t] = read.value
  }
  return Object.keys(values).length > 0 ? { values } : { fault: 'Enter the label first.' }
}

/** Whether a person may correct labels of these people. */
export function mayCorrect(session: { role: string; person: string }, told: (string | undefined)[]): boolean {
  return session.role === 'owner' || (session.role === 'labeller' && told.every(person => person === session.person))
}

import type { Fitted } from './types'

/** What a campaign can fit to its labels, with one sentence each. */
export const learners = [
  { learner: 'auto', name: 'Automatic', words: 'Blends a Gaussian process, trees and networks by their errors on held-out rows.' },
  { learner: 'network', name: 'Network', words: 'A neural network alone, as in the paper.' },
  { learner: 'gp', name: 'Gaussian process', words: 'Suits smooth relations, and few labels.' },
  { learner: 'trees', name: 'Trees', words: 'Extra trees and gradient boosting: suit thresholds and categories.' },
  { learner: 'in-context', name: 'In-context network', words: 'Has read millions of generated tables: needs no training, up to 1,024 labels.' },
] as const

export type Learner = typeof learners[number]['learner']

/** Those that are not set are networks: campaigns from before there was a choice. */
export const learnerOf = (set: string | undefined) => learners.find(l => l.learner === set) ?? learners[1]

export interface Share { name: string; weight: number }

/** The learners that have a weight, in the order in which they are tried. */
export function shares(f: Fitted): Share[] {
  return f.candidates.filter(c => c.weight > 0).map(({ name, weight }) => ({ name, weight }))
}

const names: Record<string, string> = { 'gp': 'Gaussian process', 'extra-trees': 'extra trees', 'boosting': 'gradient boosting', 'network': 'networks',
  'in-context': 'in-context network' }

/** A weight in whole per cent; a small one is not none. */
export function weightText(weight: number): string {
  return weight > 0 && weight < .005 ? '< 1 %' : `${Math.round(100 * weight)} %`
}

/** What people call a candidate of a blend. */
export const learnerName = (name: string) => names[name] ?? name

/** The class that colours a candidate of a blend. */
export const learnerClass = (name: string) => name in names ? name : 'other'

/** The candidates that have a weight in any of the models, in the order of the first that has them. */
export function seen(list: Fitted[]): string[] {
  return [...new Set(list.flatMap(shares).map(s => s.name))]
}

/** At most this many models, the last one among them, evenly spread. */
export function spread<T>(list: T[], most: number): T[] {
  if (list.length <= most) return list
  return Array.from({ length: most }, (_, i) => list[Math.round(i * (list.length - 1) / (most - 1))]!)
}

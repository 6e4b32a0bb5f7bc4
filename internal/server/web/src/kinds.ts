import type { Campaign, Prediction, Row } from './types'

// Names for parts of what the service answers.

export type Status = Row['status']

/** All of them, in the order of their numbers in a map. */
export const statuses: Status[] = ['open', 'asked', 'labelled', 'failed', 'retired', 'waiting']

/** How many rows there are, and how many have each status. */
export type Counts = Pick<Campaign, 'rows' | Status>

/** By target. */
export type Predictions = Record<string, Prediction>

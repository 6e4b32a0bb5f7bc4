import { expect, test } from 'vitest'
import { learnerClass, learnerName, learnerOf, seen, shares, spread, weightText } from './learners'
import type { Fitted } from './types'

const fitted = (ask: number, weights: Record<string, number>): Fitted => ({
  ask, labels: 10 * ask, learner: '', error: 1, candidates: Object.entries(weights).map(([name, weight]) => ({ name, weight, error: 1 })),
})

test('campaigns from before there was a choice have networks', () => {
  expect(learnerOf(undefined).learner).toBe('network')
  expect(learnerOf('auto').learner).toBe('auto')
})

test('only candidates with a weight have a share', () => {
  expect(shares(fitted(1, { gp: .7, network: 0, boosting: .3 }))).toEqual([{ name: 'gp', weight: .7 }, { name: 'boosting', weight: .3 }])
  expect(seen([fitted(1, { gp: 1 }), fitted(2, { gp: .5, network: .5 })])).toEqual(['gp', 'network'])
})

test('a learner of a user has its own name, and a colour', () => {
  expect([learnerName('extra-trees'), learnerName('ridge')]).toEqual(['extra trees', 'ridge'])
  expect([learnerClass('gp'), learnerClass('ridge')]).toEqual(['gp', 'other'])
})

test('a long history is thinned out, and keeps its ends', () => {
  const list = Array.from({ length: 100 }, (_, i) => i)
  const some = spread(list, 30)
  expect([some.length, some[0], some.at(-1), new Set(some).size]).toEqual([30, 0, 99, 30])
  expect(spread([1, 2], 30)).toEqual([1, 2])
})

test('a small weight is not none', () => {
  expect([0, .001, .306, 1].map(weightText)).toEqual(['0 %', '< 1 %', '31 %', '100 %'])
})

import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { ago, bytes, count, duration, estimate, exact, grouped, limits, many, markedIn, nameWithoutUnit, number, percent, predicted, range, rough, unitOf, writeWith } from './format'

describe('decimal commas', () => {
  afterEach(() => writeWith('point'))
  test('are those of the campaign on the page', () => {
    writeWith('comma')
    expect([number(1234.56), exact(0.5), estimate(3030.4, 2311, 4562), count(12345), percent(0.015), number(1.5e-7)]).toEqual(['1.235', '0,5', '3.030 (2.310 to 4.560)', '12.345', '1,5 %', '1,5e-07'])
    expect(markedIn('The RMSE is 1,046.5 (0.9 to 2,000), so 3.5 % more would tell.')).toBe('The RMSE is 1.046,5 (0,9 to 2.000), so 3,5 % more would tell.')
    writeWith('point')
    expect(markedIn('1,046.5')).toBe('1,046.5')
  })
})

describe('numbers', () => {
  // The program writes numbers in the same way, and its tests read the same cases.
  const cases = JSON.parse(readFileSync(new URL('../../../words/testdata/numbers.json', import.meta.url), 'utf8')) as {
    number: { of: number; want: string }[]; grouped: { of: number; want: string }[]
    range: { of: [number, number]; want: string }[]; estimate: { of: [number, number, number]; want: string }[]
  }
  test.each(cases.number)('number of $of', c => expect(number(c.of)).toBe(c.want))
  test.each(cases.grouped)('grouped of $of', c => expect(grouped(c.of)).toBe(c.want))
  test.each(cases.range)('range of $of', c => expect(range(...c.of).join(' to ')).toBe(c.want))
  test.each(cases.estimate)('estimate of $of', c => expect(estimate(...c.of)).toBe(c.want))

  test('what JSON cannot write, and halves', () => {
    expect([NaN, Infinity, -Infinity].map(number)).toEqual(['not a number', '∞', '-∞'])
    expect(grouped(-0)).toBe('0')
    expect([10000.5, 10001.5, -10000.5, 9.9996e15].map(number)).toEqual(['10,000', '10,002', '-10,000', '1e+16'])
  })

  test('inputs are shown in full', () => {
    expect(exact(0.1 + 0.2)).toBe('0.3')
    expect(exact(12671)).toBe('12,671')
    expect(exact(-1.25)).toBe('-1.25')
  })

  test('a prediction has the digits that its interval deserves', () => {
    expect(predicted({ value: 3030.4, low: 2311, high: 4562 })).toBe('3,030 (2,310 to 4,560)')
    expect(predicted({ value: 3030.4 })).toBe('3,030')
    expect(rough(2.345)).toBe('2.3')
  })

  test('a count has its noun', () => {
    expect(many(1, 'row')).toBe('1 row')
    expect(many(12345, 'row')).toBe('12,345 rows')
  })

  test('limits say what is not known', () => {
    expect(limits({ value: 1, low: 0.5, high: 2 })).toBe('0.5 to 2.0')
    expect(limits({ value: null, low: 110, high: null })).toBe('at least 110')
    expect(limits({ value: null, low: null, high: null })).toBe('no limit can be told')
    expect(limits({ value: .02, low: .005, high: .06 }, percent)).toBe('0.5 % to 6 %')
  })
})

describe('units', () => {
  test.each([['yield (%)', '%', 'yield'], ['t [°C]', '°C', 't'], ['price', '', 'price'], ['f(x) (mg/mL)', 'mg/mL', 'f(x)'], ['(V)', 'V', '(V)']])(
    '%s', (column, unit, name) => {
      expect(unitOf(column)).toBe(unit)
      expect(nameWithoutUnit(column)).toBe(name)
    })
})

test('times and amounts', () => {
  const now = Date.parse('2026-03-02T12:00:00Z')
  expect(ago('2026-03-02T11:59:50Z', now)).toBe('just now')
  expect(ago('2026-03-02T11:55:00Z', now)).toBe('5 minutes ago')
  expect(ago('2026-03-01T12:00:00Z', now)).toBe('1 day ago')
  expect(ago('2025-03-01T12:00:00Z', now)).toBe('1 Mar 2025')
  expect(duration(0.2)).toBe('less than a second')
  expect(duration(150)).toBe('3 minutes')
  expect(bytes(18_000)).toBe('18 KB')
  expect(bytes(2_500_000_000)).toBe('2.5 GB')
})

import { describe, expect, test } from 'vitest'
import { ago, bytes, duration, exact, limits, many, nameWithoutUnit, number, parseNumber, percent, unitOf } from './format'

describe('numbers', () => {
  test.each([
    [0, '0'], [0.123456, '0.123'], [12.3456, '12.3'], [999.9, '1,000'], [2532.4, '2,532'], [360467, '360,500'], [-0.5, '−0.5'],
    [1.5e9, '1.5×10⁹'], [3.21e-7, '3.21×10⁻⁷'], [1e8, '1×10⁸'], [NaN, 'not a number'], [Infinity, '∞'],
  ])('%d is shown as %s', (v, text) => expect(number(v)).toBe(text))

  test('inputs are shown in full', () => {
    expect(exact(0.1 + 0.2)).toBe('0.3')
    expect(exact(12671)).toBe('12671')
    expect(exact(-1.25)).toBe('−1.25')
  })

  test('a count has its noun', () => {
    expect(many(1, 'row')).toBe('1 row')
    expect(many(12345, 'row')).toBe('12,345 rows')
  })

  test('limits say what is not known', () => {
    expect(limits({ value: 1, low: 0.5, high: 2 })).toBe('0.5 to 2')
    expect(limits({ value: null, low: 110, high: null })).toBe('at least 110')
    expect(limits({ value: null, low: null, high: null })).toBe('no limit can be told')
    expect(limits({ value: .02, low: .005, high: .06 }, percent)).toBe('0.5 % to 6 %')
  })
})

describe('what people type', () => {
  test.each([
    ['1.25', 1.25], [' 1,25 ', 1.25], ['3e-4', 3e-4], ['−2', -2], ['.5', .5], ['0,125', .125], ['1 000', 1000], ['+7', 7],
    ['1,234', null], ['', null], ['abc', null], ['1.2.3', null], ['1e999', null], ['0x10', null], ['12,34,5', null],
  ])('%s is read as %s', (text, v) => expect(parseNumber(text)).toBe(v))
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

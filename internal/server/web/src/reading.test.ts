import { describe, expect, test } from 'vitest'
import { parseNumber, readNumber, typed } from './reading'

describe('what people type', () => {
  test.each([
    ['1.25', 1.25], [' 1,25 ', 1.25], ['3e-4', 3e-4], ['−2', -2], ['.5', .5], ['0,125', .125], ['1 000', 1000], ['+7', 7], ['5.', 5],
    ['1,234', 1234], ['12,500', 12500], ['1,234,567', 1234567], ['1,234.5', 1234.5], ['1.234,5', 1234.5], ["1'250.5", 1250.5], ['1234,500', 1234.5], ['1.234.567', 1234567],
    ['2,5e3', 2500], ['-12,5', -12.5],
    ['', null], ['abc', null], ['1.2.3', null], ['1e999', null], ['0x10', null], ['12,34,5', null], ['1,2.3,4', null], ['.', null], [',', null], ['12,34.5', null],
  ])('%s is read as %s', (text, v) => expect(parseNumber(text)).toBe(v))

  test.each([
    ['12,500', 'point', 12500, 'read as 12,500, because this campaign writes decimals with a point'],
    ['12,500', 'comma', 12.5, 'read as 12.5, because this campaign writes decimals with a comma'],
    ['12.500', 'point', 12.5, ''],
    ['12.500', 'comma', 12500, 'read as 12,500, because this campaign writes decimals with a comma'],
    ['12,5', 'point', 12.5, 'read as 12.5'],
    ['12,5', 'comma', 12.5, 'read as 12.5'],
    ['12.5', 'comma', 12.5, ''],
    ['1,234,567', 'comma', 1234567, 'read as 1,234,567'],
    ['0,125', 'point', .125, 'read as 0.125'],
    ['12500', 'comma', 12500, ''],
  ] as const)('%s with a decimal %s', (text, mark, value, how) => expect(readNumber(text, mark)).toEqual({ value, how }))

  test.each([
    ['1.300', 'comma', 1, 2, 1.3, 'read as 1.3, as the labels so far are'],
    ['1,300', 'point', 1, 2, 1.3, 'read as 1.3, as the labels so far are'],
    ['1,300', 'comma', 1, 2, 1.3, 'read as 1.3, because this campaign writes decimals with a comma'],
    ['-1.300', 'comma', 900, 4000, -1300, 'read as -1,300, because this campaign writes decimals with a comma'],
    ['1,300', 'comma', 900, 4000, 1300, 'read as 1,300, as the labels so far are'],
    ['1.300', 'comma', 1, 2000, 1300, 'read as 1,300, because this campaign writes decimals with a comma'],
    ['1,300', 'point', 1e6, 2e6, 1300, 'read as 1,300, because this campaign writes decimals with a point'],
    ['1,25', 'point', 100, 200, 1.25, 'read as 1.25'],
  ] as const)('%s with a decimal %s beside labels of %d to %d', (text, mark, low, high, value, how) =>
    expect(readNumber(text, mark, { labels: 9, low, high })).toEqual({ value, how }))

  test.each([12.125, 12125, -.5, 1e-9, 1e21])('%d is read as it is typed', v => {
    for (const mark of ['point', 'comma'] as const) expect(readNumber(typed(v, mark), mark)?.value).toBe(v)
  })
})

import { describe, expect, test } from 'vitest'
import { limitsOf, limitsSet, overrides, shareOf, shareText, typedLimits, wrongLimits } from './batchlimits'
import { measurementName, placeText } from './places'
import { controlWells, kindOf, platesOf, shapeOf, wellName } from './plate'
import type { Picked } from './types'

describe('limits of the batch', () => {
  const none = typedLimits({})
  test('are read as they are typed', () => {
    const typed = { ...none, same: ['oven'], runs: '3', replicates: ' 2', replicate_share: '1/8', plate: ' 8x12 ', controls: 'A1, H12;12' }
    expect(limitsOf(typed)).toMatchObject({ same: ['oven'], runs: 3, replicates: 2, replicate_share: .125, plate: '8x12', controls: ['A1', 'H12', '12'] })
    expect(limitsSet(typed)).toBe(6)
    expect(typedLimits(limitsOf(typed))).toEqual({ ...typed, replicates: '2', plate: '8x12', controls: 'A1, H12, 12' })
    expect(limitsSet(none)).toBe(0)
  })
  test('leave out what hangs on a column or a plate that is not there', () => {
    expect(limitsSet({ ...none, runs: '2', per_group: '3', min_per_group: '1', at_most_groups: '2', controls: 'A1' })).toBe(0)
  })
  test('say which fields cannot be read', () => {
    expect(wrongLimits({ ...none, runs: 'two', replicates: '-1', replicate_share: '3' })).toEqual(['runs', 'replicates', 'replicate_share'])
    expect(['', '0,25', '1/4', '1/x', '1/0', '.'].map(shareOf)).toEqual([0, .25, .25, null, null, null])
    expect([0, .125, .3, 1].map(shareText)).toEqual(['', '1/8', '0.3', '1'])
  })
  test('of an ask are those that differ from the settings', () => {
    const settings = { replicates: 2, plate: '8x12', controls: ['A1'] }
    expect(overrides(settings, typedLimits(settings))).toEqual({})
    expect(overrides(settings, { ...typedLimits(settings), replicates: '', same: ['oven'] })).toEqual({ replicates: 0, same: ['oven'] })
    expect(overrides(settings, { ...typedLimits(settings), plate: '4x6' })).toEqual({ plate: '4x6', controls: ['A1'] })
    expect(overrides(settings, { ...typedLimits(settings), plate: '' })).toEqual({ plate: '', controls: [] })
  })
})

describe('plates', () => {
  const picked = (id: string, replicate: number, well: string, more: Partial<Picked> = {}) => ({ row: 1, id, replicate, well, plate: 1, inputs: { salt: 'NaCl' }, ...more }) as Picked
  test('have rows and columns', () => {
    expect([shapeOf('8x12'), shapeOf('16 × 24'), shapeOf('')]).toEqual([{ rows: 8, columns: 12 }, { rows: 16, columns: 24 }, null])
    expect([wellName(0, 0), wellName(7, 11), wellName(31, 47)]).toEqual(['A1', 'H12', 'AF48'])
  })
  test('keep wells free for controls', () => {
    const shape = { rows: 2, columns: 3 }
    expect([...controlWells(['A1', '3'], shape)].sort()).toEqual(['A1', 'A3', 'B3'])
    expect([...controlWells(['b'], shape)]).toEqual(['B1', 'B2', 'B3'])
    expect([...controlWells(['1-2'], shape)]).toEqual(['A1', 'A2', 'B1', 'B2'])
    expect([...controlWells(['B2-A1'], shape)]).toEqual(['A1', 'A2', 'B1', 'B2'])
    expect([...controlWells(['A-B'], shape)]).toHaveLength(6)
  })
  test('hold measurements', () => {
    const plates = platesOf({ rows: [picked('b', 1, 'A1', { plate: 2 }), picked('a', 1, 'A1'), picked('a', 2, 'B2')] })
    expect([...plates].map(([n, wells]) => [n, [...wells.keys()]])).toEqual([[1, ['A1', 'B2']], [2, ['A1']]])
  })
  test('are coloured by group, otherwise by run', () => {
    const m = picked('a', 1, 'A1', { run: 2, shared: { oven: 350 } })
    expect([kindOf(m, 'salt'), kindOf(m, undefined), kindOf(picked('a', 1, 'A1'), undefined)]).toEqual(['salt NaCl', 'run 2 (oven 350)', ''])
  })
  test('places are worded', () => {
    expect(placeText({ replicate: 1 }, false)).toEqual([])
    expect(placeText({ replicate: 2, repeat: true, run: 1, shared: { oven: 350 }, plate: 3, well: 'A2' }, false))
      .toEqual(['replicate 2', 'measured once more, to learn the noise', 'run 1 (oven 350)', 'well A2 of plate 3'])
    expect([measurementName('s1', 2, true), measurementName('s1', 1, false)]).toEqual(['s1#2', 's1'])
  })
})

import { describe, expect, test } from 'vitest'
import { Problem, problemText, sentence } from './api'
import { besideThePaper, curvesOf, filtered, rounded } from './bench'
import { byDay, eventText, grouped, labelsOf, runText, undoable } from './events'
import { stageShare, stageText } from './jobs'
import { nameOf } from './keys'
import { mayCorrect, readLabels } from './labels'
import { leases, leaseText } from './lease'
import { modelOf, offers, summary, valuesOf } from './mapmodel'
import { keyOf } from './places'
import { isReplicate, ordered, within } from './queue'
import { pathOf, placeOf } from './router'
import { tokenOf } from './session'
import { changeText } from './settings'
import { parseRule, ruleText } from './stop'
import type { BenchmarkResults, Job, LogEvent, PoolMap, QueueRow, TargetStanding, Waiting } from './types'
import { byRow } from './parts/secondlook'
import { campaignName } from './views/create'
import { gainWords } from './views/overview'

describe('addresses', () => {
  test.each(['/', '/new', '/benchmarks', '/c/a/overview', '/c/a%20b%2Fc/rows', '/c/x.y/map', '/c/%E2%9C%93/label'])('%s leads somewhere and back', path => {
    expect(pathOf(placeOf(path))).toBe(path)
  })
  test('unknown ones are lost', () => {
    for (const path of ['/x', '/c', '/c/a/unknown', '/c/a/rows/more', '/c/%zz/rows']) expect(placeOf(path)).toEqual({ view: 'lost' })
  })
  test('a campaign opens with its overview', () => expect(placeOf('/c/a')).toEqual({ view: 'overview', campaign: 'a' }))
})

test('the token is taken from the fragment', () => {
  expect(tokenOf('#token=nb_a_b-c')).toBe('nb_a_b-c')
  expect(tokenOf('#other')).toBeNull()
  expect(tokenOf('')).toBeNull()
})

test('problems are whole sentences', () => {
  expect(sentence('it failed')).toBe('It failed.')
  expect(sentence('')).toBe('')
  expect(problemText(new Problem(422, 'one of the rows is wrong', [{ message: 'no row "x"' }]))).toBe('One of the rows is wrong. No row "x".')
})

test('keys have names', () => {
  const key = (key: string, more = {}) => nameOf({ key, code: `Key${key.toUpperCase()}`, ctrlKey: false, metaKey: false, altKey: false, ...more })
  expect(key('U')).toBe('u')
  expect(key('ü', { altKey: true, code: 'KeyU' })).toBe('Alt+U')
  expect(key('z', { metaKey: true })).toBe('Ctrl+Z')
  expect(nameOf({ key: 'Enter', code: 'Enter', ctrlKey: false, metaKey: false, altKey: false })).toBe('Enter')
})

describe('the queue', () => {
  const row = (n: number): QueueRow => ({ row: n, id: `r${n}`, status: 'asked', inputs: {}, labels: {}, failures: 0, measured: 0, replicate: 1, ask: 1, reason: '' })
  test('shows skipped rows last', () => {
    expect(ordered([row(1), row(2), row(3), row(4)], ['1#1', '3#1']).map(r => r.row)).toEqual([2, 4, 1, 3])
  })
  test('skips one replicate of a row, not the others', () => {
    expect(ordered([row(1), { ...row(1), replicate: 2 }, row(2)], ['1#1']).map(keyOf)).toEqual(['1#2', '2#1', '1#1'])
  })
  test('numbers the measurements of rows that have several', () => {
    const list = [row(1), { ...row(1), replicate: 2 }, row(2)]
    expect(list.map(m => isReplicate(m, list))).toEqual([true, true, false])
    expect(isReplicate({ ...row(3), measured: 1 }, [])).toBe(true)
  })
  test('compares a label with its interval', () => {
    expect(within(1, { low: 0, high: 2 })).toBe(true)
    expect(within(3, { low: 0, high: 2 })).toBe(false)
    expect(within(3, {})).toBeNull()
  })
})

test('stop rules are read as they are written', () => {
  for (const text of ['rmse<0.5', 'gain<1%', 'q95<2e-7', 'mae<10']) expect(ruleText(parseRule(text))).toBe(text)
  for (const text of [null, '', 'rmse<', 'rmse<-1', 'x<1']) expect(ruleText(parseRule(text))).toBe('gain<2%')
})

test('jobs say what they do', () => {
  const job = { progress: { stage: 'training', done: 31, of: 256 } } as Job
  expect(stageText(job)).toBe('Training the network: epoch 31 of 256')
  expect(stageShare(job)).toBeCloseTo(.121, 3)
  expect(stageShare({ ...job, progress: { stage: 'waiting', done: 0, of: 0 } })).toBe(0)
})

describe('events', () => {
  const event = (kind: LogEvent['kind'], detail: object = {}, undone = false): LogEvent =>
    ({ event: 3, time: '2026-03-02T12:00:00Z', kind, undone, rows: [{ row: 1, id: 'a' }, { row: 2, id: 'b' }], detail: { [kind]: detail } })
  test('are worded', () => {
    expect(eventText(event('told'))).toBe('labelled 2 rows')
    expect(eventText(event('asked', { trained: 40 }))).toBe('asked for 2 rows, picked with a model fitted to 40 labels')
    expect(eventText(event('rows_added', { blocks: [{ rows: 5 }, { rows: 7 }] }))).toBe('added 12 rows')
    expect(eventText(event('earlier', { name: 'old.csv', blocks: [{ rows: 7 }] }))).toBe('added 7 rows of earlier data, old.csv')
    expect(eventText(event('confirmed'))).toBe('confirmed the labels of 2 rows')
    expect(eventText(event('told', { labels: [{ row: 1, id: 'a', values: [9], doubts: [{ low: 0, high: 1 }] }, { row: 2, id: 'b', values: [1] }] }))).toBe('labelled 2 rows, 1 of them far from what was expected')
    expect(eventText(event('undone', { seq: 9 }))).toBe('undid event 9')
  })
  test('carry their labels, with limits as such', () => {
    const labels = [{ row: 1, id: 'a', values: [2, null] }, { row: 2, id: 'b', values: [0.5, 3], censored: [-1, 0] }]
    expect([...labelsOf(event('told', { labels }))]).toEqual([['a', '2, –'], ['b', '<0.5, 3']])
    expect(labelsOf(event('asked')).size).toBe(0)
  })
  test('can be undone, but for the first', () => {
    expect(undoable(event('told'))).toBe(true)
    expect(undoable(event('told', {}, true))).toBe(false)
    expect(undoable(event('created'))).toBe(false)
  })
  test('are listed by day', () => expect(byDay([event('told'), event('asked')], t => t.slice(0, 10)).map(d => d.events.length)).toEqual([2]))
})

describe('runs of single labels', () => {
  const told = (event: number, person: string, rows = 1, undone = false): LogEvent =>
    ({ event, time: '2026-03-02T12:00:00Z', kind: 'told', person, undone, rows: Array.from({ length: rows }, (_, i) => ({ row: i, id: `r${i}` })), detail: {} })
  const shape = (events: LogEvent[]) => grouped(events).map(e => 'events' in e ? `${e.person}: ${e.events.map(x => x.event).join()}` : e.event)
  test('are groups, one for each person who labels at the same time', () => {
    expect(shape([told(9, 'ada'), told(8, 'bo'), told(7, 'ada'), told(6, 'ada'), told(5, 'bo'), told(4, 'bo')])).toEqual(['ada: 9,7,6', 'bo: 8,5,4'])
  })
  test('end with anything else, and are not made of a few', () => {
    expect(shape([told(9, 'ada'), told(8, 'ada'), told(7, 'ada', 5), told(6, 'ada'), told(5, 'ada'), told(4, 'ada')])).toEqual([9, 8, 7, 'ada: 6,5,4'])
    expect(shape([])).toEqual([])
  })
  test('say how many and what was undone', () => {
    expect(runText({ person: 'ada', events: [told(3, 'ada'), told(2, 'ada')] })).toBe('labelled 2 rows')
    expect(runText({ person: 'ada', events: [told(3, 'ada', 1, true), told(2, 'ada')] })).toBe('labelled 2 rows, one of which is undone')
  })
})

test('labels that wait are listed by row', () => {
  const w = (row: number, target: string) => ({ row, target }) as Waiting
  expect(byRow([w(3, 'a'), w(1, 'a'), w(3, 'b')]).map(l => l.map(x => `${x.row}${x.target}`))).toEqual([['3a', '3b'], ['1a']])
})

test('changes of settings have names and values', () => {
  const words = (setting: string, from: unknown, to: unknown) => changeText({ setting, from, to })
  expect(words('batch', 16, 32)).toBe('batch size 16 → 32')
  expect(words('batch', null, 8)).toBe('batch size 32 → 8')
  expect(words('lease', null, '-1ns')).toBe('lease 7 days → no end')
  expect(words('learner', null, 'auto')).toBe('model Network → Automatic')
  expect(words('random_start', null, true)).toBe('random start off → on')
  expect(words('audit', .125, 0)).toBe('share of random rows 13 % → 0 %')
  expect(words('network.training.epochs', 0, 20)).toBe('epochs default → 20')
  expect(words('cost_column', null, 'price')).toBe('column of costs none → price')
  expect(words('replicates', null, 3)).toBe('replicates 1 → 3')
  expect(words('replicate_share', null, .25)).toBe('share of repeats 0 % → 25 %')
  expect(words('same', null, ['oven', 'gas'])).toBe('columns that a run shares none → oven, gas')
  expect(words('network.training.rate', 0, .5)).toBe('network training rate default → 0.5')
  const event: LogEvent = { event: 2, time: '2026-03-02T12:00:00Z', kind: 'settings', undone: false, rows: [], detail: {}, changes: [{ setting: 'batch', from: 16, to: 32 }] }
  expect(eventText(event)).toBe('changed the settings: batch size 16 → 32')
})

test('leases are in days or hours', () => {
  expect(['168h0m0s', '36h0m0s', '24h0m0s', '1h30m0s', '-1ns'].map(leaseText)).toEqual(['7 days', '36 hours', '1 day', '1.5 hours', 'no end'])
  expect(leases('36h0m0s')[0]).toBe('36h0m0s')
  expect(leases()).not.toContain('36h0m0s')
})

test('labels below a limit are marked, and refused where it is not known', () => {
  expect(readLabels(['a', 'b', 'c'], { a: '< 0,5', b: '>=7', c: '2' }, 'comma')).toEqual({ values: { a: 0.5, b: 7, c: 2 }, censored: { a: -1, b: 1 } })
  for (const text of ['<LOD', '< loq', 'BDL', 'n.d.', 'N. B.', 'nd', 'n.n.', 'LOD']) {
    expect(readLabels(['a', 'b'], { b: text }, 'point', 'b=0.2,a=1')).toEqual({ values: { b: 0.2 }, censored: { b: -1 } })
    expect(readLabels(['a'], { a: text }, 'point', '0.5')).toEqual({ values: { a: 0.5 }, censored: { a: -1 } })
    expect(readLabels(['a'], { a: text }, 'point', 'b=1')).toEqual({ fault: `"${text}" may lie below a limit that is not known. Write the limit, as in <0.5, or enter the limit of detection in the settings.` })
  }
  expect(readLabels(['a'], { a: '<x' }, 'point', '1')).toEqual({ fault: '"<x" is not a number. Write one such as 1.25 or 3e-4.' })
})

test('labels are read as they are typed', () => {
  expect(readLabels(['a', 'b'], { a: ' 1,5', b: '' }, 'point')).toEqual({ values: { a: 1.5 } })
  expect(readLabels(['a'], { a: 'x' }, 'point')).toEqual({ fault: '"x" is not a number. Write one such as 1.25 or 3e-4.' })
  expect(readLabels(['a'], {}, 'comma')).toEqual({ fault: 'Enter the label first.' })
})

test('people correct their own labels, and owners all', () => {
  expect(mayCorrect({ role: 'owner', person: 'o' }, ['x', undefined])).toBe(true)
  expect(mayCorrect({ role: 'labeller', person: 'x' }, ['x', 'x'])).toBe(true)
  expect(mayCorrect({ role: 'labeller', person: 'x' }, ['x', 'y'])).toBe(false)
  expect(mayCorrect({ role: 'viewer', person: 'x' }, ['x'])).toBe(false)
})

describe('the map', () => {
  const map: PoolMap = {
    labels: 2, rows: [4, 5, 6], x: [0, 1, null], y: [0, 1, 2], status: [0, 2, 1], prediction: [[1], [2], []], interval: null,
    label: [[null], [7], [null]], distance: [.5, 0, null], sampled: false, of: 3, explained: [.5, .2],
  }
  test('knows what it can show', () => {
    expect((['status', 'prediction', 'interval', 'label', 'distance'] as const).filter(m => offers(map, m))).toEqual(['status', 'prediction', 'label', 'distance'])
    expect([...valuesOf(map, 'label', 0)]).toEqual([NaN, 7, NaN])
    expect([...modelOf(map).byStatus.labelled]).toEqual([1])
  })
  test('sums up a lasso', () => {
    expect(summary(map, [0, 1], valuesOf(map, 'prediction', 0))).toEqual({ total: 2, mean: 1.5, byStatus: [{ status: 'open', n: 1 }, { status: 'labelled', n: 1 }] })
  })
})

test('results stand beside the paper', () => {
  const point = (spec: string, labels: number, mean: number, set = 's') => ({ setting: 'relu, 2 × 8', set, spec, metric: 'RMSE', round: labels / 8 - 1, labels, mean, se: null, splits: 2 })
  const r: BenchmarkResults = {
    name: 'x', notes: [], tables: [], metrics: ['RMSE'], curves: [point('a', 8, -1), point('a', 16, -3), point('a', 24, -4), point('b', 8, 9), point('b', 16, -4), point('b', 16, -5, 't'), point('b', 24, -6, 't')],
    paper: [{ activation: 'relu', spec: 'a', metric: 'RMSE', mean: -2.1 }],
  }
  expect(besideThePaper(r, 'relu, 2 × 8', 'RMSE')).toEqual([{ spec: 'b', ours: -4.75, sets: 2, paper: null }, { spec: 'a', ours: -3.5, sets: 1, paper: -2.1 }])
  expect(curvesOf(r.curves, { setting: 'relu, 2 × 8', metric: 'RMSE', set: 's' })).toMatchObject({ labels: [8, 16, 24], methods: [{ values: [-1, -3, -4] }, { values: [9, -4, null] }] })
  expect(filtered([['LCMD', 'sgemm'], ['Random', 'sgemm']], 'SGEMM lc')).toEqual([['LCMD', 'sgemm']])
})

test('a campaign is named after its file', () => {
  expect(campaignName('Solubility data (v2).csv')).toBe('Solubility-data-v2')
  expect(campaignName('diamonds.csv.gz')).toBe('diamonds')
  expect(campaignName('.csv')).toBe('campaign')
})

describe('what random rows would have taken', () => {
  const of = (more: object) => gainWords({ random: 60, labels: 200, curve: {}, gain: null, ...more } as TargetStanding)
  const factor = (value: number | null, low: number | null, high: number | null) => of({ gain: { labels: 200, rows: 60, factor: { value, low, high } } })
  test('is a number with its interval', () => expect(factor(2.34, 1.1, 4.9)).toEqual(['2.3', true, '1.1 to 4.9 times as many, measured at 200 labels']))
  test('is not told where the interval says nothing', () => {
    expect(factor(3, .2, 30).slice(0, 2)).toEqual(['Too few random rows to tell', false])
    expect(factor(null, 1.2, null)).toEqual(['Too few random rows to tell', false, 'at least 1.2 times as many, measured at 200 labels'])
    expect(factor(null, .08, null)).toEqual(['Too few random rows to tell', false, 'The interval is too wide to say more, measured at 200 labels.'])
  })
  test('takes 48 random rows', () => expect(of({ random: 47 })).toEqual(['Too few random rows to tell', false, '47 random rows with a label; it takes 48']))
  test('waits for somebody who measures it', () => expect(of({})[0]).toBe('Not measured yet'))
})

test('long numbers in tables are rounded, other text is not', () => {
  expect(['-1.1405593296513', '0.41291193495484', '12.5', '17', 'lcmd-tp', '0.1234567e-7', '6-9', ''].map(rounded)).toEqual(['-1.141', '0.4129', '12.5', '17', 'lcmd-tp', '1.235e-08', '6-9', ''])
})

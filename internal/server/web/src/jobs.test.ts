import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from './api'
import { forgotten, insist, isLost, Keys, watch } from './jobs'
import type { Job } from './types'

const running: Job = { id: 'j', campaign: 'c', kind: 'ask', person: 'ada', state: 'running', begun: '', progress: { stage: 'training', done: 1, of: 2 } }
const done: Job = { ...running, state: 'done', ask: 1 }

/** Streams that fail at once, as a proxy may make them. */
class Broken {
  onerror: (() => void) | null = null
  constructor() { queueMicrotask(() => this.onerror?.()) }
  addEventListener(): void { /* nothing comes */ }
  close(): void { /* it is */ }
}

let answers: (Job | number | null)[] // the job, a status, or null if nobody answers
beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', Broken)
  vi.stubGlobal('fetch', () => {
    const next = answers.shift() ?? null
    if (next === null) return Promise.reject(new TypeError('failed to fetch'))
    return Promise.resolve(typeof next === 'number' ? new Response('{}', { status: next }) : new Response(JSON.stringify(next)))
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

async function watched(list: (Job | number | null)[]) {
  answers = list
  const seen: Job[] = []
  const lost: boolean[] = []
  const stop = watch(running, j => seen.push(j), is => lost.push(is))
  await vi.advanceTimersByTimeAsync(300000)
  stop()
  return { seen, lost }
}

test('a job goes on while the connection is lost', async () => {
  const { seen, lost } = await watched([null, 503, 502, 429, running, null, done])
  expect(seen.map(j => j.state)).toEqual(['running', 'done'])
  expect(lost).toEqual([true, true, true, true, false, true, false])
})

test('a job that the service does not know is over', async () => {
  const { seen } = await watched([null, 404])
  expect(seen).toEqual([{ ...running, state: 'failed', problem: forgotten }])
})

test('who may no longer look is told', async () => {
  const { seen } = await watched([401])
  expect(seen.map(j => j.state)).toEqual(['failed'])
})

test('a request is repeated until its answer comes', async () => {
  const lost: boolean[] = []
  const outcomes: (() => Promise<string>)[] = [() => Promise.reject(new Problem(0, '')), () => Promise.reject(new Problem(504, '')), () => Promise.resolve('job')]
  const answer = insist(() => outcomes.shift()!(), is => lost.push(is), () => true)
  await vi.advanceTimersByTimeAsync(60000)
  expect(await answer).toBe('job')
  expect(lost).toEqual([true, true, false])
  await expect(insist(() => Promise.reject(new Problem(422, 'no')), () => { /* not lost */ }, () => true)).rejects.toThrow('no')
  await expect(insist(() => Promise.reject(new Problem(0, 'gone')), () => { /* nobody looks */ }, () => false)).rejects.toThrow('gone')
})

test('asking again is the same request until it is known to have ended', () => {
  const keys = new Keys()
  const first = keys.current()
  keys.refused(new Problem(0, 'lost'))
  keys.refused(new Problem(503, 'busy'))
  keys.ended({ ...running, state: 'failed', problem: forgotten })
  expect(keys.current()).toBe(first)
  keys.ended(done)
  const second = keys.current()
  expect(second).not.toBe(first)
  keys.refused(new Problem(422, 'no'))
  expect(keys.current()).not.toBe(second)
})

test('only answers that say nothing are lost', () => {
  expect([0, 502, 504].map(s => isLost(new Problem(s, '')))).toEqual([true, true, true])
  expect([401, 404, 409, 422, 500, 503].some(s => isLost(new Problem(s, '')))).toBe(false)
})

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, newKey, Problem } from './api'
import { count } from './format'
import type { Job } from './types'

// Long work is a job. The page watches it by server-sent events, and asks every two seconds
// where a proxy swallows these. A connection that is lost says nothing about the job: the page
// tries again until the service answers.

const often = 2000 // milliseconds between questions
const seldom = 30000 // at most, while the connection is lost

/** Whether an answer does not show the outcome of the request: there was none, or it came from a proxy. */
export function isLost(error: unknown): boolean {
  return error instanceof Problem && [0, 502, 504].includes(error.status)
}

/** Whether the same question may have another answer in a while. */
const passes = (error: unknown) => isLost(error) || (error instanceof Problem && (error.status >= 500 || error.status === 429 || error.status === 408))

/** Why a job that the service does not know can no longer be watched. */
export const forgotten = 'the service was restarted and no longer knows how this ended; if its result is not here, ask again'

/** Calls back with every change of a job until it ends, and when the connection is lost or found; the result stops watching. */
export function watch(job: Job, change: (job: Job) => void, lost: (is: boolean) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let ended = false
  let wait = often
  const events = new EventSource(api.jobEvents(job.campaign, job.id))
  const stop = () => {
    ended = true
    events.close()
    clearTimeout(timer)
  }
  const see = (next: Job) => {
    if (ended) return
    if (next.state !== 'running') stop()
    change(next)
  }
  const fail = (error: unknown) => {
    if (ended) return
    if (passes(error)) {
      lost(true)
      wait = Math.min(2 * wait, seldom)
      timer = setTimeout(poll, wait)
      return
    }
    const gone = error instanceof Problem && error.status === 404
    see({ ...job, state: 'failed', problem: gone ? forgotten : error instanceof Error ? error.message : 'the job cannot be watched' })
  }
  const poll = () => {
    api.job(job.campaign, job.id).then(next => {
      if (ended) return
      wait = often
      lost(false)
      see(next)
      if (next.state === 'running') timer = setTimeout(poll, wait)
    }, fail)
  }
  events.addEventListener('job', e => see(JSON.parse(e.data as string) as Job))
  events.onerror = () => {
    events.close()
    if (!ended) poll()
  }
  return stop
}

/** Makes a request again and again while its answers are lost, as long as it is wanted. Its key must stay the same. */
export async function insist<T>(call: () => Promise<T>, lost: (is: boolean) => void, wanted: () => boolean): Promise<T> {
  for (let wait = often; ; wait = Math.min(2 * wait, seldom)) {
    try {
      const answer = await call()
      lost(false)
      return answer
    } catch (error) {
      lost(isLost(error))
      if (!isLost(error) || !wanted()) throw error
      await new Promise(resolve => setTimeout(resolve, wait))
    }
  }
}

/** The key of a request until it is known to have ended: by then, asking again is the same request. */
export class Keys {
  private key = newKey()
  current(): string { return this.key }
  /** The service has told how a job ended. A job that it has forgotten may have ended well. */
  ended(job: Job): void { if (job.problem !== forgotten) this.key = newKey() }
  /** The service has answered that it did not begin. */
  refused(error: unknown): void { if (error instanceof Problem && !passes(error)) this.key = newKey() }
}

/** A job of one kind: the one that this person left running, or one that is started here. */
export function useJob(campaign: string, person: string, kind: string, ended: (job: Job) => void) {
  const [job, setJob] = useState<Job | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [starting, setStarting] = useState(false)
  const [lost, setLost] = useState(false)
  const keys = useRef(new Keys())
  const here = useRef(true)
  useEffect(() => () => { here.current = false }, [])
  useEffect(() => {
    let here = true
    api.jobs(campaign).then(list => {
      const running = list.find(j => j.kind === kind && j.person === person && j.state === 'running')
      if (here && running) setJob(running)
    }, () => { /* the view's own requests report what is wrong */ })
    return () => { here = false }
  }, [campaign, kind, person])
  const see = (next: Job) => {
    setJob(next)
    if (next.state === 'running') return
    keys.current.ended(next)
    ended(next)
  }
  const running = job?.state === 'running' ? job.id : null
  useEffect(() => {
    if (!job || running === null) return
    return watch(job, see, setLost)
  }, [running])
  const start = useCallback((begin: (key: string) => Promise<Job>) => {
    setStarting(true)
    setError(null)
    insist(() => begin(keys.current.current()), setLost, () => here.current).then(see, (e: unknown) => {
      keys.current.refused(e)
      setError(e)
    }).finally(() => setStarting(false))
  }, [])
  const failed = job?.state === 'failed' ? new Error(job.problem ?? 'the job failed') : null
  return { job, running: starting || running !== null, start, lost, error: error ?? failed }
}

const stages: Record<string, string> = {
  waiting: 'Waiting for its turn',
  fitting: 'Fitting models',
  training: 'Training the network',
  embedding: 'Reading the rows through the model',
  picking: 'Picking rows',
  comparing: 'Fitting models to random rows',
  auditing: 'Predicting each label from the others',
}

/** What a job is doing, in words. */
export function stageText(job: Job): string {
  const { stage, done, of } = job.progress
  const words = stages[stage] ?? (stage ? stage[0]!.toUpperCase() + stage.slice(1) : 'Working')
  if (of <= 0) return words
  const unit = stage === 'training' ? 'epoch ' : ''
  return `${words}: ${unit}${count(done)} of ${count(of)}`
}

/** How far the current stage is, from 0 to 1. */
export function stageShare(job: Job): number {
  const { done, of } = job.progress
  return of > 0 ? Math.min(1, done / of) : 0
}

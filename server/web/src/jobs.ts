import { useCallback, useEffect, useState } from 'preact/hooks'
import { api } from './api'
import { count } from './format'
import type { Job } from './types'

// Long work is a job. The page watches it by server-sent events, and asks every two seconds
// where a proxy swallows these.

/** Calls back with every change of a job until it ends; the result stops watching. */
export function watch(job: Job, change: (job: Job) => void): () => void {
  let timer = 0
  let ended = false
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
  const poll = () => {
    api.job(job.campaign, job.id).then(next => {
      see(next)
      if (!ended) timer = window.setTimeout(poll, 2000)
    }, (error: unknown) => {
      see({ ...job, state: 'failed', problem: error instanceof Error ? error.message : 'the job cannot be watched' })
    })
  }
  events.addEventListener('job', e => see(JSON.parse(e.data as string) as Job))
  events.onerror = () => {
    events.close()
    if (!ended) poll()
  }
  return stop
}

/** A job of one kind: the one that this person left running, or one that is started here. */
export function useJob(campaign: string, person: string, kind: string, ended: (job: Job) => void) {
  const [job, setJob] = useState<Job | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [starting, setStarting] = useState(false)
  useEffect(() => {
    let here = true
    api.jobs(campaign).then(list => {
      const running = list.find(j => j.kind === kind && j.person === person && j.state === 'running')
      if (here && running) setJob(running)
    }, () => { /* the view's own requests report what is wrong */ })
    return () => { here = false }
  }, [campaign, kind, person])
  const running = job?.state === 'running' ? job.id : null
  useEffect(() => {
    if (!job || running === null) return
    return watch(job, next => {
      setJob(next)
      if (next.state !== 'running') ended(next)
    })
  }, [running])
  const start = useCallback((begin: () => Promise<Job>) => {
    setStarting(true)
    setError(null)
    begin().then(j => {
      setJob(j)
      if (j.state !== 'running') ended(j)
    }, setError).finally(() => setStarting(false))
  }, [])
  return { job, running: starting || running !== null, start, error: error ?? (job?.state === 'failed' ? new Error(job.problem ?? 'the job failed') : null) }
}

const stages: Record<string, string> = {
  waiting: 'Waiting for its turn',
  training: 'Training the network',
  embedding: 'Reading the rows through the network',
  picking: 'Picking rows',
  comparing: 'Training networks on random rows',
}

/** What a job is doing, in words. */
export function stageText(job: Job): string {
  const { stage, done, of } = job.progress
  const words = stages[stage] ?? (stage ? stage[0]!.toUpperCase() + stage.slice(1) : 'Working')
  if (of <= 0) return words
  const unit = stage === 'training' || stage === 'comparing' ? 'epoch ' : ''
  return `${words}: ${unit}${count(done)} of ${count(of)}`
}

/** How far the current stage is, from 0 to 1. */
export function stageShare(job: Job): number {
  const { done, of } = job.progress
  return of > 0 ? Math.min(1, done / of) : 0
}

import { useState } from 'preact/hooks'
import { api } from '../api'
import { stageShare, stageText } from '../jobs'
import type { Job } from '../types'
import { ProblemNote } from './notice'

/** The progress of a job, and a way to cancel it. */
export function JobBar({ job, title }: { job: Job; title: string }) {
  const [error, setError] = useState<unknown>(null)
  if (job.state !== 'running') return null
  const share = stageShare(job)
  const cancel = async () => {
    setError(null)
    try {
      await api.cancel(job.campaign, job.id)
    } catch (problem) {
      setError(problem)
    }
  }
  return (
    <div class="card job">
      <div class="line">
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={cancel}>Cancel</button>
      </div>
      <div class="bar" role="progressbar" aria-label={title} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * share)} aria-valuetext={stageText(job)}>
        <span style={{ width: `${100 * share}%` }} />
      </div>
      <p class="faint small">{stageText(job)}</p>
      <ProblemNote error={error} />
    </div>
  )
}

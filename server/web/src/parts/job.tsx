import { api } from '../api'
import { stageShare, stageText } from '../jobs'
import type { Job } from '../types'

/** The progress of a job, and a way to cancel it. */
export function JobBar({ job, title }: { job: Job; title: string }) {
  if (job.state !== 'running') return null
  const share = stageShare(job)
  return (
    <div class="card job">
      <div class="line">
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={() => { void api.cancel(job.campaign, job.id) }}>Cancel</button>
      </div>
      <div class="bar" role="progressbar" aria-label={title} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * share)} aria-valuetext={stageText(job)}>
        <span style={{ width: `${100 * share}%` }} />
      </div>
      <p class="faint small">{stageText(job)}</p>
    </div>
  )
}

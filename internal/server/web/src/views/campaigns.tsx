import { api } from '../api'
import { count, many } from '../format'
import { Empty, Loading, ProblemNote } from '../parts/notice'
import { StatusBar } from '../parts/statusbar'
import { pathOf } from '../router'
import type { Campaign, Session } from '../types'
import { useLoad } from '../use'

export function Campaigns({ session }: { session: Session }) {
  const { data, error, reload } = useLoad(() => api.campaigns(), [])
  const owner = session.role === 'owner'
  return (
    <>
      <header class="head">
        <h1>Campaigns</h1>
        {owner && <a class="button primary" href="/new">New campaign</a>}
      </header>
      <ProblemNote error={error} retry={reload} />
      {!data && !error && <Loading what="campaigns" />}
      {data?.length === 0 && (
        <Empty title="No campaigns yet">
          <p>A campaign is a table of rows, some of them with a label. nextbatch picks the rows that are worth labelling next, and keeps what you measure.</p>
          {owner
            ? <p><a class="button primary" href="/new">Start with a table</a></p>
            : <p>Ask an owner of this service to start one.</p>}
        </Empty>
      )}
      <ul class="cards">{data?.map(c => <li key={c.name}><Card campaign={c} /></li>)}</ul>
    </>
  )
}

function Card({ campaign: c }: { campaign: Campaign }) {
  return (
    <article class="card campaign">
      <h2><a href={pathOf({ view: 'overview', campaign: c.name })}>{c.name}</a></h2>
      <p class="faint">Predicts {c.targets.join(', ')} from {many(c.columns.length, 'column')}</p>
      <StatusBar counts={c} />
      <p><strong>{count(c.labelled)}</strong> of {many(c.rows, 'row')} labelled{c.asked > 0 && <>, {count(c.asked)} out for labelling</>}</p>
    </article>
  )
}

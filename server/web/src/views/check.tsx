import { useState } from 'preact/hooks'
import { api } from '../api'
import { Empty, Loading, ProblemNote } from '../parts/notice'
import { RowDialog } from '../parts/rowdialog'
import { SecondLooks } from '../parts/secondlook'
import type { Session } from '../types'
import { useEvery, useLoad } from '../use'

/** Labels that somebody should look at again. */
export function Check({ campaign, session }: { campaign: string; session: Session }) {
  const [opened, setOpened] = useState<number | null>(null)
  const { data, error, reload } = useLoad(async () => {
    const [status, standing] = await Promise.all([api.campaign(campaign), api.standing(campaign)])
    return { status, list: standing.doubtful }
  }, [campaign])
  useEvery(15, reload)
  if (!data) return error ? <ProblemNote error={error} retry={reload} /> : <Loading what="the labels" />
  const { status, list } = data
  return (
    <>
      <header class="head"><h1>Check labels</h1><p>A label that is far from what was expected, as after a slip of the decimal point, waits for a second look. It is kept, but nothing learns from it before somebody confirms or corrects it.</p></header>
      <ProblemNote error={error} retry={reload} />
      {list.length === 0
        ? <Empty title="No label waits"><p>Every label of this campaign counts.</p></Empty>
        : <section class="card"><h2>Waiting for a second look</h2><SecondLooks campaign={status} session={session} list={list} changed={reload} open={setOpened} /></section>}
      {opened !== null && <RowDialog campaign={status} session={session} row={opened} close={() => setOpened(null)} changed={reload} />}
    </>
  )
}

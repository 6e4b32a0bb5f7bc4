import { useEffect, useState } from 'preact/hooks'
import { writeWith } from './format'
import { Shell } from './parts/shell'
import { followLinks, usePlace } from './router'
import type { Place } from './router'
import { begin } from './session'
import type { Session } from './types'
import { signedOut } from './use'
import { Benchmarks } from './views/benchmarks'
import { Campaigns } from './views/campaigns'
import { Check } from './views/check'
import { Create } from './views/create'
import { History } from './views/history'
import { Label } from './views/label'
import { PoolMapView } from './views/map'
import { Overview } from './views/overview'
import { Rows } from './views/rows'
import { SignIn } from './views/signin'

type Who = { known: false } | { known: true; session: Session | null; problem: unknown }

export function App() {
  const [who, setWho] = useState<Who>({ known: false })
  const place = usePlace()
  useEffect(() => {
    begin().then(
      session => setWho({ known: true, session, problem: null }),
      (problem: unknown) => setWho({ known: true, session: null, problem }),
    )
    const out = () => setWho({ known: true, session: null, problem: null })
    addEventListener(signedOut, out)
    addEventListener('click', followLinks)
    return () => {
      removeEventListener(signedOut, out)
      removeEventListener('click', followLinks)
    }
  }, [])
  if (!('campaign' in place)) writeWith('point') // a campaign says its own when it is loaded
  if (!who.known) return null
  if (!who.session) return <SignIn problem={who.problem} done={session => setWho({ known: true, session, problem: null })} />
  return <Shell session={who.session} place={place}><View place={place} session={who.session} /></Shell>
}

function View({ place, session }: { place: Place; session: Session }) {
  switch (place.view) {
    case 'campaigns': return <Campaigns session={session} />
    case 'benchmarks': return <Benchmarks />
    case 'new': return <Create />
    case 'overview': return <Overview key={place.campaign} campaign={place.campaign} session={session} />
    case 'label': return <Label key={place.campaign} campaign={place.campaign} session={session} />
    case 'map': return <PoolMapView key={place.campaign} campaign={place.campaign} session={session} />
    case 'rows': return <Rows key={place.campaign} campaign={place.campaign} session={session} />
    case 'history': return <History key={place.campaign} campaign={place.campaign} session={session} />
    case 'check': return <Check key={place.campaign} campaign={place.campaign} session={session} />
    case 'lost': return <Lost />
  }
}

function Lost() {
  return (
    <>
      <header class="head"><h1>There is no such page</h1></header>
      <p>The address may be mistyped. <a href="/">All campaigns</a></p>
    </>
  )
}

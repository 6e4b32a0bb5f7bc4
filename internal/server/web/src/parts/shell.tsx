import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useShortcuts } from '../keys'
import { campaignViews, go, pathOf } from '../router'
import type { CampaignView, Place } from '../router'
import { signOut } from '../session'
import { setTheme, theme } from '../theme'
import type { Theme } from '../theme'
import type { Session } from '../types'
import { signedOut } from '../use'
import { icons } from './icons'
import { Modal } from './modal'
import { Shortcuts } from './shortcuts'

const names: Record<CampaignView, string> = { overview: 'Overview', label: 'Label', map: 'Map', rows: 'Rows', history: 'History', check: 'Check' }
const titles: Record<Place['view'], string> = { ...names, campaigns: 'Campaigns', new: 'New campaign', benchmarks: 'Benchmark', lost: 'Not found' }

/** The frame around every view: where one is, where one can go, and who one is. */
export function Shell({ session, place, children }: { session: Session; place: Place; children: ComponentChildren }) {
  const campaign = 'campaign' in place ? place.campaign : null
  const [help, setHelp] = useState(false)
  const [leaving, setLeaving] = useState(false)
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  const key = pathOf(place)
  useEffect(() => {
    document.title = [titles[place.view], campaign, 'nextbatch'].filter(Boolean).join(' · ')
    if (first.current) first.current = false
    else main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [key])
  useShortcuts([
    { keys: '?', does: 'List the shortcuts', run: () => setHelp(true) },
    { keys: 'c', does: 'All campaigns', run: () => go('/') },
    ...(campaign === null ? [] : campaignViews.map((view, i) => ({
      keys: String(i + 1), does: names[view], run: () => go(pathOf({ view, campaign })),
    }))),
  ])
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={e => { e.preventDefault(); main.current?.focus() }}>Skip to the content</a>
      <nav class="side" aria-label="Main">
        <a class="brand" href="/" aria-label="nextbatch: all campaigns"><img src="/favicon.svg" alt="" width="24" height="24" /><span>nextbatch</span></a>
        {campaign !== null && (
          <div class="views">
            <p class="where" title={campaign}>{campaign}</p>
            <ul>
              {campaignViews.map(view => (
                <li key={view}><Item href={pathOf({ view, campaign })} here={place.view === view} icon={icons[view]}>{names[view]}</Item></li>
              ))}
            </ul>
          </div>
        )}
        <ul class="general">
          <li><Item href="/" here={place.view === 'campaigns'} icon={icons.campaigns}>Campaigns</Item></li>
          {session.role === 'owner' && <li><Item href="/new" here={place.view === 'new'} icon={icons.new}>New campaign</Item></li>}
          <li><Item href="/benchmarks" here={place.view === 'benchmarks'} icon={icons.benchmarks}>Benchmark</Item></li>
        </ul>
        <div class="foot">
          <p class="person"><strong>{session.person}</strong><span>{session.role}</span></p>
          <div class="tools">
            <ThemeSwitch />
            <button type="button" class="tool" title="Shortcuts (?)" aria-label="Shortcuts" onClick={() => setHelp(true)}><icons.help /></button>
            <button type="button" class="tool" title="Sign out" aria-label="Sign out"
              onClick={() => setLeaving(true)}><icons.out /></button>
          </div>
        </div>
      </nav>
      <main id="main" ref={main} tabIndex={-1} class={place.view}>{children}</main>
      {help && <Shortcuts close={() => setHelp(false)} />}
      {leaving && <Leaving close={() => setLeaving(false)} />}
    </div>
  )
}

function Leaving({ close }: { close: () => void }) {
  return (
    <Modal title="Sign out?" close={close}>
      <p>To come back you need the link with which you came, or your token. They are not shown again: if you have neither, stay, or ask the person who runs the service for a new token.</p>
      <div class="line">
        <button type="button" class="primary" onClick={() => { void signOut().finally(() => dispatchEvent(new Event(signedOut))) }}>Sign out</button>
        <button type="button" onClick={close}>Stay</button>
      </div>
    </Modal>
  )
}

function Item({ href, here, icon: Icon, children }: { href: string; here: boolean; icon: () => ComponentChildren; children: ComponentChildren }) {
  return <a href={href} aria-current={here ? 'page' : undefined}><Icon /><span>{children}</span></a>
}

const order: Theme[] = ['system', 'light', 'dark']
const words: Record<Theme, string> = { system: 'as the system', light: 'light', dark: 'dark' }

function ThemeSwitch() {
  const [now, setNow] = useState(theme())
  const next = order[(order.indexOf(now) + 1) % order.length]!
  const Icon = icons[now]
  const text = `Colours: ${words[now]}. Switch to ${words[next]}`
  return <button type="button" class="tool" title={text} aria-label={text} onClick={() => { setTheme(next); setNow(next) }}><Icon /></button>
}

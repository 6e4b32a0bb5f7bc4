import { useState } from 'preact/hooks'
import { api, newKey, problemText } from '../api'
import { readLabels, signOf } from '../labels'
import type { Entered } from '../labels'
import { typed } from '../reading'
import type { Mark } from '../format'
import type { Told } from '../types'
import { LabelFields } from './labelfields'
import { Modal } from './modal'

export interface Correction {
  campaign: string; id: string; targets: string[]; values: Record<string, number | null>; mark: Mark
  censored?: Record<string, number> | undefined // by target: the side of values that are limits
  lod?: string | undefined // of the settings
  replicate?: number | undefined // the only measurement that changes; without it all of them do
}

/** Replaces the label of a row, or one of its measurements. Targets whose field is empty keep theirs. */
export function CorrectForm({ of, done, cancel }: { of: Correction; done: (told: Told, entered: Entered) => void; cancel: () => void }) {
  const [texts, setTexts] = useState(() => Object.fromEntries(of.targets.map(t => [t, of.values[t] === null || of.values[t] === undefined ? '' : signOf(of.censored?.[t]) + typed(of.values[t], of.mark)])))
  const [fault, setFault] = useState('')
  const [busy, setBusy] = useState(false)
  const save = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    const read = readLabels(of.targets, texts, of.mark, of.lod)
    if ('fault' in read) { setFault(read.fault); return }
    setBusy(true)
    try {
      done(await api.correct(of.campaign, { id: of.id, ...read, ...(of.replicate ? { replicate: of.replicate } : {}) }, newKey()), read)
    } catch (e) {
      setFault(problemText(e))
      setBusy(false)
    }
  }
  return (
    <form class="stack" onSubmit={save} noValidate>
      <LabelFields name="correction" mark={of.mark} targets={of.targets} texts={texts} fault={fault} change={t => { setTexts(t); setFault('') }} />
      <p class="faint small">The number replaces the one before, which stays in the history.</p>
      <div class="line"><button type="submit" class="primary" disabled={busy}>Save the correction <kbd>Enter</kbd></button><button type="button" onClick={cancel}>Cancel</button></div>
    </form>
  )
}

export function CorrectDialog({ of, close, done }: { of: Correction; close: () => void; done: (told: Told, entered: Entered) => void }) {
  return <Modal title={`Correct ${of.id}`} close={close}><CorrectForm of={of} done={done} cancel={close} /></Modal>
}

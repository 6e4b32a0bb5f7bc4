import { useState } from 'preact/hooks'
import { api } from '../api'
import { Modal } from './modal'
import { ProblemNote } from './notice'

/** Asks why a row could not be labelled. */
export function FailDialog({ campaign, id, title, close, done }: { campaign: string; id: string; title: string; close: () => void; done: (event: number, reason: string) => void }) {
  const [reason, setReason] = useState('')
  const [again, setAgain] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      const changed = await api.fail(campaign, id, reason.trim(), again)
      done(changed.event, reason.trim())
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Modal title={`${title} could not be labelled`} close={close}>
      <form onSubmit={submit} class="stack">
        <div class="field">
          <label for="reason">What happened?</label>
          <input id="reason" value={reason} maxLength={1000} placeholder="did not dissolve" autofocus onInput={e => setReason(e.currentTarget.value)} />
        </div>
        <label class="check"><input type="checkbox" checked={again} onChange={e => setAgain(e.currentTarget.checked)} /> It may work another time: keep the row open</label>
        <ProblemNote error={error} />
        <div class="line"><button type="submit" class="primary">Mark as failed</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Modal>
  )
}

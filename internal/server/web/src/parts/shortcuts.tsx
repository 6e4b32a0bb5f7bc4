import { useLayoutEffect, useRef } from 'preact/hooks'
import { shortcuts } from '../keys'

/** The list of shortcuts that work here and now. */
export function Shortcuts({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="shortcuts-title" onClose={close}
      onClick={e => { if (e.target === dialog.current) dialog.current?.close() }}>
      <div class="inside">
        <h2 id="shortcuts-title">Shortcuts</h2>
        <dl>
          {shortcuts().map(s => (
            <div key={s.keys + s.does}>
              <dt>{s.keys.split(' / ').map((k, i) => <>{i > 0 && ' or '}<kbd>{printed(k)}</kbd></>)}</dt>
              <dd>{s.does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog"><button class="primary">Close</button></form>
      </div>
    </dialog>
  )
}

function printed(key: string): string {
  return ({ ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' } as Record<string, string>)[key] ?? (key.length === 1 ? key.toUpperCase() : key)
}

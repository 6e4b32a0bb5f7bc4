import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** A dialog that holds the focus until it is closed. */
export function Modal({ title, close, children, wide = false }: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class={wide ? 'wide' : undefined} aria-label={title} onClose={close} onClick={e => { if (e.target === dialog.current) dialog.current?.close() }}>
      <div class="inside">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

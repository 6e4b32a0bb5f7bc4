import { useLayoutEffect, useRef } from 'preact/hooks'
import { nameWithoutUnit, unitOf } from '../format'
import { readNumber } from '../reading'
import type { Mark } from '../format'
import type { History } from '../types'

/** A field for the label of each target. The first one has the focus; the others follow with Tab. */
export function LabelFields({ name, targets, texts, mark, labels = {}, change, fault }: {
  name: string; mark: Mark; labels?: Record<string, History>; targets: string[]; texts: Record<string, string>; change: (texts: Record<string, string>) => void; fault: string
}) {
  const first = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => { first.current?.focus(); first.current?.select() }, [])
  return (
    <>
      <div class="targets">
        {targets.map((t, i) => (
          <div class="field" key={t}>
            <label for={`${name}-${i}`}>{nameWithoutUnit(t)}</label>
            <div class="with-unit">
              <input id={`${name}-${i}`} ref={i === 0 ? first : null} inputMode="decimal" autocomplete="off" value={texts[t] ?? ''}
                aria-invalid={fault ? true : undefined} aria-describedby={fault ? `${name}-fault` : `${name}-how-${i}`}
                onInput={e => change({ ...texts, [t]: e.currentTarget.value })} />
              <span class="unit">{unitOf(t)}</span>
            </div>
            <p id={`${name}-how-${i}`} class="how small" role="status">{readNumber((texts[t] ?? '').trim().replace(/^[<>≤≥]=?/, ''), mark, labels[t])?.how}</p>
          </div>
        ))}
      </div>
      {fault && <p id={`${name}-fault`} class="fault" role="alert">{fault}</p>}
    </>
  )
}

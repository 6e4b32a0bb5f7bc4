import { exact, nameWithoutUnit, unitOf } from '../format'
import type { Column, Row } from '../types'

/** A value of a row as text. */
export function valueText(v: Row['inputs'][string] | undefined): string {
  if (v === null || v === undefined) return 'missing'
  return typeof v === 'number' ? exact(v) : v
}

/** The inputs of a row, in the order of the table's columns. */
export function Values({ inputs, columns }: { inputs: Row['inputs']; columns: Column[] }) {
  const names = columns.map(c => c.name).filter(n => n in inputs)
  const rest = Object.keys(inputs).filter(n => !names.includes(n))
  return (
    <dl class="values">
      {[...names, ...rest].map(name => (
        <div key={name}>
          <dt title={name}>{nameWithoutUnit(name)}</dt>
          <dd class={inputs[name] === null ? 'faint' : undefined}>{valueText(inputs[name])}{inputs[name] !== null && unitOf(name) && <span class="unit"> {unitOf(name)}</span>}</dd>
        </div>
      ))}
    </dl>
  )
}

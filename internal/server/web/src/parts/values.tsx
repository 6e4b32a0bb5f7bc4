import { nameWithoutUnit, unitOf } from '../format'
import type { Column, Row } from '../types'
import { valueText } from '../values'

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

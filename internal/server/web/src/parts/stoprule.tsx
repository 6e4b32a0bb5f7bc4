import { useState } from 'preact/hooks'
import { parseNumber } from '../reading'
import { measures } from '../stop'
import type { Measure, StopRule } from '../stop'

/** Lets a person say when the campaign should stop. */
export function StopRuleForm({ rule, unit, change }: { rule: StopRule; unit: string; change: (rule: StopRule) => void }) {
  const [text, setText] = useState(String(rule.below))
  const [measure, setMeasure] = useState(rule.measure)
  const value = parseNumber(text)
  const wrong = value === null || value <= 0 || (measure === 'gain' && value >= 100)
  const commit = (m: Measure, t: string) => {
    const v = parseNumber(t)
    if (v !== null && v > 0 && !(m === 'gain' && v >= 100) && (m !== rule.measure || v !== rule.below)) change({ measure: m, below: v })
  }
  return (
    <form class="line stoprule" onSubmit={e => { e.preventDefault(); commit(measure, text) }}>
      <label for="measure">Stop when</label>
      <select id="measure" value={measure} onChange={e => {
        const m = e.currentTarget.value as Measure
        setMeasure(m)
        if ((m === 'gain') !== (measure === 'gain')) setText(m === 'gain' ? '1' : '')
        else commit(m, text)
      }}>
        {measures.map(m => <option key={m.measure} value={m.measure}>{m.words}</option>)}
      </select>
      <input class="limit" inputMode="decimal" aria-label={measure === 'gain' ? 'Limit in percent' : 'Wanted error'} value={text} aria-invalid={wrong && text !== '' ? true : undefined}
        onInput={e => setText(e.currentTarget.value)} onBlur={() => commit(measure, text)} />
      <span class="faint">{measure === 'gain' ? '%' : unit}</span>
      <button type="submit" class="quiet" disabled={wrong}>Set</button>
    </form>
  )
}

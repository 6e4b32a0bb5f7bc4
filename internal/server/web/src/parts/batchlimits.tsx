import { problemText } from '../api'
import { limitNames, limitsSet, wrongLimits } from '../batchlimits'
import type { TypedLimits } from '../batchlimits'
import { many } from '../format'

type Field = Exclude<keyof TypedLimits, 'same' | 'group_column'>

/** Limits of the whole batch, folded away until somebody wants them. What the service says about them stands below. */
export function BatchLimitsFields({ typed, change, columns, groups, error }: {
  typed: TypedLimits; change: (t: TypedLimits) => void; columns: string[]; error: unknown
  groups: boolean // the column of groups can be chosen; otherwise it is as the settings say
}) {
  const set = limitsSet(typed), wrong = wrongLimits(typed)
  const text = (name: Field, hint: string, placeholder: string) => (
    <div class="field"><label for={`limit-${name}`}>{limitNames[name]}</label>
      <input id={`limit-${name}`} class="limit" autocomplete="off" placeholder={placeholder} value={typed[name]} aria-invalid={wrong.includes(name) ? true : undefined} aria-describedby={`limit-${name}-hint`}
        onInput={e => change({ ...typed, [name]: e.currentTarget.value })} />
      <span class="hint" id={`limit-${name}-hint`}>{hint}</span></div>
  )
  return (
    <div class="batch-limits">
      <details open={error !== null}>
        <summary>Limits of the batch{set > 0 && <span class="tag">{many(set, 'limit')}</span>}</summary>
        <div class="limit-fields">
          <SameField typed={typed} change={change} columns={columns} />
          {typed.same.length > 0 && text('runs', 'How often that happens in a batch, such as runs of a furnace.', '1')}
          {groups && (
            <div class="field"><label for="limit-group">{limitNames.group_column}</label>
              <select id="limit-group" value={typed.group_column} onChange={e => change({ ...typed, group_column: e.currentTarget.value })}>
                <option value="">none</option>
                {columns.map(c => <option key={c} value={c}>{c}</option>)}
              </select>
              <span class="hint">Rows with the same value are a group.</span></div>
          )}
          {typed.group_column && groups && text('per_group', 'Rows of any group in a batch.', 'any number')}
          {typed.group_column && text('min_per_group', `Rows of each group${typed.at_most_groups ? ' in the batch' : ''}, by ${typed.group_column}.`, 'any number')}
          {typed.group_column && text('at_most_groups', 'Groups that a batch has rows of.', 'any number')}
          {text('replicates', 'How often each row is measured. The size of a batch counts measurements.', '1')}
          {text('replicate_share', 'Part of the batch that measures labelled rows once more, to learn the noise.', 'such as 1/8')}
          {text('plate', 'Rows x columns. Each measurement gets a well.', 'such as 8x12')}
          {typed.plate.trim() && text('controls', 'Wells, rows or columns that stay free.', 'such as A1, H12, 12')}
        </div>
      </details>
      {error !== null && error !== undefined && <div class="note bad" role="alert"><p>{problemText(error)}</p></div>}
    </div>
  )
}

function SameField({ typed, change, columns }: { typed: TypedLimits; change: (t: TypedLimits) => void; columns: string[] }) {
  const { same } = typed
  return (
    <div class="field"><label for="limit-same">{limitNames.same}</label>
      {same.length > 0 && (
        <ul class="chips" aria-label="Columns that the rows of a run share">
          {same.map(c => <li key={c}>{c}<button type="button" class="tool" aria-label={`No longer share ${c}`} onClick={() => change({ ...typed, same: same.filter(x => x !== c) })}>×</button></li>)}
        </ul>
      )}
      <select id="limit-same" value="" onChange={e => { if (e.currentTarget.value) change({ ...typed, same: [...same, e.currentTarget.value] }) }}>
        <option value="">{same.length > 0 ? 'another column' : 'nothing'}</option>
        {columns.filter(c => !same.includes(c)).map(c => <option key={c} value={c}>{c}</option>)}
      </select>
      <span class="hint">All rows that are measured together have one value, such as a temperature.</span></div>
  )
}

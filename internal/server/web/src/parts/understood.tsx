import { sentence } from '../api'
import { isText, lodLabel, missingMarksLabel, styleChoices, understoodStyle, uploadWords } from '../textstyle'
import type { StyleChoice, TextStyle } from '../textstyle'
import type { Preview } from '../types'

/** How a file was read, with its first rows, and fields to change that. Without a preview the file could not be read. */
export function Reading({ preview, style, change }: { preview: Preview | null; style: TextStyle; change: (style: TextStyle) => void }) {
  const u = preview?.understood
  const guessed = u ? understoodStyle(u) : {}
  const set = (name: keyof TextStyle, value: string) =>
    change(Object.fromEntries(Object.entries({ ...style, [name]: value }).filter(([, v]) => v !== '')))
  return (
    <section class="card reading" aria-label="How the file was read">
      <h2>{u ? 'How the file was read' : 'How the file is written'}</h2>
      {u && u.notes.length > 0 && <ul class="notes small">{u.notes.map(n => <li key={n}>{sentence(uploadWords(n))}</li>)}</ul>}
      {(!u || isText(u)) && (
        <div class="style-fields">
          {styleChoices.map(c => <StyleField key={c.name} choice={c} said={style[c.name] ?? ''} guessed={guessed[c.name] ?? ''} change={v => set(c.name, v)} />)}
          <div class="field"><label for="missing_marks">{missingMarksLabel}</label>
            <input id="missing_marks" placeholder="such as failed, n.m." value={style.missing_marks ?? ''} onChange={e => set('missing_marks', e.currentTarget.value.trim())} /></div>
          <div class="field"><label for="lod">{lodLabel}</label>
            <input id="lod" placeholder="for <LOD or n.d., such as 0.5" value={style.lod ?? ''} onChange={e => set('lod', e.currentTarget.value.trim())} /></div>
        </div>
      )}
      {Object.keys(style).length > 0 && <p><button type="button" class="quiet" onClick={() => change({})}>Guess everything again</button></p>}
      {preview && <FirstRows preview={preview} />}
    </section>
  )
}

function StyleField({ choice, said, guessed, change }: { choice: StyleChoice; said: string; guessed: string; change: (value: string) => void }) {
  const now = said || guessed
  return (
    <div class="field"><label for={choice.name}>{choice.label}{said && <span class="tag">changed</span>}</label>
      <select id={choice.name} value={now} onChange={e => change(e.currentTarget.value === guessed && !said ? '' : e.currentTarget.value)}>
        {!guessed && <option value="">{choice.name === 'thousands' ? 'not separated' : 'as the file suggests'}</option>}
        {choice.options.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
      </select></div>
  )
}

const shown = 5

function FirstRows({ preview }: { preview: Preview }) {
  const names = preview.columns.map(c => c.name).slice(0, preview.first[0]?.length ?? 0)
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="The first rows">
      <table class="first-rows small">
        <thead><tr>{names.map((n, i) => <th key={n} class={preview.columns[i]?.type === 'number' ? 'number' : undefined}>{n}</th>)}</tr></thead>
        <tbody>{preview.first.slice(0, shown).map((row, r) => (
          <tr key={r}>{row.map((v, i) => <td key={i} title={v} class={preview.columns[i]?.type === 'number' ? 'number' : undefined}>{v || <span class="faint">empty</span>}</td>)}</tr>
        ))}</tbody>
      </table>
    </div>
  )
}

import { useEffect, useState } from 'preact/hooks'
import { api, newKey } from '../api'
import { many } from '../format'
import { uploadWords } from '../textstyle'
import type { TextStyle } from '../textstyle'
import type { Added, Campaign, Preview } from '../types'
import { Drop } from './drop'
import { Modal } from './modal'
import { Loading, ProblemNote } from './notice'
import { Reading } from './understood'

/** Adds the rows of a file to a campaign, after it has shown how the file was read. */
export function AddRowsDialog({ campaign, close, done }: { campaign: Campaign; close: () => void; done: (added: Added) => void }) {
  const [file, setFile] = useState<File | null>(null)
  return (
    <Modal wide title="Add rows" close={close}>
      <Drop file={file} choose={setFile} hint={`Its columns are those of the campaign; ${campaign.targets.join(', ')} may be empty or absent.`} />
      {file && <AddRows key={`${file.name} ${file.size} ${file.lastModified}`} file={file} campaign={campaign} done={done} />}
      <form method="dialog"><button>Cancel</button></form>
    </Modal>
  )
}

/** Adds labelled rows of an earlier campaign, another instrument or a simulation, which are no rows of the campaign. */
export function EarlierDialog({ campaign, close, done }: { campaign: Campaign; close: () => void; done: (name: string, warnings: string[]) => void }) {
  const [file, setFile] = useState<File | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [key] = useState(newKey)
  const add = async (table: File) => {
    setBusy(true)
    setError(null)
    try {
      const { warnings } = await api.addEarlier(campaign.name, table.name, table, key)
      done(table.name, warnings)
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Modal wide title="Add earlier data" close={close}>
      <p>Labelled rows of an earlier campaign, another instrument or a simulation. What a model of them predicts is an input where that lowers the error on held-out labels.</p>
      <Drop file={file} choose={f => { setFile(f); setError(null) }} hint={`It needs ${campaign.targets.join(', ')}, on whatever scale, and some of the columns of the campaign.`} />
      <ProblemNote error={error} words={uploadWords} />
      {file && <p><button type="button" class="primary" disabled={busy} onClick={() => { void add(file) }}>{busy ? 'Adding…' : 'Add'}</button></p>}
      <form method="dialog"><button>Cancel</button></form>
    </Modal>
  )
}

/** Columns of the campaign that a file lacks. */
export function lacking(campaign: Pick<Campaign, 'id_column' | 'columns'>, preview: Pick<Preview, 'columns'>): string[] {
  const there = new Set(preview.columns.map(c => c.name))
  return [...(campaign.id_column ? [campaign.id_column] : []), ...campaign.columns.map(c => c.name)].filter(n => !there.has(n))
}

function AddRows({ file, campaign, done }: { file: File; campaign: Campaign; done: (added: Added) => void }) {
  const [style, setStyle] = useState<TextStyle>({})
  const [preview, setPreview] = useState<Preview | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [key] = useState(newKey)
  useEffect(() => {
    const stop = new AbortController()
    api.preview(file, { ignore: [], ...style }, stop.signal).then(p => { setPreview(p); setError(null) }, (e: unknown) => { if (!stop.signal.aborted) setError(e) })
    return () => stop.abort()
  }, [style])
  const add = async () => {
    setBusy(true)
    setError(null)
    try {
      done(await api.addRows(campaign.name, file, style, key))
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  if (!preview && error === null) return <Loading what="the table" />
  const missing = preview ? lacking(campaign, preview) : []
  return (
    <>
      <Reading preview={preview} style={style} change={setStyle} />
      {missing.length > 0 && <p class="note warn small">The campaign has {missing.length === 1 ? 'a column' : 'columns'} that the file lacks: {missing.join(', ')}. Another separator or first line may help.</p>}
      <ProblemNote error={error} words={uploadWords} />
      {preview && <p><button type="button" class="primary" disabled={busy} onClick={() => { void add() }}>{busy ? 'Adding…' : `Add ${many(preview.rows, 'row')}`}</button></p>}
    </>
  )
}

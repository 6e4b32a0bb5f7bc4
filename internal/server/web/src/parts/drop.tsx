import { useRef, useState } from 'preact/hooks'
import { bytes } from '../format'

/** Takes a file that is dropped or chosen. */
export function Drop({ file, choose, hint }: { file: File | null; choose: (f: File) => void; hint: string }) {
  const [over, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  return (
    <div class={`drop${over ? ' over' : ''}${file ? ' small' : ''}`}
      onDragOver={e => { e.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)}
      onDrop={e => { e.preventDefault(); setOver(false); const f = e.dataTransfer?.files[0]; if (f) choose(f) }}>
      {file
        ? <p><strong>{file.name}</strong> <span class="faint">{bytes(file.size)}</span></p>
        : <><p class="lead">Drop a table here</p><p class="faint">CSV, TSV, JSON Lines, Parquet or Excel. {hint}</p></>}
      <button type="button" class={file ? '' : 'primary'} onClick={() => input.current?.click()}>{file ? 'Choose another file' : 'Choose a file'}</button>
      <input ref={input} type="file" hidden aria-label="Table" accept=".csv,.tsv,.txt,.jsonl,.ndjson,.parquet,.xlsx"
        onChange={e => { const f = e.currentTarget.files?.[0]; if (f) choose(f) }} />
    </div>
  )
}

import { writeWith } from './format'
import { markOf } from './reading'
import type { TextStyle } from './textstyle'
import type { Added, AddedEarlier, AskRequest, Audit, Batch, BenchmarkFile, BenchmarkProgress, BenchmarkResults, Campaign, Changed, ErrorDetail, ErrorModel, Job, LogEvent, Measured, Person, LastMap, Preview, Queue, RowHistory, RowPage, Session, Settings, Standing, Told } from './types'

/** A refusal by the service, as RFC 9457 describes it, or a network that does not answer (status 0). */
export class Problem extends Error {
  constructor(readonly status: number, detail: string, readonly faults: ErrorDetail[] = []) {
    super(detail)
    this.name = 'Problem'
  }
}

/** Words what went wrong, with the faults of single fields. */
export function problemText(error: unknown): string {
  if (!(error instanceof Error)) return 'Something went wrong.'
  const faults = error instanceof Problem ? error.faults.map(f => f.message ?? '').filter(Boolean) : []
  return [sentence(error.message), ...faults.map(sentence)].join(' ')
}

/** Begins with a capital letter and ends with a full stop. */
export function sentence(text: string): string {
  const t = text.trim()
  if (!t) return ''
  return t[0]!.toUpperCase() + t.slice(1) + (/[.!?…]$/.test(t) ? '' : '.')
}

type Query = Record<string, string | number | string[] | undefined>

function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    for (const v of Array.isArray(value) ? value : [value]) q.append(name, String(v))
  }
  const text = q.toString()
  return text ? `${path}?${text}` : path
}

async function problem(answer: Response): Promise<Problem> {
  try {
    const p = await answer.json() as ErrorModel
    return new Problem(answer.status, p.detail ?? p.title ?? answer.statusText, p.errors ?? [])
  } catch {
    return new Problem(answer.status, `the service answered ${answer.status} ${answer.statusText}`)
  }
}

async function request(method: string, url: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(url, { method, credentials: 'same-origin', ...init })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Problem(0, 'the service does not answer; check that it is running, then try again')
  }
  if (!answer.ok) throw await problem(answer)
  return answer
}

async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return await (await request('GET', address(path, query), signal ? { signal } : {})).json() as T
}

/** A random id for a request. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('')
}

/** A change carries the id of its request, so that repeating it after a lost answer changes nothing twice. */
async function send<T>(method: string, path: string, body: unknown, key = newKey()): Promise<T> {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key }
  const answer = await request(method, path, { headers, body: JSON.stringify(body) })
  return (answer.status === 204 ? null : await answer.json()) as T
}

const of = (campaign: string) => `/v1/campaigns/${encodeURIComponent(campaign)}`

export interface RowQuery {
  status?: string
  search?: string
  where?: string[]
  sort?: string
  order?: 'asc' | 'desc'
}

export const api = {
  session: () => get<Session>('/v1/session'),
  signIn: (token: string) => send<Session>('POST', '/v1/session', { token }),
  signOut: () => request('DELETE', '/v1/session'),

  campaigns: () => get<Campaign[]>('/v1/campaigns'),
  campaign: async (c: string) => {
    const found = await get<Campaign>(of(c))
    writeWith(markOf(found))
    return found
  },
  create: async (table: Blob, query: { name: string; target: string; learner: string; lease: string; range?: string; random_start?: string; ignore: string[]; id?: string } & TextStyle, key: string) =>
    await (await request('POST', address('/v1/campaigns', query), { body: table, headers: { 'Idempotency-Key': key } })).json() as Campaign,
  preview: async (table: Blob, query: { target?: string; id?: string; ignore: string[]; keep?: string[] } & TextStyle, signal?: AbortSignal) =>
    await (await request('POST', address('/v1/previews', query), signal ? { body: table, signal } : { body: table })).json() as Preview,
  changeSettings: (c: string, s: Settings) => send<Changed>('PUT', `${of(c)}/settings`, s),

  standing: (c: string, stop?: string) => get<Standing>(`${of(c)}/standing`, { stop }),
  measureGain: (c: string) => send<Job>('POST', `${of(c)}/gains`, {}),
  people: (c: string) => get<Person[]>(`${of(c)}/people`),

  rows: (c: string, q: RowQuery & { offset: number; limit: number }, signal?: AbortSignal) => get<RowPage>(`${of(c)}/rows`, { ...q }, signal),
  addRows: async (c: string, table: Blob, style: TextStyle, key: string) =>
    await (await request('POST', address(`${of(c)}/rows`, style), { body: table, headers: { 'Idempotency-Key': key } })).json() as Added,
  addEarlier: async (c: string, name: string, table: Blob, key: string) =>
    await (await request('POST', address(`${of(c)}/earlier`, { name }), { body: table, headers: { 'Idempotency-Key': key } })).json() as AddedEarlier,
  row: (c: string, row: number) => get<RowHistory>(`${of(c)}/rows/${row}`),
  exportAddress: (c: string, format: string, q: RowQuery) => address(`${of(c)}/rows/export`, { format, ...q }),

  queue: (c: string) => get<Queue>(`${of(c)}/queue`),
  ask: (c: string, wanted: AskRequest, key?: string) => send<Job>('POST', `${of(c)}/asks`, wanted, key),
  batch: (c: string, ask: number) => get<Batch>(`${of(c)}/asks/${ask}`),
  tell: (c: string, measured: Measured, key?: string) => send<Told>('POST', `${of(c)}/tells`, { rows: [measured] }, key),
  correct: (c: string, measured: Measured, key?: string) => send<Told>('POST', `${of(c)}/corrections`, { rows: [measured] }, key),
  confirm: (c: string, ids: string[]) => send<Changed>('POST', `${of(c)}/confirmations`, { ids }),
  fail: (c: string, id: string, reason: string, again: boolean) => send<Changed>('POST', `${of(c)}/failures`, { ids: [id], reason, again }),
  giveBack: (c: string, ids: string[], reason: string) => send<Changed>('POST', `${of(c)}/returns`, { ids, reason }),
  undo: (c: string, event: number, reason: string) => send<Changed>('POST', `${of(c)}/undo`, { event, reason }),

  events: (c: string, after: number, limit: number) => get<LogEvent[]>(`${of(c)}/events`, { after, limit }),

  jobs: (c: string) => get<Job[]>(`${of(c)}/jobs`),
  job: (c: string, id: string) => get<Job>(`${of(c)}/jobs/${encodeURIComponent(id)}`),
  cancel: (c: string, id: string) => request('DELETE', `${of(c)}/jobs/${encodeURIComponent(id)}`),
  jobEvents: (c: string, id: string) => `${of(c)}/jobs/${encodeURIComponent(id)}/events`,

  map: (c: string) => get<LastMap>(`${of(c)}/map`),
  benchmarks: () => get<BenchmarkFile[]>('/v1/benchmarks'),
  benchmark: (name: string) => get<BenchmarkResults>(`/v1/benchmarks/${encodeURIComponent(name)}`),
  benchmarkProgress: (name: string) => get<BenchmarkProgress>(`/v1/benchmarks/${encodeURIComponent(name)}/progress`),

  audit: async (c: string) => (await get<{ audit: Audit | null }>(`${of(c)}/audit`)).audit,
  makeAudit: (c: string) => send<Job>('POST', `${of(c)}/audits`, {}),
  makeMap: (c: string) => send<Job>('POST', `${of(c)}/maps`, {}),
}

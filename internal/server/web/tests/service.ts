import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The real program, in a folder of its own. NEXTBATCH_BINARY names one that was built before.

const checkout = join(import.meta.dirname, '..', '..', '..', '..')

function program(folder: string): string {
  const built = process.env['NEXTBATCH_BINARY']
  if (built) return built
  const file = join(folder, 'nextbatch')
  execFileSync('go', ['build', '-o', file, './cmd/nextbatch'], { cwd: checkout, env: { ...process.env, CGO_ENABLED: '0' }, stdio: 'inherit' })
  return file
}

export class Service {
  private constructor(readonly address: string, readonly token: string, private readonly binary: string, private readonly folder: string, private readonly child: ChildProcess) {}

  /** Starts the service with further arguments; files are made in its folder before. */
  static async start(args: string[] = [], before: (binary: string, folder: string) => void = () => undefined): Promise<Service> {
    const folder = mkdtempSync(join(tmpdir(), 'nextbatch-web-'))
    const binary = program(folder)
    before(binary, folder)
    const child = spawn(binary, ['serve', '--quiet', '--listen', '127.0.0.1:0', ...args, 'campaigns.db'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    const link = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stderr.on('data', (part: Buffer) => {
        text += part.toString()
        const found = /http:\/\/\S+#token=\S+/.exec(text)
        if (found) resolve(found[0])
      })
      child.on('exit', () => reject(new Error(`the service ended: ${text}`)))
    })
    const [address, token] = link.split('/#token=') as [string, string]
    return new Service(address, token, binary, folder, child)
  }

  async stop(): Promise<void> {
    const ended = new Promise(resolve => this.child.once('exit', resolve))
    this.child.kill('SIGTERM')
    await ended
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** A token for another person. */
  person(name: string, role: string): string {
    return execFileSync(this.binary, ['token', 'add', name, '--role', role], { cwd: this.folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).match(/nb_\S+/)![0]
  }

  async call<T>(method: string, path: string, body?: unknown, token = this.token): Promise<T> {
    const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body)
    const answer = await fetch(this.address + path, {
      method, headers: { Authorization: `Bearer ${token}`, ...(typeof body === 'string' ? {} : { 'Content-Type': 'application/json' }) }, ...(text === undefined ? {} : { body: text }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return await answer.json() as T
  }

  /** Starts a job and waits until it has ended. */
  async job<T>(campaign: string, kind: 'asks' | 'maps' | 'audits' | 'gains', body: unknown, token = this.token): Promise<T> {
    let job = await this.call<{ id: string; state: string }>('POST', `/v1/campaigns/${campaign}/${kind}`, body, token)
    while (job.state === 'running') {
      await new Promise(resolve => setTimeout(resolve, 50))
      job = await this.call('GET', `/v1/campaigns/${campaign}/jobs/${job.id}`, undefined, token)
    }
    return job as T
  }

  /** Asks for rows and waits for them. */
  async ask(campaign: string, rows: number, token = this.token): Promise<{ id: string }[]> {
    const job = await this.job<{ ask: number }>(campaign, 'asks', { rows }, token)
    return (await this.call<{ rows: { id: string }[] }>('GET', `/v1/campaigns/${campaign}/asks/${job.ask}`)).rows
  }
}

/** The number that a row would be measured to have. */
export const measured = (i: number): number => Math.round(1000 * (Math.sin(i / 7) + (i % 13) / 5)) / 1000

/** A table whose text would do harm if it were taken for HTML. Every tenth row has a label. */
export function table(rows: number, id = (i: number) => `s${String(i).padStart(6, '0')}`): string {
  const lines = ['name,temperature (K),<b>grade</b>,phase,y (mg/mL)']
  for (let i = 0; i < rows; i++) {
    lines.push([id(i), 280 + i % 97, ((i * 7919) % 1000) / 10, ['solid', 'liquid', '<i>gas</i>'][i % 3], i % 10 === 0 && i < 400 ? measured(i) : ''].join(','))
  }
  return lines.join('\n') + '\n'
}

/** Small networks, so that the tests are quick. */
export const quick = { network: { training: { epochs: 12 } }, seed: 1, audit: 1, batch: 10 }

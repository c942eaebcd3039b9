/** A service to test: in this process or as a child, over a data folder of its own, and people who use it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Config } from '../../server/config.ts'
import type { Deps } from '../../server/deps.ts'
import { startService } from '../../server/service.ts'
import type { components } from '../../spec/types.ts'
import { type Exchanged, exchange, type Headers } from './exchange.ts'
import { databaseEnvironment, databaseFor } from './postgres.ts'
import { closeAfterFile, endAfterFile, endsWithParent } from './processes.ts'
import { until } from './until.ts'

export interface Grove {
  readonly url: string
  readonly dataDir: string
  readonly deps: Deps
  /** What it has logged so far, where `logLevel` was given. */
  logged(): string
  /** Stops the service and removes the data folder, unless it was given. */
  close(): Promise<void>
}

export interface GroveOptions {
  /** Default: a fresh one in the system's folder for temporary files. */
  readonly dataDir?: string
  readonly rateLimit?: boolean
  readonly now?: () => Date
  readonly publicUrl?: string
  /** Default: errors, and these go to standard error. */
  readonly logLevel?: Config['logLevel']
  readonly logRequests?: Config['logRequests']
  readonly metricsToken?: string
  /** False: nothing is mended in the background. */
  readonly sweeps?: boolean
  readonly signup?: Config['signup']
  /** True: credentials are in PostgreSQL, in a database of this data folder; a text: in the one of that address. */
  readonly postgres?: boolean | string
  /** One of several services on one database: `postgres` must name it. */
  readonly cell?: Config['cell']
  /** True: passwords cost what they cost in production, 40 ms each. */
  readonly slowPasswords?: boolean
}

/** The least that argon2 takes. */
export const passwordCost = { memoryKib: 1024, passes: 2 }

/** Takes 20 ms, where a child takes a second. Answers are checked against the spec. */
export async function startGrove(options: GroveOptions = {}): Promise<Grove> {
  const dataDir = options.dataDir ?? (await newDataDir())
  const {
    rateLimit = false,
    now,
    publicUrl,
    metricsToken,
    logLevel,
    logRequests = 'all',
    sweeps = true,
    slowPasswords = false,
    signup = 'open',
    postgres = process.env.GROVE_TEST_DATABASE_URL !== undefined,
    cell,
  } = options
  const databaseUrl = postgres === true ? await databaseFor(dataDir) : postgres
  const level = logLevel ?? 'error'
  const searchMemory = 256 * 1_048_576
  const folder = { port: 0, host: '127.0.0.1', dataDir }
  const config = { ...folder, logLevel: level, logRequests, rateLimit, workers: 1, signup, searchMemory }
  let logged = ''
  const memory = {
    write: (line: string) => {
      logged += line
    },
  }
  const service = await startService(
    {
      ...config,
      ...(publicUrl === undefined ? {} : { publicUrl }),
      ...(metricsToken === undefined ? {} : { metricsToken }),
      ...(slowPasswords ? {} : { passwordCost }),
      ...(databaseUrl === false ? {} : { databaseUrl }),
      ...(cell === undefined ? {} : { cell }),
    },
    {
      log: pino({ level }, logLevel === undefined ? pino.destination({ dest: 2, sync: true }) : memory),
      validateResponses: true,
      sweeps,
      ...(now === undefined ? {} : { now }),
    },
  )
  return {
    url: service.url,
    dataDir,
    deps: service.deps,
    logged: () => logged,
    close: closeAfterFile(async () => {
      await service.close()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    }),
  }
}

export function newDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'grove-test-'))
}

export interface SpawnedGrove {
  readonly url: string
  readonly dataDir: string
  readonly pid: number
  /** What it has written to standard output and standard error so far. */
  output(): { stdout: string; stderr: string }
  /** Once it has ended, for whatever reason: the exit code, null after a signal. */
  readonly exited: Promise<number | null>
  /** SIGTERM; the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL, as a power cut to the process. */
  kill(): Promise<void>
}

/**
 * What `npm start` runs, on any free port; resolves once it says that it listens.
 *
 * @param through what stands before the command, and becomes it
 * @throws Error with its output if it ends
 */
export async function spawnGrove(
  dataDir: string,
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<SpawnedGrove> {
  const flags = ['--max-old-space-size=2000', '--v8-pool-size=1']
  const [program = '', ...words] = [...through, process.execPath, ...endsWithParent, ...flags, 'dist/main.js']
  const child = endAfterFile(
    spawn(program, words, {
      stdio: 'pipe',
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        PORT: '0',
        DATA_DIR: dataDir,
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
        ...(await databaseEnvironment(dataDir)),
        ...environment,
      },
    }),
  )
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  const exited = endOf(child)
  const url = await listening(child, output, exited)
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return {
    url,
    dataDir,
    pid: child.pid ?? 0,
    exited,
    output: () => ({ ...output }),
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL')
    },
  }
}

/** Once it has ended and what it wrote has been read; what it started may hold its pipes open, so these are waited for a while. */
async function endOf(child: ChildProcess): Promise<number | null> {
  const read = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  await Promise.race([read, sleep(2_000, undefined, { ref: false })])
  return code
}

async function listening(
  child: ChildProcess,
  output: { stdout: string; stderr: string },
  exited: Promise<number | null>,
): Promise<string> {
  const said = new Promise<string>((resolve) => {
    child.stdout?.on('data', () => {
      const url = /listening on (http:\/\/\S+)\n/.exec(output.stdout)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  const url = await Promise.race([said, exited.then(() => undefined)])
  if (url === undefined) throw new Error(`dist/main.js ended before it listened:\n${output.stdout}${output.stderr}`)
  return url
}

/** Until everything is in the index: one that is made anew for long answers 503 busy meanwhile. */
export async function untilReady(grove: { readonly url: string }): Promise<void> {
  await until(async () => (await client(grove).get('/readyz')).body?.status === 'ready')
}

/** `headers` is there but not enumerable, so that `deep.equal({ status, body })` compares what matters. */
export interface Answer {
  readonly status: number
  /** The JSON without its `request_id`, the text of what is no JSON, undefined for nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly body: any // of any shape: the spec has one for each operation
  readonly headers: Headers
}

export interface Client {
  get(path: string, headers?: Headers): Promise<Answer>
  post(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  patch(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  put(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  delete(path: string, headers?: Headers, body?: unknown): Promise<Answer>
}

/**
 * A string is sent as it is, anything else as JSON; always as application/json unless `headers` say otherwise. A client that
 * changes its password goes on in the session that this opens, since its own has ended.
 */
export function client({ url }: { readonly url: string }, first?: string): Client {
  let token = first
  const send = async (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> => {
    const answered = await exchange(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const answer = { status: answered.status, body: read(answered) }
    if (path === '/auth/password' && answer.status === 200 && token !== undefined) token = sessionIn(answer).accessToken
    const received = { value: answered.headers, enumerable: false }
    return Object.defineProperty(answer, 'headers', received) as Answer // defineProperty does not change the type
  }
  return {
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    delete: (path, headers, body) => send('DELETE', path, body, headers),
  }
}

function sessionIn({ body }: { readonly body: unknown }): Session {
  return body as Session // the spec says so of this answer
}

function read({ headers, text }: Exchanged): unknown {
  if (text === '') return undefined
  if (!headers['content-type']?.startsWith('application/json')) return text
  const body: unknown = JSON.parse(text)
  if (typeof body === 'object' && body !== null && 'request_id' in body) {
    const { request_id: _, ...rest } = body
    return rest
  }
  return body
}

type Session = components['schemas']['Session']

export interface PersonClient extends Client {
  readonly user: Session['user']
  /** The id of the personal organisation. */
  readonly org: string
  readonly session: Session
}

export const password = 'correct horse battery'

/** Makes the account `<name>@example.org` with `password`; the client speaks for it. */
export async function signUp(grove: { readonly url: string }, name: string): Promise<PersonClient> {
  const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.org`
  const { status, body } = await client(grove).post('/auth/signup', { email, password, name })
  if (status !== 201) throw new Error(`Sign-up of ${email} answered ${status} ${JSON.stringify(body)}`)
  const session: Session = body
  const org = session.user.org_id
  if (org === undefined) throw new Error('Sign-up made no organisation')
  return { ...client(grove, session.accessToken), user: session.user, org, session }
}

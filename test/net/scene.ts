/** Hosts on loopback that answer as a test says, and fetches from them under names that a test resolves. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newAllowList } from '../../server/base/allow-list.ts'
import { FetchError } from '../../server/domain/net/fetch-error.ts'
import { type FetchRequest, type FetchRules, guardedFetch } from '../../server/domain/net/guarded-fetch.ts'
import { closeAfterFile } from '../support/processes.ts'
import { until } from '../support/until.ts'

export interface Host {
  readonly port: number
  /** Connections that were accepted. */
  readonly accepted: Socket[]
  /** Resolves when the other side of all connections has closed. */
  allClosed(): Promise<void>
  close(): Promise<void>
}

/** A host that speaks bytes. `serve` gets each connection. */
export function rawHost(serve: (socket: Socket) => void, address = '127.0.0.1'): Promise<Host> {
  const server = createServer((socket) => {
    serve(socket)
    // A socket that nobody reads never ends.
    socket.on('data', () => {})
  })
  return listening(server, address)
}

export function httpHost(listener: RequestListener, address = '127.0.0.1'): Promise<Host> {
  return listening(createHttp(listener), address)
}

export function tlsHost(
  certificate: { readonly key: string; readonly cert: string },
  listener: RequestListener,
): Promise<Host> {
  return listening(createHttps(certificate, listener), '0.0.0.0')
}

async function listening(server: Server, address: string): Promise<Host> {
  const accepted: Socket[] = []
  server.on('connection', (socket: Socket) => accepted.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const close = closeAfterFile(async () => {
    for (const socket of accepted) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return {
    port: (server.address() as AddressInfo).port,
    accepted,
    allClosed: () => until(() => accepted.every((socket) => socket.destroyed)),
    close,
  }
}

/** A certificate for hooks.example that is its own authority. */
export async function newCertificate(): Promise<{ readonly key: string; readonly cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-net-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const name = ['-subj', '/CN=hooks.example', '-addext', 'subjectAltName=DNS:hooks.example,IP:127.0.0.3']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  await promisify(execFile)('openssl', ['req', '-x509', ...curve, ...name, '-keyout', key, '-out', cert])
  const texts = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  await rm(folder, { recursive: true })
  return texts
}

/** Long enough for any machine. Tests of time limits set their own. */
export const patient = { totalMs: 300_000, connectMs: 300_000 }

/** The limits of webhooks. Any status is an answer, and its beginning is kept. */
export const webhookLimits = { ...patient, keptBytes: 1_024, readBytes: 65_536, excess: 'cut' } as const

/** The limits of client metadata documents. */
export const documentLimits = { ...patient, keptBytes: 8_192, readBytes: 8_192, excess: 'refuse' } as const

/** Opens loopback. Every name is there, unless the test resolves names. */
export const open: FetchRules = {
  allow: newAllowList(['127.0.0.0/8']),
  own: { ports: [], urls: [] },
  isHttpAllowed: true,
  resolve: async () => [{ address: '127.0.0.1' }],
}

export function fetched(url: string, request: Partial<FetchRequest> = {}, rules: Partial<FetchRules> = {}) {
  return guardedFetch({ url, method: 'GET', limits: webhookLimits, ...request }, { ...open, ...rules })
}

/** The error of a fetch that must fail. */
export async function failed(fetching: Promise<unknown>): Promise<FetchError> {
  try {
    await fetching
  } catch (error) {
    if (error instanceof FetchError) return error
    throw error
  }
  throw new Error('The fetch should fail')
}

export const codeOf = async (fetching: Promise<unknown>) => (await failed(fetching)).code

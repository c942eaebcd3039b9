/**
 * Reads metadata documents of programs from their hosts, and caches them.
 *
 * All processes and cells share the documents. Each process remembers errors, and which fetches are under way.
 */

import pLimit, { type LimitFunction } from 'p-limit'
import { findOauthClient, putOauthClient } from '../../../index/credentials/oauth.ts'
import type { OauthClient } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { newAllowList } from '../net/allow-list.ts'
import { FetchError } from '../net/fetch-error.ts'
import { type FetchAnswer, guardedFetch } from '../net/guarded-fetch.ts'
import { ownAddresses } from '../net/own-addresses.ts'
import { judgeDocument, type Metadata } from './documents.ts'
import { UnknownProgramError } from './errors.ts'
import { defaultRedirects } from './redirects.ts'

/** Milliseconds for a fetch. */
const fetchMs = 5_000
/** Bytes of a document. */
const documentBytes = 8_192
/** Fetches of a process at the same time. */
const mostFetches = 4
/** The least and the most milliseconds that a document is fresh. */
const [leastFreshMs, mostFreshMs] = [5 * 60_000, 24 * 3_600_000]
/** Milliseconds after its freshness in which a document serves while its host is away. */
export const staleMs = 7 * 24 * 3_600_000
/** Milliseconds that an error is remembered. */
const errorMs = 60_000
/** Errors that a process remembers. */
const mostErrors = 1_000

/** A fetch failed, and the host may answer later. */
class AwayError extends UnknownProgramError {}

interface Memory {
  readonly limit: LimitFunction
  readonly errors: Map<string, { readonly error: UnknownProgramError; readonly until: number }>
  readonly fetching: Map<string, Promise<OauthClient>>
}

/** The memory of each service in this process, by its credentials. */
const memories = new WeakMap<Deps['credentials'], Memory>()

function memoryOf({ credentials }: Deps): Memory {
  const memory = memories.get(credentials) ?? { limit: pLimit(mostFetches), errors: new Map(), fetching: new Map() }
  memories.set(credentials, memory)
  return memory
}

/**
 * Returns what the program at the URL says about itself. The document is judged at each use, by what the operator
 * allows now.
 *
 * @param countFetch counts a fetch, and refuses too many
 * @throws UnknownProgramError; errors of `countFetch`
 */
export async function readMetadata(deps: Deps, url: string, countFetch: () => Promise<void>): Promise<Metadata> {
  const { oauthRedirects = defaultRedirects } = deps.config
  return judgeDocument(url, (await currentDocument(deps, url, countFetch)).document, oauthRedirects)
}

async function currentDocument(deps: Deps, url: string, countFetch: () => Promise<void>): Promise<OauthClient> {
  const now = deps.now().getTime()
  const cached = await findOauthClient(deps.credentials.read, url)
  if (cached !== undefined && now < Date.parse(cached.fresh_until)) return cached
  try {
    return await fetchOnce(deps, url, countFetch)
  } catch (error) {
    const serves = cached !== undefined && now < Date.parse(cached.fresh_until) + staleMs
    if (serves && error instanceof AwayError) return cached
    throw error
  }
}

/** Fetches a document, unless it is being fetched, or was refused within a minute. */
async function fetchOnce(deps: Deps, url: string, countFetch: () => Promise<void>): Promise<OauthClient> {
  const { limit, errors, fetching } = memoryOf(deps)
  const known = errors.get(url)
  if (known !== undefined && deps.now().getTime() < known.until) throw known.error
  errors.delete(url)
  await countFetch()
  const running = fetching.get(url) ?? limit(() => fetchDocument(deps, url)).finally(() => fetching.delete(url))
  fetching.set(url, running)
  try {
    return await running
  } catch (error) {
    if (error instanceof UnknownProgramError) {
      errors.set(url, { error, until: deps.now().getTime() + errorMs })
      for (const oldest of errors.keys()) if (errors.size > mostErrors) errors.delete(oldest)
    }
    throw error
  }
}

/** Fetches a document, and stores it if it is valid. @throws UnknownProgramError */
async function fetchDocument(deps: Deps, url: string): Promise<OauthClient> {
  const { config, listening, credentials } = deps
  const answer = await answerOf(deps, url, {
    allow: newAllowList(config.fetchAllow ?? []),
    own: ownAddresses(config, listening.port),
  })
  const document = textOf(answer)
  judgeDocument(url, document, config.oauthRedirects ?? defaultRedirects)
  const now = deps.now()
  const client = {
    id: url,
    document,
    fetched_at: now.toISOString(),
    fresh_until: new Date(now.getTime() + freshMsOf(answer)).toISOString(),
  }
  await credentials.write((trx) => putOauthClient(trx, client))
  return client
}

async function answerOf(
  { fetchDocument: fetch = guardedFetch }: Deps,
  url: string,
  rules: Parameters<typeof guardedFetch>[1],
): Promise<FetchAnswer> {
  const limits = { totalMs: fetchMs, keptBytes: documentBytes, readBytes: documentBytes, excess: 'refuse' } as const
  try {
    return await fetch({ url, method: 'GET', headers: { accept: 'application/json' }, limits }, rules)
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    const message = `The document of the program cannot be read: ${error.message.replace(/\.$/, '')}`
    const isFinal = error.code === 'refused_address' || error.code === 'too_large'
    throw isFinal ? new UnknownProgramError(message) : new AwayError(message)
  }
}

/** @throws UnknownProgramError */
function textOf({ status, headers, body }: FetchAnswer): string {
  const said = `The host of the program answered ${status}, not 200 with its document`
  if (status === 429 || status >= 500) throw new AwayError(said)
  if (status !== 200) throw new UnknownProgramError(said)
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type))
    throw new UnknownProgramError('The document of the program is not sent as application/json')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    if (error instanceof TypeError) throw new UnknownProgramError('The document of the program is not UTF-8')
    throw error
  }
}

function freshMsOf({ headers }: FetchAnswer): number {
  const control = headers['cache-control'] ?? ''
  const seconds = /\bno-(?:store|cache)\b/i.test(control) ? 0 : Number(/\bmax-age=(\d{1,9})\b/i.exec(control)?.[1] ?? 0)
  return Math.min(Math.max(seconds * 1_000, leastFreshMs), mostFreshMs)
}

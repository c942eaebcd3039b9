/**
 * Reads metadata documents of programs from their hosts, and caches them.
 *
 * All processes and cells share the documents. Each process remembers errors, and which fetches are under way.
 */

import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import type { OauthClient } from '../../../index/credentials/schema.ts'
import { defaultRedirects } from '../../base/redirects.ts'
import type { FetchAnswer } from '../../domain/net/guarded-fetch.ts'
import type { Services } from '../../domain/services.ts'
import { judgeDocument, type Metadata } from './documents.ts'
import { UnknownProgramError } from './errors.ts'
import { AwayError, fetchOfProgram } from './program-fetch.ts'
import { findOauthClient, putOauthClient } from './rows/connections.ts'

/** Bytes of a document. */
const documentBytes = 8_192
/** The least and the most milliseconds that a document is fresh. */
const [leastFreshMs, mostFreshMs] = [5 * 60_000, 24 * 3_600_000]
/** Milliseconds after its freshness in which a document serves while its host is away. */
export const staleMs = 7 * 24 * 3_600_000
/** Milliseconds that an error is remembered. */
const errorMs = 60_000

interface Memory {
  readonly errors: Cache<{ readonly error: UnknownProgramError; readonly until: number }>
  readonly fetching: Map<string, Promise<OauthClient>>
}

/** The memory of each service in this process, by its credentials. */
const memories = new WeakMap<Services['credentials'], Memory>()

function memoryOf({ credentials }: Services): Memory {
  const memory = memories.get(credentials) ?? { errors: createCache('program_errors'), fetching: new Map() }
  memories.set(credentials, memory)
  return memory
}

/**
 * Returns what the program at the URL says about itself. The document is judged at each use, by what the operator
 * allows now.
 *
 * @param countFetch counts a fetch, and refuses too many
 * @param maxAgeMs milliseconds after which a document is fetched again although it is fresh
 * @throws UnknownProgramError; errors of `countFetch`
 */
export async function readMetadata(
  deps: Services,
  url: string,
  countFetch: () => Promise<void>,
  maxAgeMs = mostFreshMs,
): Promise<Metadata> {
  const { oauthRedirects = defaultRedirects } = deps.config
  return judgeDocument(url, (await currentDocument(deps, url, countFetch, maxAgeMs)).document, oauthRedirects)
}

async function currentDocument(
  deps: Services,
  url: string,
  countFetch: () => Promise<void>,
  maxAgeMs: number,
): Promise<OauthClient> {
  const now = deps.now().getTime()
  const cached = await findOauthClient(deps.credentials.read, url)
  const isFresh = (one: OauthClient) => now < Date.parse(one.fresh_until) && now < Date.parse(one.fetched_at) + maxAgeMs
  if (cached !== undefined && isFresh(cached)) return cached
  try {
    return await fetchOnce(deps, url, countFetch)
  } catch (error) {
    const serves = cached !== undefined && now < Date.parse(cached.fresh_until) + staleMs
    if (serves && error instanceof AwayError) return cached
    throw error
  }
}

/** Fetches a document, unless it is being fetched, or was refused within a minute. */
async function fetchOnce(deps: Services, url: string, countFetch: () => Promise<void>): Promise<OauthClient> {
  const { errors, fetching } = memoryOf(deps)
  const known = errors.get(url)
  if (known !== undefined && deps.now().getTime() < known.until) throw known.error
  errors.delete(url)
  await countFetch()
  const running = fetching.get(url) ?? fetchDocument(deps, url).finally(() => fetching.delete(url))
  fetching.set(url, running)
  try {
    return await running
  } catch (error) {
    if (error instanceof UnknownProgramError) errors.set(url, { error, until: deps.now().getTime() + errorMs })
    throw error
  }
}

/** Fetches a document, and stores it if it is valid. @throws UnknownProgramError */
async function fetchDocument(deps: Services, url: string): Promise<OauthClient> {
  const { config, credentials } = deps
  const { text: document, answer } = await fetchOfProgram(deps, url, { noun: 'document', bytes: documentBytes })
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

function freshMsOf({ headers }: FetchAnswer): number {
  const control = headers['cache-control'] ?? ''
  const seconds = /\bno-(?:store|cache)\b/i.test(control) ? 0 : Number(/\bmax-age=(\d{1,9})\b/i.exec(control)?.[1] ?? 0)
  return Math.min(Math.max(seconds * 1_000, leastFreshMs), mostFreshMs)
}

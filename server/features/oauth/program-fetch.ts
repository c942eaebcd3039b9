/** Fetches JSON that programs publish, such as their documents and keys. Hosts may be wrong, away or hostile. */

import pLimit, { type LimitFunction } from 'p-limit'
import { newAllowList } from '../../base/allow-list.ts'
import { FetchError } from '../../domain/net/fetch-error.ts'
import { type FetchAnswer, guardedFetch } from '../../domain/net/guarded-fetch.ts'
import { ownAddresses } from '../../domain/net/own-addresses.ts'
import type { Services } from '../../domain/services.ts'
import { UnknownProgramError } from './errors.ts'

/** Milliseconds for a fetch. */
const fetchMs = 5_000
/** Fetches of a service in this process at the same time. */
const mostFetches = 4

/** A fetch failed, and the host may answer later. */
export class AwayError extends UnknownProgramError {}

/** The name of a resource in messages, and its most bytes. */
interface Fetched {
  readonly noun: 'document' | 'key set'
  readonly bytes: number
}

const limiters = new WeakMap<Services['credentials'], LimitFunction>()

function limiterOf({ credentials }: Services): LimitFunction {
  const limiter = limiters.get(credentials) ?? pLimit(mostFetches)
  limiters.set(credentials, limiter)
  return limiter
}

/** Fetches a text that is sent as JSON. @throws UnknownProgramError; AwayError if the host may answer later */
export async function fetchOfProgram(
  deps: Services,
  url: string,
  what: Fetched,
): Promise<{ readonly text: string; readonly answer: FetchAnswer }> {
  const answer = await limiterOf(deps)(() => answerOf(deps, url, what))
  return { text: textOf(answer, what), answer }
}

async function answerOf(
  { config, listening, fetchDocument: fetch = guardedFetch }: Services,
  url: string,
  { noun, bytes }: Fetched,
): Promise<FetchAnswer> {
  const limits = { totalMs: fetchMs, keptBytes: bytes, readBytes: bytes, excess: 'refuse' } as const
  const rules = { allow: newAllowList(config.fetchAllow ?? []), own: ownAddresses(config, listening.port) }
  try {
    return await fetch({ url, method: 'GET', headers: { accept: 'application/json' }, limits }, rules)
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    const message = `The ${noun} of the program cannot be read: ${error.message.replace(/\.$/, '')}`
    const isFinal = error.code === 'refused_address' || error.code === 'too_large'
    throw isFinal ? new UnknownProgramError(message) : new AwayError(message)
  }
}

/** @throws UnknownProgramError */
function textOf({ status, headers, body }: FetchAnswer, { noun }: Fetched): string {
  const said = `The host of the program answered ${status}, not 200 with its ${noun}`
  if (status === 429 || status >= 500) throw new AwayError(said)
  if (status !== 200) throw new UnknownProgramError(said)
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type))
    throw new UnknownProgramError(`The ${noun} of the program is not sent as application/json`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    if (error instanceof TypeError) throw new UnknownProgramError(`The ${noun} of the program is not UTF-8`)
    throw error
  }
}

/**
 * Sends one request to a URL that a user gave, and only to the Internet.
 *
 * The URL is judged. Its name is resolved once, and every IP address is judged. The connection is made to one of these
 * IP addresses, not to the name, which could change in between. Redirects are not followed, and no proxy is used.
 */

import type { Exchanged, Limits } from './answer-reader.ts'
import { type Deadlines, startDeadlines, type TimeLimits } from './deadlines.ts'
import { exchange } from './exchange.ts'
import { FetchError } from './fetch-error.ts'
import { judgedAddress, type Resolve } from './host-addresses.ts'
import { judgeUrl, type TargetRules } from './target-url.ts'

export interface FetchRules extends TargetRules {
  /** The default resolves names as the machine does. */
  readonly resolve?: Resolve
  /** Certificates, in PEM, to trust instead of those that Node trusts. For tests. */
  readonly ca?: string
}

export interface FetchRequest {
  readonly url: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly limits: Limits & Omit<TimeLimits, 'signal'>
  readonly signal?: AbortSignal
  /** True if a later request to the same host may use the connection. */
  readonly keeps?: boolean
}

export interface FetchAnswer extends Exchanged {
  /** The IP address that answered. For the log: users must not learn which names have which private IP addresses. */
  readonly address: string
  /** Milliseconds from the call to the end of the answer. */
  readonly ms: number
}

export type GuardedFetch = (request: FetchRequest, rules: FetchRules) => Promise<FetchAnswer>

/** Any status is an answer, also a redirect or an error. @throws FetchError */
export async function guardedFetch(request: FetchRequest, rules: FetchRules): Promise<FetchAnswer> {
  const startedAt = performance.now()
  const { address, ...exchanged } = await judged(request, rules, async (url, address, deadlines) => {
    deadlines.enter('connecting')
    return { ...(await exchange({ ...request, ...rules, url, address }, deadlines)), address }
  })
  return { ...exchanged, address, ms: Math.round(performance.now() - startedAt) }
}

/**
 * Judges a URL as a fetch would, and sends nothing. It is for forms in which a user enters it. Every fetch judges
 * again.
 *
 * @throws FetchError `refused_address`, `dns` or `aborted`
 */
export async function checkTarget(
  { url, ...limits }: { readonly url: string; readonly totalMs: number; readonly signal?: AbortSignal },
  rules: FetchRules,
): Promise<void> {
  await judged({ url, limits, ...limits }, rules, async () => {})
}

/** Calls `use` with the judged URL and IP address, within the time limits. */
async function judged<T>(
  { url: text, limits, signal }: Pick<FetchRequest, 'url' | 'signal'> & { readonly limits: TimeLimits },
  rules: FetchRules,
  use: (url: URL, address: string, deadlines: Deadlines) => Promise<T>,
): Promise<T> {
  const { url, problem } = judgeUrl(text, rules)
  if (problem !== undefined) throw new FetchError('refused_address', problem)
  const deadlines = startDeadlines(url.hostname, { ...limits, ...(signal === undefined ? {} : { signal }) })
  try {
    return await use(url, await judgedAddress(url, rules, deadlines.signal), deadlines)
  } finally {
    deadlines.end()
  }
}

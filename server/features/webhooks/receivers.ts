/** The receivers of webhooks: whether their URLs may be used, and one request to them. */
import type { Webhook } from '../../../index/credentials/schema.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { newAllowList } from '../../base/allow-list.ts'
import { invalid } from '../../base/errors.ts'
import { FetchError } from '../../domain/net/fetch-error.ts'
import { checkTarget, type FetchAnswer, type FetchRules, guardedFetch } from '../../domain/net/guarded-fetch.ts'
import { ownAddresses } from '../../domain/net/own-addresses.ts'
import { parseRetryAfter } from '../../domain/net/retry-after.ts'
import type { Services } from '../../domain/services.ts'
import { longestWaitMs } from './retry-times.ts'
import { signatureOf } from './secrets.ts'

/** Milliseconds for a whole attempt, and for the connection. */
const [attemptMs, connectMs] = [15_000, 5_000]
/** Bytes of an answer: read, and kept. */
const [readBytes, keptBytes] = [65_536, 1_024]

export interface Message {
  /** The id of the event, which is the same in each attempt. */
  readonly id: string
  readonly body: string
}

/** The outcome of one request. */
export interface Attempt {
  /** True if the receiver has the message: it answered 2xx. */
  readonly isDelivered: boolean
  /** True if the service stops. The receiver may have the message. */
  readonly isAborted: boolean
  readonly status: number | null
  readonly ms: number
  /** A sentence for owners. Null: delivered. */
  readonly error: string | null
  /** The beginning of the answer. */
  readonly response: string | null
  /** Milliseconds for which the receiver asks to wait. */
  readonly retryAfterMs: number
}

type ReceiverDeps = Pick<Services, 'config' | 'listening'>

/** The rules for URLs of webhooks. */
function rulesOf({ config, listening }: ReceiverDeps): FetchRules {
  const { fetchAllow = [], webhookHttp = false } = config
  return { allow: newAllowList(fetchAllow), own: ownAddresses(config, listening.port), isHttpAllowed: webhookHttp }
}

/** @throws ValidationError at `url`, which says why the URL cannot be used */
export async function requireReceiver(deps: ReceiverDeps, url: string): Promise<void> {
  try {
    await checkTarget({ url, totalMs: connectMs }, rulesOf(deps))
  } catch (error) {
    if (error instanceof FetchError) throw invalid(['body', 'url'], error.message, url)
    throw error
  }
}

/** Returns the headers of a message, except its signature. */
export function headersOf({ content_type }: Pick<Webhook, 'content_type'>, id: string, timestamp: number) {
  return {
    'content-type': content_type,
    'user-agent': `Grove-Webhook/${manifest.version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
  }
}

/** Sends a message once. Never throws because of the receiver. */
export async function sendMessage(
  deps: ReceiverDeps & Pick<Services, 'now'>,
  {
    hook,
    secrets,
    message,
  }: { readonly hook: Webhook; readonly secrets: readonly string[]; readonly message: Message },
  signal: AbortSignal,
): Promise<Attempt> {
  const { id, body } = message
  const now = deps.now()
  const timestamp = Math.floor(now.getTime() / 1_000)
  const headers = { ...headersOf(hook, id, timestamp), 'webhook-signature': signatureOf(secrets, id, timestamp, body) }
  const limits = { totalMs: attemptMs, connectMs, keptBytes, readBytes, excess: 'cut' as const }
  const startedAt = performance.now()
  const request = { url: hook.url, method: 'POST', headers, body, limits, signal, keeps: true }
  try {
    const answer = await guardedFetch(request, rulesOf(deps))
    return attemptOf(answer, now)
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    const { code, message: sentence, status = null } = error
    return {
      ...{ isDelivered: false, isAborted: code === 'aborted', status, ms: Math.round(performance.now() - startedAt) },
      ...{ error: sentence, response: null, retryAfterMs: 0 },
    }
  }
}

function attemptOf({ status, headers, body, ms }: FetchAnswer, now: Date): Attempt {
  const isDelivered = status >= 200 && status < 300
  return {
    ...{ isDelivered, isAborted: false, status, ms, error: isDelivered ? null : refusalOf(status) },
    response: body.toString('utf8'),
    retryAfterMs: isDelivered ? 0 : parseRetryAfter(headers['retry-after'], now, longestWaitMs),
  }
}

function refusalOf(status: number): string {
  if (status === 410) return 'The receiver answered 410, so it wants no more events.'
  if (status >= 300 && status < 400)
    return `The receiver answered ${status}, a redirect, which is not followed. Change the URL of the webhook.`
  return `The receiver answered ${status}. Only 2xx counts as received.`
}

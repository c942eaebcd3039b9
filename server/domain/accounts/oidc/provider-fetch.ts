/**
 * Requests to providers. The operator chose their hosts, so these may be in a private network.
 *
 * A provider that is slow, sends too much or redirects must not hold up this service.
 */

/** A provider does not answer as it must. */
class ProviderAwayError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderAwayError'
  }
}

/** Milliseconds for one request and its answer. */
const longestMs = 5_000

/** The parts of a request that the libraries set. */
interface FetchOptions {
  readonly method?: string
  readonly headers?: RequestInit['headers'] | undefined
  readonly body?: unknown
}

/** Bytes of one answer. Discovery documents and keys have some kilobytes. */
const mostBytes = 1_048_576

/**
 * Returns a fetch for the provider of this issuer. It follows no redirect. http is only for the host of an issuer with
 * http, which is this machine.
 */
export function providerFetch(issuer: string): (url: string, options?: FetchOptions) => Promise<Response> {
  const own = new URL(issuer)
  return async (text, options = {}) => {
    const url = new URL(text)
    const isAllowed = url.protocol === 'https:' || (own.protocol === 'http:' && url.host === own.host)
    if (!isAllowed) throw new ProviderAwayError(`${url.origin} is not https`)
    try {
      const signal = AbortSignal.timeout(longestMs)
      const { method = 'GET', headers: sent = {}, body: form } = options
      const request = { method, headers: sent, ...(form == null ? {} : { body: String(form) }) } // fields of a form
      const response = await fetch(url, { ...request, redirect: 'manual', signal })
      if (response.status >= 500) throw new ProviderAwayError(`${url.origin} answered ${response.status}`)
      const { status, headers } = response
      const body = await bodyOf(response)
      return new Response(isWithoutBody(status) ? null : body, { status, headers })
    } catch (error) {
      if (error instanceof ProviderAwayError) throw error
      throw new ProviderAwayError(`${url.origin} did not answer`, { cause: error })
    }
  }
}

function isWithoutBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

async function bodyOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > mostBytes) throw new ProviderAwayError('The answer is longer than 1 MiB')
    parts.push(part)
  }
  return Uint8Array.from(Buffer.concat(parts))
}

/** True if the error, or one of its causes, is a `ProviderAwayError`. */
export function isAwayError(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof ProviderAwayError) return true
  return false
}

/** The service's own base URL, for links in responses. */

import type { Request, Response } from 'express'
import type { ErrorCode } from '../../base/errors.ts'
import { trustIn } from './addresses.ts'

const label = '[\\da-z_](?:[\\w-]{0,61}[\\da-z_])?'
const host = new RegExp(`^(?=[^:]{1,253}(?::|$))${label}(?:\\.${label})*\\.?(?::\\d{1,5})?$`, 'i')
const bracketed = /^\[[\da-f:.]{2,45}\](?::\d{1,5})?$/i

/** True for a host name or IP address with an optional port, and nothing else. */
function isHost(text: string): boolean {
  return host.test(text) || bracketed.test(text)
}

/** The base URLs of requests that another cell has forwarded. */
const known = new WeakMap<Request, string>()

export function setBaseUrl(req: Request, base: string): void {
  known.set(req, base)
}

/**
 * The base URL under which the caller reaches the service, without a trailing slash. It is `publicUrl`, else the one of
 * the request, as reported by trusted proxies (TRUST_PROXY). A response to a forged Host contains that host. Only that
 * caller gets it, because shared caches may not store it.
 */
export function baseUrl(publicUrl: string | undefined, req: Request): string {
  const stated = publicUrl ?? known.get(req)
  if (stated !== undefined) return stated
  const protocol = forwarded(req, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http'
  const asked = forwarded(req, 'x-forwarded-host') ?? req.headers.host ?? ''
  if (isHost(asked)) return `${protocol}://${asked}`
  const { localAddress = '', localPort } = req.socket
  return `${protocol}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** The path of `publicUrl`, below which a proxy serves this service. Empty if there is no such path. */
export function publicPathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/** A path of this service, `/orgs/…`, as clients reach it. */
export function publicPath(res: Response, path: string): string {
  return `${res.app.get('public path')}${path}`
}

/** The path of the error code page. */
const errorDocsPath = '/docs/errors'

/** The entry of a code on the error code page. @param publicPath of the service, empty if it has none */
export function errorLink(publicPath: string, code: ErrorCode): string {
  return `${publicPath}${errorDocsPath}#${code}`
}

/**
 * The value that the outermost trusted proxy has set. Each proxy appends on the right, so values further left are
 * untrusted.
 */
function forwarded(req: Request, name: string): string | undefined {
  const sent = req.get(name)
  if (sent === undefined || !trustIn(req.app)(req.socket.remoteAddress ?? '')) return undefined
  const values = sent.split(',').map((value) => value.trim())
  return values[Math.max(0, values.length - Math.max(1, req.ips.length))]
}

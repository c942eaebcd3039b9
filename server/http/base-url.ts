/** The address of this service, for addresses that leave it. */

import type { Request, Response } from 'express'

const label = '[\\da-z_](?:[\\w-]{0,61}[\\da-z_])?'
const host = new RegExp(`^(?=[^:]{1,253}(?::|$))${label}(?:\\.${label})*\\.?(?::\\d{1,5})?$`, 'i')
const bracketed = /^\[[\da-f:.]{2,45}\](?::\d{1,5})?$/i

/** A name or an address, with or without a port: nothing that would mean something else in an address. */
function isHost(text: string): boolean {
  return host.test(text) || bracketed.test(text)
}

/**
 * Where the caller reaches this service, without a slash at its end: `publicUrl`, else what the request came in at, as the
 * proxies tell it that TRUST_PROXY names. What is asked with another Host is told that one: its answer is for nobody else,
 * and no shared cache may keep it.
 */
export function baseUrl(publicUrl: string | undefined, req: Request): string {
  if (publicUrl !== undefined) return publicUrl
  const protocol = forwarded(req, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http'
  const asked = forwarded(req, 'x-forwarded-host') ?? req.headers.host ?? ''
  if (isHost(asked)) return `${protocol}://${asked}`
  const { localAddress = '', localPort } = req.socket
  return `${protocol}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** The path of `publicUrl`, below which a proxy serves this service; empty where there is none. */
export function publicPathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/** A path of this service, `/orgs/…`, as its clients reach it. */
export function publicPath(res: Response, path: string): string {
  return `${res.app.get('public path')}${path}`
}

/**
 * What the outermost trusted proxy has said. Each adds to the right, so what stands further left than there are such
 * proxies may come from anybody.
 */
function forwarded(req: Request, name: string): string | undefined {
  const sent = req.get(name)
  const isTrusted: (address: string, distance: number) => boolean = req.app.get('trust proxy fn')
  if (sent === undefined || !isTrusted(req.socket.remoteAddress ?? '', 0)) return undefined
  const values = sent.split(',').map((value) => value.trim())
  return values[Math.max(0, values.length - Math.max(1, req.ips.length))]
}

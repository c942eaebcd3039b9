/** The address of this service, for addresses that leave it. */

import type { IncomingMessage } from 'node:http'

/** What may stand in an address: whoever sends another Host gets the address of the socket. */
const host = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i

/** Where the caller reaches this service, without a slash at its end: `publicUrl`, else what the request came in at. */
export function baseUrl(publicUrl: string | undefined, req: IncomingMessage): string {
  if (publicUrl !== undefined) return publicUrl
  const asked = req.headers.host ?? ''
  if (host.test(asked)) return `http://${asked}`
  const { localAddress = '', localPort } = req.socket
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** The caller's address, for rate limits and for the addresses known to an account. */

import { isIPv6 } from 'node:net'
import type { Application, Request } from 'express'

/** The caller's address as reported by trusted proxies; for IPv6 the /64, the usual size of one customer. */
export function networkOf({ ip = '' }: Request): string {
  return networkOfAddress(ip)
}

/**
 * Tells whether `TRUST_PROXY` names an address. Express keeps its function under a setting that it does not document.
 *
 * @throws Error if Express has no such setting: a service does not start then
 */
export function trustIn(app: Application): (address: string) => boolean {
  const isProxy: unknown = app.get('trust proxy fn')
  if (typeof isProxy !== 'function') throw new Error('Express should have the setting "trust proxy fn"')
  return (address) => isProxy(address, 0)
}

/** An IPv4 address as it is, of IPv6 the /64. */
export function networkOfAddress(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped !== undefined) return mapped
  return isIPv6(ip) ? `${firstGroups(ip)}::/64` : ip
}

function firstGroups(address: string): string {
  const [before = '', after] = (address.split('%', 1)[0] ?? '').split('::')
  const left = before === '' ? [] : before.split(':')
  const right = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4)
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}

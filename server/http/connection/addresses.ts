/** The caller's IP address and network, for rate limits and for the security of accounts. */

import { isIPv6 } from 'node:net'
import type { Application, Request } from 'express'

/** The caller's network as reported by trusted proxies. For IPv6 it is the /64, the usual size of one customer. */
export function networkOf({ ip = '' }: Request): string {
  return networkOfAddress(ip)
}

/**
 * Returns a function that is true if `TRUST_PROXY` names an IP address. Express has it in an undocumented setting.
 *
 * @throws Error Express has no such setting; the service then does not start
 */
export function trustIn(app: Application): (address: string) => boolean {
  const isProxy: unknown = app.get('trust proxy fn')
  if (typeof isProxy !== 'function') throw new Error('Express should have the setting "trust proxy fn"')
  return (address) => isProxy(address, 0)
}

/** The network of an IP address: IPv4 as it is, IPv6 as the /64. */
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

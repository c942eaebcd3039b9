/** The addresses of this service. It never fetches from itself, even if the allow list opens them. */

import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainName } from '../../base/allow-list.ts'
import { canonicalAddress } from '../../base/public-addresses.ts'

export interface OwnAddresses {
  /** Ports on which the service listens. On these, each IP address of this machine is its own. */
  readonly ports: readonly number[]
  /** URLs at which it is reached, such as `PUBLIC_URL`. Only their host and port count. */
  readonly urls: readonly string[]
}

/** The addresses of a service with this configuration that listens on the port. */
export function ownAddresses(
  { publicUrl, cell }: { readonly publicUrl?: string; readonly cell?: { readonly url: string } },
  port: number,
): OwnAddresses {
  return { ports: [port], urls: [publicUrl, cell?.url].filter((url) => url !== undefined) }
}

export interface Endpoint {
  /** The host name of the URL, or its IP address without brackets. */
  readonly host: string
  readonly port: number
  /** The IP address of the host, once it is known. */
  readonly address?: string
}

/** Loopback, and the IP addresses that mean "this machine" when they are connected to. */
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addSubnet('0.0.0.0', 8, 'ipv4')
loopback.addSubnet('::', 127, 'ipv6')

/** True if the endpoint is this service. */
export function isOwn({ host, port, address = host }: Endpoint, { ports, urls }: OwnAddresses): boolean {
  const name = plainName(host)
  const place = canonicalAddress(address)
  const isUrl = urls.map(endpointOf).some((own) => {
    if (own.port !== port) return false
    return plainName(own.host) === name || (place !== undefined && canonicalAddress(own.host) === place)
  })
  return isUrl || (ports.includes(port) && place !== undefined && isOfThisMachine(place))
}

/** Returns the host and the port of a URL. The port can be that of the scheme. */
export function endpointOf(text: string): Endpoint {
  const { protocol, hostname, port } = new URL(text)
  const standard = protocol === 'https:' ? 443 : 80
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? standard : Number(port) }
}

/** @param address as `canonicalAddress` returns it */
function isOfThisMachine(address: string): boolean {
  if (loopback.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')) return true
  const all = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? [])
  return all.some((one) => canonicalAddress(one.address) === address)
}

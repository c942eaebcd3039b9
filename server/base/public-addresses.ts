/**
 * Decides whether an IP address is public, so that Grove may send it requests.
 *
 * An IP address counts as public if it is in none of the IANA special-purpose registries, and not multicast. Forms of
 * IPv6 that carry an IPv4 address are never public, because they would be a second name for a private one.
 */

import { BlockList, isIP, SocketAddress } from 'node:net'

/** IPv4: https://www.iana.org/assignments/iana-ipv4-special-registry. Also multicast, and what is reserved above it. */
const specialIpv4 = listOf('ipv4', [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by the customers of a provider
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, with the metadata of clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
])

/** The part of IPv6 that is routed globally. The rest is loopback, local, multicast, mapped, translated or unused. */
const globalIpv6 = listOf('ipv6', [['2000::', 3]])

/** Exceptions in it: https://www.iana.org/assignments/iana-ipv6-special-registry. */
const specialIpv6 = listOf('ipv6', [
  ['2001::', 23], // protocol assignments, such as Teredo and ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which carries an IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3ffe::', 16], // the former 6bone
  ['3fff::', 20], // documentation
])

function listOf(family: 'ipv4' | 'ipv6', networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, family)
  return list
}

/** True for a public IP address. False for text of any other kind, and for an IP address with a zone. */
export function isPublic(text: string): boolean {
  if (isIP(text) === 4) return !specialIpv4.check(text, 'ipv4')
  if (isIP(text) !== 6 || text.includes('%')) return false
  return globalIpv6.check(text, 'ipv6') && !specialIpv6.check(text, 'ipv6')
}

/**
 * Returns the one spelling of an IP address. An IPv4 address that is mapped into IPv6 becomes plain IPv4. Undefined for
 * other text, and for an IP address with a zone.
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text
  if (isIP(text) !== 6 || text.includes('%')) return undefined
  const { address } = new SocketAddress({ address: text, family: 'ipv6' })
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1] ?? address
}

/** Networks and host names that `FETCH_ALLOW` opens, although they are not public. */

import { BlockList, isIP } from 'node:net'
import { canonicalAddress } from './public-addresses.ts'

export interface AllowList {
  /** True if a network of the list contains the IP address. */
  opensAddress(address: string): boolean
  /** True if the list has the host name. It then opens all IP addresses of that name. */
  opensName(name: string): boolean
}

export interface Network {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** Words for networks in `TRUST_PROXY`. Here they would be host names, which nobody means. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

/** @throws Error an entry is neither an IP address, a network nor a host name */
export function newAllowList(entries: readonly string[]): AllowList {
  const networks = new BlockList()
  const names = new Set<string>()
  for (const entry of entries) {
    const parsed = parseEntry(entry)
    if (parsed === undefined) throw new Error(`FETCH_ALLOW has an entry that is not a network or a host name: ${entry}`)
    if (typeof parsed === 'string') names.add(parsed)
    else networks.addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  return {
    opensName: (name) => names.has(plainName(name)),
    opensAddress: (text) => {
      const address = canonicalAddress(text)
      return address !== undefined && networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
    },
  }
}

/** True if the text may be in `FETCH_ALLOW`. */
export function isAllowEntry(text: string): boolean {
  return parseEntry(text) !== undefined
}

/** Refuses networks of IPv4 addresses mapped into IPv6. These are judged as plain IPv4. */
function parseEntry(text: string): Network | string | undefined {
  const network = parseNetwork(text)
  if (network === undefined) return parseName(text)
  return network.family === 'ipv6' && isIP(canonicalAddress(network.address) ?? '') === 4 ? undefined : network
}

/** Parses an IP address or a network such as `10.0.0.0/8`. Undefined for other text, and for a prefix of 0. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more !== undefined) return undefined
  const bits = family === 6 ? 128 : 32
  if (prefix !== undefined && !(/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)) return undefined
  return { address, prefix: Number(prefix ?? bits), family: family === 6 ? 'ipv6' : 'ipv4' }
}

/** Returns the host name as it is in the URL. Undefined for a URL, a port, a pattern or an IP address. */
function parseName(text: string): string | undefined {
  if (/[\s/?#@:\\]/.test(text) || namedNetworks.includes(text) || !URL.canParse(`http://${text}/`)) return undefined
  const name = plainName(new URL(`http://${text}/`).hostname)
  return isIP(name) === 0 && /^([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/.test(name) ? name : undefined
}

/** The name in lower case, without the dot that may end it. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

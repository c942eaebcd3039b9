/** Resolves the host of a URL once, and judges every IP address that it has. */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { canonicalAddress, isPublic } from '../../base/public-addresses.ts'
import { untilAborted } from './deadlines.ts'
import { FetchError } from './fetch-error.ts'
import { endpointOf, isOwn } from './own-addresses.ts'
import { ownProblem, privateProblem, type TargetRules } from './target-url.ts'

/** Returns all IP addresses of a host name, the preferred one first. */
export type Resolve = (name: string) => Promise<readonly { readonly address: string }[]>

/** Resolves names as the machine does, by its hosts file and its name servers. */
const resolveAsMachine: Resolve = (name) => lookup(name, { all: true })

/**
 * Returns the IP address to connect to. One that is not public refuses the whole name, because the next attempt could
 * use it.
 *
 * @throws FetchError `dns`, `refused_address`, or the reason of the signal
 */
export async function judgedAddress(
  url: URL,
  rules: TargetRules & { readonly resolve?: Resolve },
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted()
  const { host, port } = endpointOf(url.href)
  const addresses = isIP(host) === 0 ? await addressesOf(host, rules.resolve ?? resolveAsMachine, signal) : [host]
  const isOpen = (address: string) =>
    (rules.isLoopbackOnly !== true && isPublic(address)) ||
    rules.allow.opensAddress(address) ||
    (canonicalAddress(address) !== undefined && rules.allow.opensName(host))
  for (const address of addresses) {
    if (isOwn({ host, port, address }, rules.own)) throw new FetchError('refused_address', ownProblem)
    if (!isOpen(address))
      throw new FetchError(
        'refused_address',
        rules.isLoopbackOnly ? strayProblem(host) : privateProblem(host, rules.advice),
      )
  }
  const [first] = addresses
  if (first === undefined) throw unknownName(host)
  return first
}

async function addressesOf(name: string, resolve: Resolve, signal: AbortSignal): Promise<string[]> {
  const looking = (async () => (await resolve(name)).map(({ address }) => address))()
  return untilAborted(
    looking.catch((error: unknown) => {
      throw unknownName(name, error)
    }),
    signal,
  )
}

function strayProblem(host: string): string {
  return `${host} has an IP address that is not loopback. Use 127.0.0.1 or [::1], or correct the name.`
}

function unknownName(name: string, cause?: unknown): FetchError {
  return new FetchError('dns', `The name ${name} has no IP address that can be found. Check how it is written.`, {
    cause,
  })
}

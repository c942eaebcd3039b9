/** Rules for the URL of an endpoint, which is judged for each request. */

import { lookup } from 'node:dns/promises'
import { newAllowList } from '../../base/allow-list.ts'
import { isLoopback } from '../../base/is-loopback.ts'
import type { FetchRules } from '../net/guarded-fetch.ts'
import { ownAddresses } from '../net/own-addresses.ts'
import type { Services } from '../services.ts'

export type EndpointSettings = NonNullable<NonNullable<Services['config']['embeddings']>['endpoint']>

/** Returns the rules for the URL of an endpoint. The operator wrote it, so a private IP address in it is meant. */
export function endpointRules(
  { url, allow, isHttpAllowed }: EndpointSettings,
  { config, listening }: Pick<Services, 'config' | 'listening'>,
): FetchRules {
  const own = ownAddresses(config, listening.port)
  if (isNear(url)) {
    const loopback = newAllowList(['127.0.0.0/8', '::1'])
    return { allow: loopback, own, isHttpAllowed: true, isLoopbackOnly: true, resolve: resolveNear }
  }
  return { allow: newAllowList(allow), own, isHttpAllowed, advice: 'open this one with EMBEDDINGS_ALLOW' }
}

/** True for an endpoint on this machine. */
export function isNear(url: string): boolean {
  return isLoopback(new URL(url).hostname)
}

/** IPv4 first: local model servers often listen only there. */
function resolveNear(name: string) {
  return lookup(name, { all: true, verbatim: false })
}

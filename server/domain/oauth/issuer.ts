/** The issuer of connections: the URL of this service. */

import { isLoopback } from '../../base/is-loopback.ts'
import type { Services } from '../services.ts'

/**
 * Returns the issuer. Undefined: connections are off, because the operator says so, or because codes and tokens would
 * cross a network without TLS.
 *
 * @param base the service's base URL as the caller reaches it
 */
export function issuerOf({ config }: Pick<Services, 'config'>, base: string): string | undefined {
  const { oauth = true, publicUrl, host } = config
  if (!oauth) return undefined
  const url = new URL(publicUrl ?? base)
  if (publicUrl !== undefined) return url.protocol === 'https:' || isLoopback(url.hostname) ? publicUrl : undefined
  return isLoopback(host) && isLoopback(url.hostname) ? base : undefined
}

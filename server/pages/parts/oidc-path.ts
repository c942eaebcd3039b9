/** Paths of the pages that lead to other services. */

import type { Urls } from '../urls.ts'

/** @param provider the id of the service */
export function oidcPath(urls: Urls, provider: string, fields: Readonly<Record<string, string>>): string {
  return `${urls.root}/sign-in/oidc/${encodeURIComponent(provider)}?${new URLSearchParams(fields)}`
}

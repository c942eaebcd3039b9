/** Judges a URL from a user or an operator before anything is resolved or sent. */

import { isIP } from 'node:net'
import type { AllowList } from '../../base/allow-list.ts'
import * as limits from '../../base/limits.ts'
import { isPublic } from '../../base/public-addresses.ts'
import { endpointOf, isOwn, type OwnAddresses } from './own-addresses.ts'

export interface TargetRules {
  readonly allow: AllowList
  readonly own: OwnAddresses
  /** True if the URL may begin with `http://`. False: the operator could allow it with WEBHOOK_HTTP. */
  readonly isHttpAllowed?: boolean
  /** True: only loopback may answer, also under a name that resolves to another IP address. */
  readonly isLoopbackOnly?: boolean
  /** How to open a host that is not public, as the end of a sentence. The default is advice for users. */
  readonly advice?: string
}

/** The URL as it is fetched, or a sentence that says why it is not. */
export type JudgedUrl =
  | { readonly url: URL; readonly problem?: never }
  | { readonly url?: never; readonly problem: string }

/** Ports below this are of other services, such as mail, except those of HTTP. */
const firstFreePort = 1_024

/**
 * Judges the URL. The host is judged after `new URL`, which turns `2130706433`, `0x7f.1` and `①②⑦.0.0.1` into
 * 127.0.0.1. An IP address is judged at once, a host name only by the names that are never or always open.
 */
export function judgeUrl(text: string, rules: TargetRules): JudgedUrl {
  const problem = problemOfText(text, rules.isHttpAllowed)
  if (problem !== undefined) return { problem }
  const url = new URL(text)
  const found = problemOfUrl(url, rules)
  return found === undefined ? { url } : { problem: found }
}

function problemOfText(text: string, isHttpAllowed: boolean | undefined): string | undefined {
  if (text.length > limits.webhookUrl) return tooLong
  if (/[\s\p{Cc}]/u.test(text)) return 'The URL has spaces or control characters. Write them as %20 and the like.'
  const schemes = isHttpAllowed ? 'https:// or http://' : 'https://'
  const isWritten = isHttpAllowed ? /^https?:\/\/[^/\\]/i : /^https:\/\/[^/\\]/i
  if (!isWritten.test(text)) {
    const isForOperator = isHttpAllowed === false && /^http:\/\/[^/\\]/i.test(text)
    const advice = isForOperator ? ' Use https, or ask the operator for WEBHOOK_HTTP.' : ''
    return `The URL does not begin with ${schemes} and a host.${advice}`
  }
  if (!URL.canParse(text)) return 'The URL has an invalid host or port.'
  if (text.includes('#')) return 'The URL has a fragment, which is not sent to the host. Remove "#" and what follows.'
  return undefined
}

const tooLong = `The URL has more than ${limits.webhookUrl.toLocaleString('en')} characters. Use a shorter one.`

function problemOfUrl(url: URL, { allow, own, advice }: TargetRules): string | undefined {
  if (url.href.length > limits.webhookUrl) return tooLong
  if (url.username !== '' || url.password !== '') {
    return 'The URL has a user name or a password, which would be visible to all who see the URL. Remove them.'
  }
  const { host, port } = endpointOf(url.href)
  if (port !== 443 && port !== 80 && port < firstFreePort) {
    return `The URL has the port ${port}. Use 443, 80, or one of ${firstFreePort} or more.`
  }
  if (isOwn({ host, port }, own)) return ownProblem
  if (isIP(host) !== 0 && !isPublic(host) && !allow.opensAddress(host)) return privateProblem(host, advice)
  return undefined
}

/** Said of a URL that leads back to the service. */
export const ownProblem = 'The URL is that of this service, which sends no requests to itself. Use another host.'

/** Says that a host is not public. It does not say which IP addresses a name has, because they may be secret. */
export function privateProblem(host: string, advice = 'ask the operator to open this one with FETCH_ALLOW'): string {
  const what = isIP(host) === 0 ? 'has an IP address that is not public' : 'is not a public IP address'
  return `${host} ${what}. Use a public host, or ${advice}.`
}

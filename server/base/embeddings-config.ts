/** The model for searches by meaning: `EMBEDDINGS…`. `config.ts` reads the environment. */

import { isIP } from 'node:net'
import { isAllowEntry } from './allow-list.ts'
import { isLoopback } from './is-loopback.ts'

/** How texts become vectors, and for whom. */
export interface EmbeddingsConfig {
  /** Absent: the model runs in this process. */
  readonly endpoint?: EndpointConfig
  /** Organisations whose texts are embedded. `asked`: those whose owners said yes. `all`: unless they said no. */
  readonly orgs: 'asked' | 'all' | readonly string[]
  /** True if questions of anonymous callers may go to an endpoint on another machine. */
  readonly isPublic: boolean
}

/** An endpoint with the API of OpenAI. */
interface EndpointConfig {
  /** Without a trailing slash; `/embeddings` is appended. */
  readonly url: string
  /** The name that is sent. */
  readonly model: string
  readonly key?: string
  /** Sent, and required of answers. Absent: those of the first answer are required. */
  readonly dimensions?: number
  readonly textPrefix: string
  readonly queryPrefix: string
  /** Codes of languages of questions. Absent: all. */
  readonly languages?: readonly string[]
  /** Requests a minute. */
  readonly rate: number
  /** Tokens a day. Absent: no limit. */
  readonly budget?: number
  /** True if the URL may begin with `http://`. */
  readonly isHttpAllowed: boolean
  /** Networks and host names that may be reached although they are not public. */
  readonly allow: readonly string[]
}

/** The variables after their values were checked one by one. */
export interface EmbeddingsVariables {
  readonly EMBEDDINGS: 'off' | 'local' | 'endpoint'
  readonly EMBEDDINGS_URL?: string | undefined
  readonly EMBEDDINGS_MODEL?: string | undefined
  readonly EMBEDDINGS_KEY?: string | undefined
  readonly EMBEDDINGS_DIMENSIONS?: number | undefined
  readonly EMBEDDINGS_TEXT_PREFIX?: string | undefined
  readonly EMBEDDINGS_QUERY_PREFIX?: string | undefined
  readonly EMBEDDINGS_LANGUAGES?: readonly string[] | undefined
  readonly EMBEDDINGS_ORGS?: readonly string[] | undefined
  readonly EMBEDDINGS_RATE: number
  readonly EMBEDDINGS_BUDGET?: number | undefined
  readonly EMBEDDINGS_HTTP: 'on' | 'off'
  readonly EMBEDDINGS_ALLOW?: readonly string[] | undefined
  readonly EMBEDDINGS_PUBLIC: 'on' | 'off'
}

export interface EmbeddingsProblem {
  readonly variable: string
  readonly message: string
}

/** A request may have about 8,000 tokens. A smaller budget could not pay for one. */
export const leastBudget = 10_000

const prefix = 'EMBEDDINGS_'

/** True for the URL of an API, to which `/embeddings` can be appended. */
export function isEndpointUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, pathname } = new URL(text)
  return (
    /^https?:$/.test(protocol) &&
    hostname !== '' &&
    username === '' &&
    password === '' &&
    !/[?#\s]/.test(text) &&
    !/\/embeddings\/*$/.test(pathname)
  )
}

/** True for `asked`, `all`, or ids of organisations. */
export function areEmbeddingsOrgs(list: readonly string[]): boolean {
  const [first = ''] = list
  if (list.length === 1 && (first === 'asked' || first === 'all')) return true
  return list.every((id) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))
}

/** True for networks and host names. */
export function areAllowEntries(list: readonly string[]): boolean {
  return list.every(isAllowEntry)
}

/** Returns the configuration, or undefined if it is off. The problem is that of the first variable that has one. */
export function embeddingsOf(
  data: EmbeddingsVariables,
  given: Readonly<Record<string, string | undefined>>,
): { readonly embeddings?: EmbeddingsConfig; readonly problem?: EmbeddingsProblem } {
  const problem = problemOf(data, given)
  if (problem !== undefined) return { problem }
  if (data.EMBEDDINGS === 'off') return {}
  const isPublic = data.EMBEDDINGS_PUBLIC === 'on'
  if (data.EMBEDDINGS === 'local') return { embeddings: { orgs: orgsOf(data, 'all'), isPublic } }
  const endpoint = endpointOf(data)
  const isNear = isLoopback(new URL(endpoint.url).hostname)
  return { embeddings: { endpoint, orgs: orgsOf(data, isNear ? 'all' : 'asked'), isPublic } }
}

function problemOf(
  data: EmbeddingsVariables,
  given: Readonly<Record<string, string | undefined>>,
): EmbeddingsProblem | undefined {
  const set = Object.keys(given).filter(
    (name) => name.startsWith(prefix) && !name.endsWith('_FILE') && given[name] !== undefined,
  )
  if (given.EMBEDDINGS === undefined) {
    const message = 'needs EMBEDDINGS, which is local or endpoint; off ignores the rest'
    return set[0] === undefined ? undefined : { variable: set[0], message }
  }
  if (data.EMBEDDINGS === 'off') return undefined
  if (data.EMBEDDINGS === 'local') {
    const stray = set.find((name) => name !== 'EMBEDDINGS_ORGS')
    return stray !== undefined ? { variable: stray, message: 'is only for EMBEDDINGS=endpoint; remove it' } : undefined
  }
  return problemOfEndpoint(data)
}

function problemOfEndpoint({
  EMBEDDINGS_URL: url,
  EMBEDDINGS_MODEL: model,
  EMBEDDINGS_HTTP: http,
}: EmbeddingsVariables): EmbeddingsProblem | undefined {
  const needs = (message: string) => ({ variable: 'EMBEDDINGS', message })
  if (url === undefined) return needs('endpoint needs EMBEDDINGS_URL, such as https://api.example/v1')
  if (model === undefined) return needs('endpoint needs EMBEDDINGS_MODEL, the name that the endpoint knows')
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || http === 'on' || isLoopback(hostname)) return undefined
  const message = 'must be https, or texts and the key travel in the clear; EMBEDDINGS_HTTP=on allows http'
  return { variable: 'EMBEDDINGS_URL', message }
}

function endpointOf(data: EmbeddingsVariables): EndpointConfig {
  const url = (data.EMBEDDINGS_URL ?? '').replace(/\/+$/, '')
  const { hostname } = new URL(url)
  const literal = hostname.replace(/^\[|\]$/g, '')
  return {
    url,
    model: data.EMBEDDINGS_MODEL ?? '',
    ...(data.EMBEDDINGS_KEY !== undefined && { key: data.EMBEDDINGS_KEY }),
    ...(data.EMBEDDINGS_DIMENSIONS !== undefined && { dimensions: data.EMBEDDINGS_DIMENSIONS }),
    textPrefix: data.EMBEDDINGS_TEXT_PREFIX ?? '',
    queryPrefix: data.EMBEDDINGS_QUERY_PREFIX ?? '',
    ...(data.EMBEDDINGS_LANGUAGES !== undefined && { languages: data.EMBEDDINGS_LANGUAGES }),
    rate: data.EMBEDDINGS_RATE,
    ...(data.EMBEDDINGS_BUDGET !== undefined && { budget: data.EMBEDDINGS_BUDGET }),
    isHttpAllowed: data.EMBEDDINGS_HTTP === 'on' || isLoopback(hostname),
    // The operator names an IP address by writing it into the URL.
    allow: [...(data.EMBEDDINGS_ALLOW ?? []), ...(isIP(literal) === 0 ? [] : [literal])],
  }
}

function orgsOf({ EMBEDDINGS_ORGS: list }: EmbeddingsVariables, usual: 'asked' | 'all'): EmbeddingsConfig['orgs'] {
  const [first = usual] = list ?? []
  return first === 'asked' || first === 'all' ? first : (list ?? usual)
}

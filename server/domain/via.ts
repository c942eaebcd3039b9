/** Provenance: the door and the credential of a change, and the program that made it. */
import type { Person } from './actor.ts'
import { type Door, doors, type Origin } from './origin.ts'

export interface Via {
  readonly door: Door
  readonly by: 'session' | 'token' | 'connection' | 'bot'
  /** The id of the connection or of the token. Absent for a session. */
  readonly id?: string
  /** The program, as the trailer has it. Absent for a session. */
  readonly client?: string
  readonly client_name?: string
}

/** The most characters of a client, and of its name. */
const limits = { client: 200, name: 100 } as const

/** The names that a program may give itself in the header `Grove-Agent`. */
export function isAgentName(name: string): boolean {
  return /^[\w./-]{1,64}$/.test(name)
}

/** The credential of a caller. */
type Credentialed = Pick<Person, 'connection' | 'isBot' | 'tokenId'>

/** Returns how the caller makes a change. Without a request, a command makes it. */
export function viaOf({ origin }: { readonly origin?: Origin }, person: Credentialed): Via {
  const { connection, isBot, tokenId } = person
  const by = isBot ? 'bot' : connection ? 'connection' : tokenId === undefined ? 'session' : 'token'
  const id = connection?.id ?? tokenId
  const agent = origin?.agent === undefined ? undefined : `agent:${origin.agent}`
  const client = connection ? clientOf(connection.clientId, connection.clientName) : (agent ?? ownClient(by))
  const name = connection ? cleanText(connection.clientName, limits.name) : ''
  return {
    door: origin?.door ?? 'command',
    by,
    ...(id !== undefined && { id }),
    ...(client !== undefined && { client, client_name: name ? claimed(name, client) : clientNameOf(client) }),
  }
}

function ownClient(by: Via['by']): string | undefined {
  return by === 'session' ? undefined : 'token'
}

/** The client of a connection: its URL, or the name that it registered. */
function clientOf(clientId: string, clientName: string): string {
  const isUrl = /^https?:/.test(clientId) && URL.canParse(clientId)
  return isUrl
    ? cleanText(new URL(clientId).href, limits.client)
    : `dcr:${cleanText(clientName, limits.name) || 'unknown'}`
}

/** True for a connection, a bot, a tool, and a program that sends `Grove-Agent`. */
function isOfAgent({ door, by, client }: Via): boolean {
  return by === 'connection' || by === 'bot' || door === 'mcp' || client?.startsWith('agent:') === true
}

/** The program of a request in the log: no text that a stranger chose freely. */
export function loggedClient({ client = '' }: Via): string | undefined {
  if (client.startsWith('agent:')) return client
  if (client.startsWith('dcr:')) return 'dcr'
  return URL.canParse(client) ? new URL(client).host.slice(0, limits.name) : undefined
}

/** The value of the trailer `Grove-Via`. Undefined for changes of sessions and scripts, which get none. */
export function trailerOf(deps: { readonly origin?: Origin }, person: Person): string | undefined {
  const via = viaOf(deps, person)
  if (!isOfAgent(via)) return undefined
  return [via.door, via.client ?? 'session', ...(via.id === undefined ? [] : [via.id.slice(-8)])].join(' ')
}

/** How an event of a pull request came about, as the ledger records it. Nothing but the service writes the ledger. */
export type RecordedVia = Via

/** Returns what the ledger records of a change. Undefined for a session, which gets no record. */
export function recordedVia(deps: { readonly origin?: Origin }, person: Person): RecordedVia | undefined {
  const via = viaOf(deps, person)
  return via.by === 'session' && !isOfAgent(via) ? undefined : via
}

const ways: readonly Via['by'][] = ['session', 'token', 'connection', 'bot']

/** Parses what a ledger records. Undefined for anything that this version would not write. */
export function parseRecordedVia(value: unknown): RecordedVia | undefined {
  const { door, by, id, client, client_name }: Readonly<Partial<Record<keyof Via, unknown>>> = Object(value)
  const known = { door: doors.find((one) => one === door), by: ways.find((one) => one === by) }
  if (known.door === undefined || known.by === undefined) return undefined
  return {
    ...{ door: known.door, by: known.by },
    ...(typeof id === 'string' && { id: cleanText(id, limits.name) }),
    ...(typeof client === 'string' && { client: cleanText(client, limits.client) }),
    ...(typeof client_name === 'string' && { client_name: claimed(cleanText(client_name, limits.name), client) }),
  }
}

/** True if a program made the change. A script with a token of its user is not one. */
export function isByAgent(via: RecordedVia | undefined): boolean {
  return via !== undefined && isOfAgent(via)
}

/** A trailer as answers show it. A push can write any trailer, so it is a claim. */
export interface ClaimedVia extends Pick<Via, 'door'> {
  readonly client: string
  readonly client_name: string
  readonly recorded: 'message'
}

/** Parses the value of a trailer. Undefined if this service would not have written it. */
export function parseTrailer(value: string): ClaimedVia | undefined {
  const { door, client = '' } = /^(?<door>[a-z]+) (?<client>.+?)(?: [0-9a-f]{8})?$/.exec(value)?.groups ?? {}
  const known = doors.find((one) => one === door)
  const clean = cleanText(client, limits.client)
  if (known === undefined || clean === '') return undefined
  return { door: known, client: clean, client_name: clientNameOf(clean), recorded: 'message' }
}

/** Derives a name for readers from the client. */
function clientNameOf(client: string): string {
  if (client === 'token') return 'a token'
  if (client === 'session') return 'a session'
  return hostOf(client) ?? claimed(client.replace(/^(?:dcr|agent):(?=.)/, ''), client)
}

function hostOf(client: unknown): string | undefined {
  if (typeof client !== 'string' || !/^https?:/.test(client) || !URL.canParse(client)) return undefined
  return new URL(client).hostname || client
}

/** Quotes a name that begins like a host. Only a program with a URL of that host is known to be from there. */
function claimed(name: string, client: unknown): string {
  const isLikeHost = /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?![\w-])/i.test(name)
  return isLikeHost && name !== hostOf(client) ? `“${name}”` : name
}

/** One line without control, bidirectional and invisible characters, and without angle brackets. */
function cleanText(text: string, most: number): string {
  const line = text.replace(/[\p{C}\p{Z}<>]+/gu, ' ').trim()
  return [...line].slice(0, most).join('').trim()
}

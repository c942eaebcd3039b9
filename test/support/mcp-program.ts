/** The official client of MCP, which knows only the URL, and its user's browser. */

import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import type { Visit } from '../pages/forms.ts'
import { type Choice, callback, movesTo } from './connector.ts'
import { closeAfterFile } from './processes.ts'

/** The state of the library, in memory. */
class Kept implements OAuthClientProvider {
  readonly redirectUrl = callback
  readonly clientMetadata = { client_name: 'Robin', redirect_uris: [callback] }
  /** The URL of its metadata document. Undefined: it registers itself. */
  readonly clientMetadataUrl?: string
  readonly visited: URL[] = []
  private client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>
  private kept: Awaited<ReturnType<OAuthClientProvider['tokens']>>
  private verifier = ''

  constructor(clientMetadataUrl: string | undefined) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }
  private discovered: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>

  readonly clientInformation = () => this.client
  readonly tokens = () => this.kept
  readonly codeVerifier = () => this.verifier
  readonly saveClientInformation: NonNullable<OAuthClientProvider['saveClientInformation']> = (client) => {
    this.client = client
  }
  readonly saveTokens: OAuthClientProvider['saveTokens'] = (tokens) => {
    this.kept = tokens
  }
  readonly invalidateCredentials: NonNullable<OAuthClientProvider['invalidateCredentials']> = (scope) => {
    if (scope === 'tokens' || scope === 'all') this.kept = undefined
  }
  readonly discoveryState = () => this.discovered
  readonly saveDiscoveryState: NonNullable<OAuthClientProvider['saveDiscoveryState']> = (state) => {
    this.discovered = state
  }
  readonly saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  readonly redirectToAuthorization = (url: URL) => {
    this.visited.push(url)
  }
}

export interface McpProgram {
  readonly client: Client
  /** The URLs that the program has opened in the browser. */
  readonly visited: readonly URL[]
  /** Answers the last of them as the user, and lets the program continue. */
  consent(user: Visit | Browsing, choice?: Choice): Promise<void>
  /** The access token, if the program has one. */
  token(): string | undefined
}

/** Answers the consent page at the URL. Returns the parameters that the program gets. */
export type Browsing = (asked: URL) => Promise<URLSearchParams>

/** Allows what the page at the URL asks for. Returns the parameters that the program gets. */
async function allowAt(url: URL, user: Visit, choice: Choice): Promise<URLSearchParams> {
  const fields = { ...Object.fromEntries(url.searchParams), access: 'propose', ...choice, act: 'allow' }
  const answer = await user.send('/oauth/authorize', fields)
  const to = movesTo(answer)
  if (to === undefined) throw new Error(`The consent answered ${answer.status} ${answer.body}`)
  return to.searchParams
}

/** Connects with only the URL. @param fetch leads the public URL to the service, as a proxy does */
export async function connectMcp(
  url: string,
  user: Visit | Browsing,
  {
    revision = '2026-07-28',
    fetch,
    document,
  }: {
    readonly revision?: '2025-11-25' | '2026-07-28'
    readonly fetch?: typeof globalThis.fetch
    /** The URL of the program's metadata document. */
    readonly document?: string
  } = {},
): Promise<McpProgram> {
  const kept = new Kept(document)
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
  const newTransport = () =>
    new StreamableHTTPClientTransport(new URL(url), { authProvider: kept, ...(fetch && { fetch }) })
  const newClient = () => new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const first = newTransport()
  await newClient()
    .connect(first)
    .catch((error: unknown) => {
      if (!(error instanceof UnauthorizedError)) throw error
    })
  const consent = async (by: Visit | Browsing, choice: Choice = {}) => {
    const asked = kept.visited.at(-1)
    if (asked === undefined) throw new Error('The program has not asked for consent')
    await first.finishAuth(typeof by === 'function' ? await by(asked) : await allowAt(asked, by, choice))
  }
  await consent(user)
  const client = newClient()
  await client.connect(newTransport())
  closeAfterFile(() => client.close())
  return { client, visited: kept.visited, consent, token: () => kept.tokens()?.access_token }
}

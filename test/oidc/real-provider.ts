/** A real OpenID provider on loopback, with its own login page. Every login is a user of this name. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import type { Seen, Visitor } from './visitor.ts'

export interface RealProvider {
  readonly issuer: string
  /** The claims of a user, by login. The default has a confirmed address. */
  readonly users: Map<string, Readonly<Record<string, unknown>>>
  /** Stops listening, and ends all connections. */
  stop(): Promise<void>
  /** Listens again, at the same port. */
  start(): Promise<void>
}

/** @param callbacks the redirect URIs. They are known only when the service listens, so a function returns them. */
export async function startRealProvider(callbacks: () => readonly string[]): Promise<RealProvider> {
  const server = createServer()
  const port = await listen(server, 0)
  const issuer = `http://127.0.0.1:${port}`
  const users: RealProvider['users'] = new Map()
  let handle: ReturnType<Provider['callback']> | undefined
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid: 'first', alg: 'RS256', use: 'sig' }] }
  server.on('request', (req, res) => {
    handle ??= new Provider(issuer, configurationOf({ users, jwks, redirectUris: callbacks() })).callback()
    void handle(req, res)
  })
  return {
    ...{ issuer, users },
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
    start: async () => {
      await listen(server, port)
    },
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((done) => {
    server.listen(port, '127.0.0.1', () => done((server.address() as AddressInfo).port)) // it listens on a port
  })
}

interface Parts {
  readonly users: RealProvider['users']
  readonly jwks: object
  readonly redirectUris: readonly string[]
}

function configurationOf({ users, jwks, redirectUris }: Parts): Configuration {
  const claimsOf = (sub: string) => ({
    ...{ sub, name: sub, email: `${sub}@acme.example`, email_verified: true },
    ...users.get(sub),
  })
  return {
    clients: [{ client_id: 'grove', client_secret: 'a secret of the provider', redirect_uris: [...redirectUris] }],
    jwks: jwks as NonNullable<Configuration['jwks']>, // private keys
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    cookies: { keys: ['a key for tests'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => claimsOf(sub) }),
  }
}

/** Fills in the login page and the consent page of the provider, until the browser leaves it. */
export async function passReal(visitor: Visitor, page: Seen, login: string): Promise<Seen> {
  let seen = page
  const { origin } = new URL(page.url)
  for (let pages = 0; pages < 5; pages++) {
    const action = /<form[^>]+action="([^"]+)"/.exec(seen.html)?.[1]
    if (action === undefined || !seen.url.startsWith(origin)) return seen
    const hidden = [...seen.html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, ...pair]) => pair)
    const fields = Object.fromEntries(hidden) as Record<string, string> // pairs
    if (fields.prompt === 'login') Object.assign(fields, { login, password: 'any' })
    seen = await visitor.send(new URL(action, seen.url).href, fields)
  }
  return seen
}

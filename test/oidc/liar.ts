/**
 * A provider that answers as a test says: with wrong claims, slowly, or not at all. The code of an exchange is its nonce,
 * so that many may be under way.
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Config } from '../../server/base/config.ts'

type OidcProvider = NonNullable<Config['oidc']>[number]

export interface Liar {
  readonly issuer: string
  /** The claims of the next ID tokens, in addition to or instead of the right ones. */
  claims: JWTPayload
  /** Signs with another key than the published one. */
  isForged: boolean
  /** The answer to all requests; undefined: the right one. */
  fault: 'down' | 'redirect' | 'huge' | 'silent' | undefined
  /** The issuer in the discovery document. */
  named: string | undefined
  /** The profile at the userinfo endpoint. */
  profile: JWTPayload | undefined
  /** Changes of the discovery document. */
  metadata: Readonly<Record<string, unknown>>
  /** Requests so far, by path. */
  readonly asked: string[]
  /** Replaces the key, under another id. */
  rotate(): Promise<void>
  sign(claims: JWTPayload, header?: Readonly<Record<string, string>>): Promise<string>
  close(): Promise<void>
}

export async function startLiar(): Promise<Liar> {
  let number = 0
  const newKey = async () => ({ kid: `key-${++number}`, ...(await generateKeyPair('ES256', { extractable: true })) })
  let key = await newKey()
  const forger = await newKey()
  const answers: Readonly<Record<string, (form: URLSearchParams) => Promise<object>>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer: liar.named ?? liar.issuer,
      authorization_endpoint: `${liar.issuer}/authorize`,
      token_endpoint: `${liar.issuer}/token`,
      jwks_uri: `${liar.issuer}/jwks`,
      userinfo_endpoint: `${liar.issuer}/userinfo`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['ES256'],
      ...liar.metadata,
    }),
    '/jwks': async () => ({ keys: [{ ...(await exportJWK(key.publicKey)), kid: key.kid, alg: 'ES256', use: 'sig' }] }),
    '/userinfo': async () => ({ sub: liar.claims.sub, ...liar.profile }),
    '/token': async (form) => {
      const now = Math.floor(Date.now() / 1000)
      const right = { iss: liar.issuer, aud: 'grove', iat: now, exp: now + 60, nonce: form.get('code') ?? '' }
      return { access_token: 'x', token_type: 'Bearer', id_token: await liar.sign({ ...right, ...liar.claims }) }
    },
  }
  const server = createServer((req, res) => {
    const path = new URL(req.url ?? '/', 'http://localhost').pathname
    const answer = answers[path]
    liar.asked.push(path)
    if (liar.fault === 'silent') return
    if (liar.fault === 'down') res.writeHead(503).end()
    else if (liar.fault === 'redirect') res.writeHead(302, { location: `${liar.issuer}/elsewhere` }).end()
    else if (liar.fault === 'huge')
      res.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(2_000_000))
    else if (answer === undefined) res.writeHead(404).end()
    else
      void formIn(req)
        .then(answer)
        .then((body) => {
          res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo // it listens on a port
  const liar: Liar = {
    issuer: `http://127.0.0.1:${port}`,
    ...{ claims: {}, isForged: false, fault: undefined, named: undefined, profile: undefined, metadata: {}, asked: [] },
    rotate: async () => {
      key = await newKey()
    },
    sign: (claims, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
        .sign(liar.isForged ? forger.privateKey : key.privateKey),
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  return liar
}

async function formIn(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const part of request) text += part
  return new URLSearchParams(text)
}

/** The settings of a provider, with the defaults of the configuration. */
export function settings(of: Pick<OidcProvider, 'issuer'> & Partial<OidcProvider>): OidcProvider {
  return {
    id: 'acme',
    name: 'Acme',
    clientId: 'grove',
    clientSecret: 'a secret of the provider',
    scopes: 'openid email profile',
    verified: 'email_verified',
    linksByEmail: false,
    maxAgeHours: 168,
    tokensDays: 0,
    ...of,
  }
}

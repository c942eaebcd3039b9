/** A service with the lying provider, and sign-ins through it. */

import type { JWTPayload } from 'jose'
import type { Config } from '../../server/base/config.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { type Liar, settings, startLiar } from './liar.ts'
import { type Seen, Visitor } from './visitor.ts'

export interface Scene {
  readonly grove: Grove
  readonly liar: Liar
  /** Passes the provider with these claims, in this browser. */
  pass(visitor: Visitor, claims: JWTPayload, query?: Readonly<Record<string, string>>): Promise<Seen>
  newVisitor(): Visitor
  close(): Promise<void>
}

type OidcProvider = NonNullable<Config['oidc']>[number]

export async function startScene(
  provider: Partial<OidcProvider> = {},
  { now, ...options }: Omit<GroveOptions, 'oidc'> = {},
): Promise<Scene> {
  const liar = await startLiar()
  const oidc = [settings({ issuer: liar.issuer, ...provider })]
  const grove = await startGrove({ ...options, oidc, ...(now === undefined ? {} : { now }) })
  return {
    ...{ grove, liar },
    newVisitor: () => new Visitor(grove),
    pass: async (visitor, claims, query = {}) => {
      const begun = await begin(grove, visitor, query)
      return begun.headers.location === undefined ? begun : comeBack(grove, liar, visitor, begun, claims)
    },
    close: async () => {
      await grove.close()
      await liar.close()
    },
  }
}

/** Begins a sign-in, a link or a confirmation. The redirect to the provider is not followed. */
export function begin(grove: Pick<Grove, 'url'>, visitor: Visitor, query: Readonly<Record<string, string>> = {}) {
  return visitor.ask(`${grove.url}/sign-in/oidc/acme?${new URLSearchParams(query)}`, { isOurs: true })
}

/** Comes back from the provider, which gives the claims for the code. */
export async function comeBack(
  grove: Pick<Grove, 'url'>,
  liar: Liar,
  visitor: Visitor,
  { headers: { location = '' } }: Seen,
  claims: JWTPayload,
): Promise<Seen> {
  const sent = new URL(location).searchParams
  liar.claims = claims
  const answer = new URLSearchParams({ code: sent.get('nonce') ?? '', state: sent.get('state') ?? '' })
  return visitor.ask(`${grove.url}/sign-in/oidc/acme/callback?${answer}`)
}

/** Returns the text of an error that the page shows, and its status. */
export function problemIn({ status, html }: Seen) {
  return { status, code: /Code: <code>(\w+)<\/code>/.exec(html)?.[1] }
}

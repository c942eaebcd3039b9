/** Programs that sign assertions, their keys, and two services on one data folder. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { type Visit, visitOf } from '../pages/forms.ts'
import { allow, exchange, type Program } from '../support/connector.ts'
import { newDataDir } from '../support/data-folder.ts'
import {
  type DocumentHost,
  documentUrl,
  programOf,
  type Served,
  startDocumentHost,
  validDocument,
} from '../support/documents.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'

type Fields = Readonly<Record<string, string>>

export interface Key {
  readonly kid: string
  readonly alg: string
  readonly publicJwk: object
  sign(claims: JWTPayload, header?: object): Promise<string>
}

export async function newKey(kid: string, alg = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    kid,
    alg,
    publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig' },
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  }
}

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The member of a document that allows nothing else. */
export const signed = { token_endpoint_auth_method: 'private_key_jwt' }
export const either = { ...signed, token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] }

export let host: DocumentHost
export let grove: Grove
/** The second service on the data folder. */
export let there: Grove
export let ann: PersonClient
/** The browser of Ann. */
export let user: Visit
/** The key of programs by default. */
export let key: Key

let at = Date.now()
let names = 0

/** Moves the clock of both services. */
export function pass(seconds: number): void {
  at += seconds * 1_000
}

export function useSigners(): void {
  before(async () => {
    host = await startDocumentHost()
    at = Date.now()
    const options = { dataDir: await newDataDir(), now: () => new Date(at), fetchDocument: host.fetchDocument }
    grove = await startGrove(options)
    there = await startGrove(options)
    ann = await signUp(grove, 'Ann')
    user = await visitOf(grove, ann)
    key = await newKey('one')
  })
  beforeEach(() => {
    host.address = '127.0.0.1'
    host.isAway = false
  })
  after(async () => {
    await grove.close()
    await there.close()
  })
}

/** The time of the services, in seconds since 1970. */
export const seconds = () => Math.floor(at / 1_000)

export const claimsOf = (id: string): JWTPayload => ({
  ...{ iss: id, sub: id, aud: grove.url, jti: randomUUID(), iat: seconds(), exp: seconds() + 300 },
})

/** The fields of a request that has the assertion. */
export const proof = (client_assertion: string): Fields => ({ client_assertion_type: assertionType, client_assertion })

/** Signs an assertion. @param claims in addition to or instead of the right ones */
export const prove = async ({ id }: Program, claims: object = {}, by = key) =>
  proof(await by.sign({ ...claimsOf(id), ...claims }))

export const serveKeys = (name: string, keys: readonly Key[], more: Served = {}) =>
  host.serve(`${name}-keys`, { keys: keys.map(({ publicJwk }) => publicJwk) }, more)

/** The requests for the keys of a program so far. */
export const keyReads = ({ name }: { readonly name: string }) => host.times(`${name}-keys`)

/** Serves a document, by default with `jwks_uri`, and its keys. */
export async function published(more: object = signed, keys: readonly Key[] = [key]) {
  const name = `program-${++names}`
  host.serve(name, validDocument(name, { jwks_uri: documentUrl(`${name}-keys`), ...more }))
  serveKeys(name, keys)
  return { ...(await programOf(name, grove)), name }
}

/** Connects a program for Ann. Returns its refresh token. */
export async function connected(program: Program, more: Fields): Promise<string> {
  const answer = await exchange(program, await allow(program, user), more)
  expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
  return answer.body.refresh_token
}

export const result = ({ status, body }: Answer) => [status, body.error ?? 'none']
export const refused = [401, 'invalid_client']
export const accepted = [200, 'none']

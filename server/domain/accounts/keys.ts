/**
 * The keys of this data folder. One signs.
 *
 * A new key is announced before it signs. An old one verifies until its last token has expired.
 */

import { createHash, createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import { exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { v4 as randomUuid } from 'uuid'
import type { CredentialsSchema, TokenKey } from '../../../index/credentials/schema.ts'
import {
  findSigningKey,
  insertSigningKey,
  insertTokenKey,
  listTokenKeys,
} from '../../../index/credentials/token-keys.ts'
import type { Database } from '../../../index/sqlite/database.ts'

export const algorithm = 'ES256'

/** Lifetime of access and id tokens in seconds. */
export const accessSeconds = 15 * 60

/** Milliseconds after which another process's rotation is noticed. */
const rereadMs = 60_000
/** Milliseconds between two reads caused by unknown keys. A flood of invented tokens must cost little. */
const unknownKeyRereadMs = 5_000

type PrivateKey = Exclude<Awaited<ReturnType<typeof importJWK>>, Uint8Array>

/** The public key of an elliptic curve. Source: RFC 7518 §6.2.1. */
interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: typeof algorithm
  readonly use: 'sig'
}

interface LoadedKey {
  readonly kid: string
  readonly activeFrom: number
  /** Infinity until it is replaced. */
  readonly retiredAt: number
  readonly privateKey: PrivateKey
  /** The key from which secrets are derived. */
  readonly derivation: Buffer
  readonly publicKey: KeyObject
  readonly publicJwk: PublicJwk
}

/** The keys of a process. `at` is a time in milliseconds. Each method throws DatabaseError. */
export interface Keys {
  /** The service is both issuer and audience. */
  readonly issuer: string
  /** Returns the key that signs at that time. */
  signing(at: number): Promise<Pick<LoadedKey, 'kid' | 'privateKey'>>
  /** Derives a secret from `text` and the key that signs. It is the same until the keys are rotated. */
  derive(text: string, at: number): Promise<string>
  /** Derives a secret from `text` and each key that is kept, also from retired ones. */
  deriveFromEach(text: string, at: number): Promise<string[]>
  /** Returns the key that verifies. Undefined: it is unknown, or retired at that time. */
  verifying(kid: string, at: number): Promise<KeyObject | undefined>
  /** Returns the public keys that sign, are announced, or may have tokens in use. Source: RFC 7517 §5. */
  published(at: number): Promise<PublicJwk[]>
}

/** Opens the keys. The first start creates the first one. Processes that start together agree on one. */
export async function openKeys(
  credentials: Database<CredentialsSchema>,
  publicUrl: string | undefined,
  now: Date,
): Promise<Keys> {
  const own = await ownIssuer(credentials, now)
  const imported = new Map<string, Omit<LoadedKey, 'retiredAt'>>()
  let keys = await load()
  let readAt = now.getTime()

  async function load(): Promise<LoadedKey[]> {
    const rows = await listTokenKeys(credentials.read)
    const loaded: LoadedKey[] = []
    for (const row of rows) {
      const key = imported.get(row.kid) ?? (await importKey(row))
      imported.set(row.kid, key)
      loaded.push({
        ...key,
        retiredAt: row.retired_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.retired_at),
      })
    }
    return loaded
  }
  // The clock may be set back.
  const reread = async (at: number, afterMs: number): Promise<void> => {
    if (Math.abs(at - readAt) < afterMs) return
    readAt = at
    keys = await load()
  }
  const signing = async (at: number): Promise<LoadedKey> => {
    await reread(at, rereadMs)
    const key = keys.findLast(({ activeFrom, retiredAt }) => activeFrom <= at && at < retiredAt) ?? keys[0]
    if (key === undefined) throw new Error('The credentials have no key to sign tokens with')
    return key
  }
  return {
    issuer: publicUrl ?? own,
    signing,
    derive: async (text, at) => derived(await signing(at), text),
    deriveFromEach: async (text, at) => {
      await reread(at, rereadMs)
      return keys.map((key) => derived(key, text))
    },
    verifying: async (kid, at) => {
      await reread(at, rereadMs)
      const find = () => keys.find((key) => key.kid === kid)
      if (find() === undefined) await reread(at, unknownKeyRereadMs)
      const key = find()
      return key !== undefined && at < key.retiredAt ? key.publicKey : undefined
    },
    published: async (at) => {
      await reread(at, rereadMs)
      return keys.filter(({ retiredAt }) => at < retiredAt).map(({ publicJwk }) => publicJwk)
    },
  }
}

function derived({ derivation }: LoadedKey, text: string): string {
  return createHmac('sha256', derivation).update(text).digest('base64url')
}

/** Returns the issuer if PUBLIC_URL is not set. The first start creates it with the first key. */
async function ownIssuer(credentials: Database<CredentialsSchema>, now: Date): Promise<string> {
  const known = await findSigningKey(credentials.read)
  if (known !== undefined) return known.issuer
  const key = await newKey(now, now)
  return credentials.write(async (trx) => {
    const issuer = `urn:uuid:${randomUuid()}`
    // Another process may have been first.
    if (await insertSigningKey(trx, { id: 1, jwk: key.jwk, issuer, created_at: key.created_at })) {
      await insertTokenKey(trx, key)
      return issuer
    }
    const earlier = await findSigningKey(trx)
    if (earlier === undefined) throw new Error('The issuer was deleted while it was read')
    return earlier.issuer
  })
}

/** Creates a key with its private half. */
export async function newKey(createdAt: Date, activeFrom: Date): Promise<TokenKey> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const kid = randomUuid()
  const jwk = JSON.stringify({ ...(await exportJWK(privateKey)), kid })
  return { kid, jwk, created_at: createdAt.toISOString(), active_from: activeFrom.toISOString(), retired_at: null }
}

async function importKey({ kid, jwk, active_from }: TokenKey): Promise<Omit<LoadedKey, 'retiredAt'>> {
  const { x = '', y = '', ...more }: JWK = JSON.parse(jwk)
  const privateKey = await importJWK({ ...more, x, y }, algorithm)
  if (privateKey instanceof Uint8Array) throw new Error('A key of the credentials is not an EC key')
  const point = { kty: 'EC', crv: 'P-256', x, y } as const
  return {
    kid,
    activeFrom: Date.parse(active_from),
    privateKey,
    derivation: createHash('sha256').update('derivation ').update(jwk).digest(),
    publicKey: createPublicKey({ key: point, format: 'jwk' }),
    publicJwk: { ...point, kid, alg: algorithm, use: 'sig' },
  }
}

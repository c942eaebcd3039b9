/**
 * Secrets of webhooks, and the signatures made with them. Source: Standard Webhooks, symmetric signatures.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { CredentialsState } from '../../../index/credentials/copies.ts'
import type { Webhook } from '../../../index/credentials/schema.ts'
import { plural } from '../../base/plural.ts'
import type { Services } from '../../domain/services.ts'

const secretPrefix = 'whsec_'
const [plainPrefix, sealedPrefix] = ['plain:', 'aes-256-gcm:']
const nonceBytes = 12
const tagBytes = 16

/** Hours for which the secret before a rotation also signs. */
const previousHours = 24

type Keyed = Pick<Services, 'config'>

/** Returns a secret with 32 random bytes. */
export function newSecret(): string {
  return `${secretPrefix}${randomBytes(32).toString('base64')}`
}

/** Returns the secret as it is stored: encrypted, if the operator has set a key. */
export function sealSecret({ config }: Keyed, webhookId: string, secret: string): string {
  const key = keyOf(config.secretKey)
  if (key === undefined) return plainPrefix + secret
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(boundTo(webhookId))
  const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return sealedPrefix + sealed.toString('base64')
}

/** Returns a stored secret. Undefined: neither the key nor the former one has encrypted it. */
export function openSecret({ config }: Keyed, webhookId: string, stored: string): string | undefined {
  if (stored.startsWith(plainPrefix)) return stored.slice(plainPrefix.length)
  return openWith(config.secretKey, webhookId, stored) ?? openWith(config.secretKeyOld, webhookId, stored)
}

function openWith(secretKey: string | undefined, webhookId: string, stored: string): string | undefined {
  const key = keyOf(secretKey)
  if (key === undefined || !stored.startsWith(sealedPrefix)) return undefined
  const bytes = Buffer.from(stored.slice(sealedPrefix.length), 'base64')
  if (bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(boundTo(webhookId)).setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** Says why so many secrets cannot be read, and what to do. */
export function lostSecretsSentence({ config }: Keyed, lost: number): string {
  const cause =
    config.secretKey === undefined ? 'SECRET_KEY is not set' : 'SECRET_KEY is not the key that encrypted them'
  const remedy = 'set that key, or also set it as SECRET_KEY_OLD. Otherwise, owners have to replace the secrets'
  return `the secrets of ${plural(lost, 'webhook')} cannot be read, so they send nothing: ${cause}; ${remedy}`
}

/** Checks the stored secrets. */
export function checkSecrets(deps: Keyed, { secrets = [] }: CredentialsState): readonly string[] {
  const lost = secrets.filter(({ id, secret_sealed }) => openSecret(deps, id, secret_sealed) === undefined)
  return lost.length === 0 ? [] : [lostSecretsSentence(deps, lost.length)]
}

/** True if the secret was stored before the operator set the current key. */
export function isUnsealed({ config }: Keyed, webhookId: string, stored: string): boolean {
  return config.secretKey !== undefined && openWith(config.secretKey, webhookId, stored) === undefined
}

function keyOf(secretKey: string | undefined): Buffer | undefined {
  return secretKey === undefined ? undefined : Buffer.from(secretKey, 'base64')
}

/** A secret is encrypted for one webhook. Exchanged rows of two cannot be read. */
function boundTo(webhookId: string): Buffer {
  return Buffer.from(`webhook ${webhookId}`)
}

/** The time until which the current secret also signs, if it is replaced now. */
export function previousUntil(now: Date): string {
  return new Date(now.getTime() + previousHours * 3_600_000).toISOString()
}

/** Returns the secrets that sign now, the newest first. Empty: the newest cannot be read. */
export function signingSecrets(
  deps: Keyed,
  { id, secret_sealed, previous_sealed, previous_until }: Webhook,
  now: Date,
): readonly string[] {
  const secret = openSecret(deps, id, secret_sealed)
  if (secret === undefined) return []
  const isValid = previous_sealed !== null && previous_until !== null && previous_until > now.toISOString()
  const previous = isValid ? openSecret(deps, id, previous_sealed) : undefined
  return previous === undefined ? [secret] : [secret, previous]
}

/** Returns the header `webhook-signature`: one signature for each secret. */
export function signatureOf(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
    })
    .join(' ')
}

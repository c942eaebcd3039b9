/** Signed tokens, random tokens, and the keys with which other services verify signed ones. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { v4 as randomUuid } from 'uuid'
import type { Profile } from '../../../index/credentials/accounts.ts'
import type { Person } from '../actor.ts'
import type { Services } from '../services.ts'
import { accessSeconds, algorithm, type Keys } from './keys.ts'

/** The prefixes of random and signed tokens. A signed one begins with `{"` in base64url. */
const beginnings = { random: 'grv_', signed: 'eyJ' } as const
const anyToken = new RegExp(`${beginnings.signed}[\\w-]+\\.[\\w-]+\\.[\\w-]*|${beginnings.random}[\\w-]+`)

/** True if the text contains a token of any kind, valid or not. */
export function holdsToken(text: string): boolean {
  return anyToken.test(text)
}

/** Returns the different tokens that the text contains, of any kind, valid or not. */
export function tokensIn(text: string): string[] {
  return [...new Set(text.match(new RegExp(anyToken, 'g')))]
}

/** True if the text begins like a token, even if part of it is missing. */
export function isMeantAsToken(text: string): boolean {
  return Object.values(beginnings).some((beginning) => text.startsWith(beginning))
}

/**
 * The types of signed tokens, in their headers. Other services need them to distinguish the tokens of this one. Access
 * tokens of earlier versions have the type of id tokens, and differ only in `token_use`. Source: RFC 9068 §2.1.
 */
export const tokenTypes = { access: 'at+jwt', id: 'JWT' } as const

/** Creates an access token, which is valid for `accessSeconds` unless its session ends earlier. */
export function accessToken(keys: Keys, person: Person, sessionId: string, now: Date): Promise<string> {
  return sign(keys, person, now, 'access', { sid: sessionId })
}

/** Creates an id token, which identifies the user to the client and grants no access. */
export function idToken(keys: Keys, { id, email, name }: Profile, now: Date): Promise<string> {
  return sign(keys, { id }, now, 'id', { email, name })
}

async function sign(
  keys: Keys,
  { id }: { readonly id: string },
  now: Date,
  use: keyof typeof tokenTypes,
  claims: Record<string, string>,
): Promise<string> {
  const { kid, privateKey } = await keys.signing(now.getTime())
  const seconds = Math.floor(now.getTime() / 1000)
  return new SignJWT({ token_use: use, ...claims })
    .setProtectedHeader({ alg: algorithm, typ: tokenTypes[use], kid })
    .setIssuer(keys.issuer)
    .setAudience(keys.issuer)
    .setSubject(id)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + accessSeconds)
    .setJti(randomUuid())
    .sign(privateKey)
}

/** Creates a token: 256 random bits after a prefix that people and secret scanners recognise. */
export function newToken(
  kind: 'refresh' | 'reset' | 'invite' | 'browser' | 'feed' | 'oauth' | 'renew' | 'code',
): string {
  return `${beginnings.random}${kind}_${randomBytes(32).toString('base64url')}`
}

type MailedTokenKind = 'reset_mail' | 'verify' | UndoKind | 'invite' | 'digest'

/** `undo_new` gives an address back that nobody had confirmed. */
export type UndoKind = 'undo' | 'undo_new'

/** Returns the kind of a token that gives an address back. */
export function undoKindOf(token: string): UndoKind {
  return token.startsWith(`${beginnings.random}undo_new_`) ? 'undo_new' : 'undo'
}

/**
 * Returns the token that a mail carries. It is derived from the mail, so that one that is sent twice has the same, and no
 * row holds it.
 *
 * @param mailId names the mail
 */
export async function mailedToken({ keys, now }: Services, kind: MailedTokenKind, mailId: string): Promise<string> {
  return `${beginnings.random}${kind}_${await keys.derive(`${kind} ${mailId}`, now().getTime())}`
}

/** True if the reset token came by mail, which proves its mailbox. The operator's prove nothing of the kind. */
export function isMailedReset(token: string): boolean {
  return token.startsWith(`${beginnings.random}reset_mail_`)
}

/** Finds the mail's token that has this hash. Undefined: its key was deleted, which needs two rotations. */
export async function findMailedToken(
  { keys, now }: Services,
  kind: MailedTokenKind,
  mailId: string,
  hash: string,
): Promise<string | undefined> {
  const secrets = await keys.deriveFromEach(`${kind} ${mailId}`, now().getTime())
  return secrets.map((secret) => `${beginnings.random}${kind}_${secret}`).find((token) => hashOf(token) === hash)
}

/** Has only letters and digits, so `grv_refresh_…`, `grv_reset_…`, `grv_invite_…` and `grv_browser_…` do not match. */
const accessTokenForm = /^grv_[0-9A-Za-z]{43}$/
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Creates a personal access token: 256 random bits as 43 digits in base 62. */
export function newAccessToken(): string {
  let number = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (; number > 0n; number /= 62n) text = digits.charAt(Number(number % 62n)) + text
  return `${beginnings.random}${text.padStart(43, '0')}`
}

export function isAccessToken(text: string): boolean {
  return accessTokenForm.test(text)
}

/** Returns the hash under which a random token is stored. */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Encrypts `text` with `token`. A token seals only one text in its life, so the nonce may be fixed. */
export function seal(token: string, text: string): string {
  const cipher = createCipheriv('aes-256-gcm', sealingKey(token), Buffer.alloc(12))
  return Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

/** Decrypts a text that `seal` has encrypted. @throws Error if it was sealed with another token, or changed */
export function unseal(token: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(token), Buffer.alloc(12), { authTagLength: 16 })
  decipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
}

function sealingKey(token: string): Buffer {
  return createHash('sha256').update('successor of ').update(token).digest()
}

/** Returns the public keys. Source: RFC 7517 §5. */
export async function getJwks({ keys, now }: Services) {
  return { keys: await keys.published(now().getTime()) }
}

/** Returns what other services need to verify id tokens. Source: OpenID Connect Discovery 1.0 §3. */
export function idTokenMembers(issuer: string) {
  return {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    id_token_signing_alg_values_supported: [algorithm],
    subject_types_supported: ['public'],
    claims_supported: ['iss', 'aud', 'sub', 'iat', 'exp', 'jti', 'token_use', 'email', 'name'],
  }
}

/**
 * Reads the public keys of programs, and keeps them in memory. Programs sign assertions with them.
 *
 * Only the holder of a code or token of a program can make the service read its keys, and at most once a minute.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import type { Services } from '../../domain/services.ts'
import type { KeySource } from './documents.ts'
import { UnknownProgramError } from './errors.ts'
import { readMetadata } from './metadata-documents.ts'
import { AwayError, fetchOfProgram } from './program-fetch.ts'

/** Milliseconds for which keys are kept. */
const keptMs = 3_600_000
/** Milliseconds for which keys serve while their host is away. */
const staleMs = 24 * 3_600_000
/** Milliseconds between two attempts after an error, and between two reads for unknown keys. */
const pauseMs = 60_000
/** Bytes of a key set. */
const keySetBytes = 32_768

export type KeySet = ReturnType<typeof createLocalJWKSet>

/** The state of one program. */
interface Entry {
  keys?: KeySet
  readAt: number
  /** The last error, until it is tried again. */
  failure?: { readonly error: UnknownProgramError; readonly until: number }
  /** The time from which an unknown key may make the service read again. */
  rereadFrom: number
  reading?: Promise<KeySet>
}

/** The memory of each service in this process, by its credentials. Entries are by the id of the client. */
const memories = new WeakMap<Services['credentials'], Cache<Entry>>()

function entryOf({ credentials }: Services, clientId: string): Entry {
  const memory = memories.get(credentials) ?? createCache<Entry>('program_keys')
  memories.set(credentials, memory)
  const entry = memory.get(clientId) ?? { readAt: Number.NEGATIVE_INFINITY, rereadFrom: Number.NEGATIVE_INFINITY }
  memory.set(clientId, entry)
  return entry
}

/** Returns the keys of a program. @throws UnknownProgramError; AwayError if its host may answer later */
export async function readKeys(deps: Services, clientId: string): Promise<KeySet> {
  const entry = entryOf(deps, clientId)
  const age = deps.now().getTime() - entry.readAt
  if (entry.keys !== undefined && age < keptMs) return entry.keys
  try {
    return await readOnce(deps, clientId, entry, false)
  } catch (error) {
    if (error instanceof AwayError && entry.keys !== undefined && age < staleMs) return entry.keys
    throw error
  }
}

/**
 * Reads the keys again, because a program has signed with an unknown key.
 *
 * @param tried the keys that do not have it
 * @returns undefined if that happened within the last minute, and there are no newer keys
 * @throws UnknownProgramError; AwayError if its host may answer later
 */
export async function rereadKeys(deps: Services, clientId: string, tried: KeySet): Promise<KeySet | undefined> {
  const entry = entryOf(deps, clientId)
  const now = deps.now().getTime()
  if (entry.keys !== tried) return entry.keys
  if (now < entry.rereadFrom) return entry.reading
  entry.rereadFrom = now + pauseMs
  return readOnce(deps, clientId, entry, true)
}

/** Reads the keys, at most once at the same time. An error is remembered for a minute. */
async function readOnce(deps: Services, clientId: string, entry: Entry, isReread: boolean): Promise<KeySet> {
  const now = deps.now().getTime()
  if (entry.failure !== undefined && now < entry.failure.until) throw entry.failure.error
  delete entry.failure
  entry.reading ??= read(deps, clientId, isReread).finally(() => {
    delete entry.reading
  })
  try {
    entry.keys = await entry.reading
    entry.readAt = now
    return entry.keys
  } catch (error) {
    if (error instanceof UnknownProgramError) entry.failure = { error, until: now + pauseMs }
    throw error
  }
}

/** No user asks, so the limit of fetches for each user does not apply. */
const uncounted = async () => {}

async function read(deps: Services, clientId: string, isReread: boolean): Promise<KeySet> {
  const { keys } = await readMetadata(deps, clientId, uncounted)
  if (keys !== undefined && 'jwksUri' in keys) return keySetAt(deps, keys.jwksUri)
  const current = await readMetadata(deps, clientId, uncounted, isReread ? 0 : keptMs)
  return keySetOf(deps, current.keys)
}

async function keySetAt(deps: Services, url: string): Promise<KeySet> {
  const { text } = await fetchOfProgram(deps, url, { noun: 'key set', bytes: keySetBytes })
  try {
    return parsed(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError) throw new UnknownProgramError('The key set of the program is not JSON')
    throw error
  }
}

async function keySetOf(deps: Services, keys: KeySource | undefined): Promise<KeySet> {
  if (keys === undefined) throw new UnknownProgramError('The document of the program does not have keys of assertions')
  return 'jwks' in keys ? parsed(keys.jwks) : keySetAt(deps, keys.jwksUri)
}

/** @throws UnknownProgramError */
function parsed(value: unknown): KeySet {
  try {
    return createLocalJWKSet(value as JSONWebKeySet) // The function checks the form.
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new UnknownProgramError('The keys of the program are not a JWK Set')
    throw error
  }
}
